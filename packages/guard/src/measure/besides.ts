import type { Tokenizer } from "./estimate.ts";

/** A tool and its estimated tokens. */
export interface NamedSize {
  name: string;
  tokens: number;
}

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
    // The provider keeps such a tool out of the prompt until the model searches for it.
    if ((value as { defer_loading?: unknown }).defer_loading === true) return 0;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const tokens = this.#tokenizer(jsonOf(value));
    this.#known.set(value, tokens);
    return tokens;
  }

  /** Estimated tokens of the texts among what a request holds, which are instructions. */
  instructions(value: unknown): number {
    const isText = (one: unknown) =>
      typeof one === "string" || typeof (one as { text?: unknown } | null | undefined)?.text === "string";
    return [value].flat(2).reduce<number>((sum, one) => sum + (isText(one) ? this.tokensOf(one) : 0), 0);
  }

  /** The tools among what a request holds. */
  tools(value: unknown): NamedSize[] {
    if (Array.isArray(value)) return value.flatMap((one) => this.tools(one));
    if (typeof value !== "object" || value === null) return [];
    const { name, function: called, functionDeclarations } = value as Record<string, unknown>;
    if (Array.isArray(functionDeclarations)) return this.tools(functionDeclarations);
    const named = name ?? (called as { name?: unknown } | undefined)?.name;
    return typeof named === "string" ? [{ name: named, tokens: this.tokensOf(value) }] : [];
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
