import type { SentPrompt } from "@plimsoll/harnesses/telemetry";
import { BODY_LIMITS } from "../../../bodies/body-budget.ts";

/** Bytes of a prompt that are looked at: those of the largest record. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Values in the JSON of a prompt that are looked at: some 5,000 messages, and 40 ms. */
const MOST_VALUES = 50_000;

/** A span while it is decoded. Most have no prompt. */
export interface PromptHolder {
  prompt: PromptAttributes | undefined;
}

/** The attributes of one span that hold the prompt of its call. Each is decoded only when it is read. */
export class PromptAttributes implements SentPrompt {
  readonly names = new Map<string, () => unknown>();
  #bytes = 0;
  /** Values of JSON in texts. */
  #values = 0;

  /** @param bytes that reading the attribute decodes, at most */
  add(name: string, bytes: number, read: () => unknown): void {
    this.#bytes += bytes;
    this.names.set(name, read);
  }

  get isTooLarge(): boolean {
    return this.#bytes > MOST_BYTES;
  }

  read(name: string): unknown {
    try {
      return this.names.get(name)?.();
    } catch {
      // A call counts, whatever its prompt is.
      return undefined;
    }
  }

  parse(text: string): unknown {
    this.#values += valuesOf(text);
    if (this.#values > MOST_VALUES) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
}

/** The values in a text of JSON; infinite if it nests too deep. A body's scan would take longer than all the rest of a prompt. */
function valuesOf(text: string): number {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') at = endOfText(text, at);
    else if (sign === ",") values += 1;
    else if (sign === "[" || sign === "{") {
      values += 1;
      depth += 1;
      if (depth > BODY_LIMITS.depth) return Number.POSITIVE_INFINITY;
    } else if (sign === "]" || sign === "}") depth -= 1;
  }
  return values;
}

/** Where the quote is that ends a text of JSON. */
function endOfText(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
