import type { SentPrompt } from "@plimsoll/harnesses/telemetry";
import { BODY_LIMITS, BodyBudget } from "../../../bodies/body-budget.ts";
import { scanJson } from "../../../bodies/scan-json.ts";

/** Bytes of a prompt that are looked at: those of the largest record. */
const MOST_BYTES = 4 * 1024 * 1024;

/** The attributes of one span that hold the prompt of its call. They are decoded only if somebody reads them. */
export class PromptAttributes implements SentPrompt {
  readonly names = new Map<string, () => unknown>();
  #bytes = 0;
  /** Values of JSON in texts. */
  #values = 0;

  /** @param bytes at most as many as reading the attribute decodes */
  add(name: string, bytes: number, read: () => unknown): void {
    this.#bytes += bytes;
    this.names.set(name, read);
  }

  /** Itself; undefined if a part of the prompt is missing, or too large to be looked at. */
  whole(isCut: boolean): SentPrompt | undefined {
    return isCut || this.#bytes > MOST_BYTES ? undefined : this;
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
    if (this.#values > BODY_LIMITS.valuesOfOne) return undefined;
    try {
      // Not the budget of the body: beyond its limits, the request would be refused.
      for (const scan = scanJson(Buffer.from(text), new BodyBudget({ take() {}, give() {} })); ; ) {
        const step = scan.next();
        if (step.done !== true) continue;
        this.#values += step.value.values;
        return this.#values > BODY_LIMITS.valuesOfOne ? undefined : JSON.parse(text);
      }
    } catch {
      return undefined;
    }
  }
}
