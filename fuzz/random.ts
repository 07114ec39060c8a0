/** Random numbers of one input: the same seed and input number always give the same numbers. */
export class Random {
  #state: number;

  constructor(seed: number, input = 0) {
    this.#state = mix((seed >>> 0) ^ mix(input + 0x9e3779b9));
  }

  /** A whole number from 0 to 2^32 - 1 (splitmix32). */
  bits(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return mix(this.#state);
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor((this.bits() / 4_294_967_296) * below);
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor((this.bits() / 4_294_967_296) * (max - min + 1));
  }

  /** True once in `n` times on average. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** Picks by weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let at = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      if (at < weight) return value;
      at -= weight;
    }
    return choices[0]![1];
  }
}

function mix(value: number): number {
  let t = value ^ (value >>> 16);
  t = Math.imul(t, 0x21f0aaad);
  t ^= t >>> 15;
  t = Math.imul(t, 0x735a2d97);
  return (t ^ (t >>> 15)) >>> 0;
}
