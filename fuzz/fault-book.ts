import type { Fault } from "./judge.ts";

/** Faults of different inputs that are probably one: the first input of each is kept. */
export class FaultBook<T> {
  readonly #first = new Map<
    string,
    { fault: Fault; detail: string; index: number; input: T; times: number }
  >();

  /** @param place where it happened, if that tells faults apart */
  add(fault: Fault, detail: string, index: number, input: T, place = ""): void {
    const key = `${fault} ${place} ${kindOf(detail)}`;
    const known = this.#first.get(key);
    if (known === undefined) this.#first.set(key, { fault, detail, index, input, times: 1 });
    else known.times += 1;
  }

  entries() {
    return [...this.#first.values()];
  }
}

/** Texts that differ only in numbers, names and quoted words are of one kind. */
function kindOf(detail: string): string {
  return detail
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(/[0-9a-f-]{6,}|\d+/gi, "0")
    .slice(0, 80);
}
