import { estimateTokens, type Tokenizer } from "../measure/estimate.ts";
import type { Trail } from "./alignment.ts";
import { type Fingerprint, fingerprintOf, textHash } from "./fingerprint.ts";
import { type Part, plainShape, type Shape } from "./shape.ts";

/** Estimated tokens that providers add around each message, such as the role and separators. */
const MESSAGE_OVERHEAD = 4;

/** What was read from a message. */
export interface ReadMessage {
  parts: readonly Part[];
  /** Estimated tokens of each part. */
  tokens: readonly number[];
  /** Estimated tokens, including the provider's wrapping. */
  total: number;
  print: Fingerprint;
}

/** Reads each message once, for all conversations of a guard. Messages are never changed. */
export class MessageReader<M> {
  readonly shape: Shape<M>;
  readonly tokenizer: Tokenizer;
  readonly #known = new WeakMap<object, ReadMessage>();

  constructor(shape: Shape<M>, tokenizer: Tokenizer) {
    this.shape = shape;
    this.tokenizer = tokenizer;
  }

  read(message: M): ReadMessage {
    const key = typeof message === "object" && message !== null ? message : undefined;
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const parts = this.shape.read(message);
    const tokens = parts.map((part) => this.tokenizer(part.text) + (part.extraTokens ?? 0));
    const total = tokens.reduce((sum, value) => sum + value, MESSAGE_OVERHEAD);
    const read = { parts, tokens, total, print: fingerprintOf(parts) };
    if (key !== undefined) this.#known.set(key, read);
    return read;
  }

  /** What identifies a conversation, and which of its messages are the agent's. */
  trail(messages: readonly M[]): Trail & { agents: boolean[]; system: number } {
    const exact: number[] = [];
    const loose: number[] = [];
    const agents: boolean[] = [];
    let leading = true;
    let system = 0;
    for (const message of messages) {
      const { parts, print } = this.read(message);
      leading &&= parts.every(({ kind }) => kind === "system");
      if (leading) {
        system = systemPrint(system, print);
        continue;
      }
      exact.push(print.exact);
      loose.push(print.loose);
      agents.push(parts.some(({ kind }) => kind === "assistant" || kind === "call"));
    }
    return { exact, loose, agents, system };
  }
}

/** Adds a system message to the fingerprint of those before it. */
export const systemPrint = (before: number, { exact }: Fingerprint): number => textHash(`${before} ${exact}`);

/** Creates the reader of one guard. Without a shape, `M` is its default, `Message`. */
export function readerOf<M>({
  shape = plainShape as unknown as Shape<M>,
  tokenizer = estimateTokens,
}: {
  shape?: Shape<M>;
  tokenizer?: Tokenizer;
}): MessageReader<M> {
  return new MessageReader(shape, tokenizer);
}
