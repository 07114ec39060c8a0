import type { Tokenizer } from "./estimate.ts";

/** Estimates what a request holds beside its messages. Tool definitions are the same objects in most calls. */
export class BesidesReader {
  readonly #tokenizer: Tokenizer;
  readonly #known = new WeakMap<object, number>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** Estimated tokens of any value. What is not JSON counts as far as JSON can show it. */
  tokensOf(value: unknown): number {
    if (typeof value === "string") return this.#tokenizer(value);
    if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + this.tokensOf(one), 0);
    if (typeof value !== "object" || value === null) return 0;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const tokens = this.#tokenizer(jsonOf(value));
    this.#known.set(value, tokens);
    return tokens;
  }
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // A cycle or a big number: the provider could not be sent it either.
    return "";
  }
}
