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

/** Histories that are compared with the next one, those read last. Harnesses may load a copy of a thread for each call. */
const REMEMBERED = 64;

/** Reads each message once, for all conversations of a guard. Messages are never changed. */
export class MessageReader<M> {
  readonly shape: Shape<M>;
  readonly tokenizer: Tokenizer;
  readonly #known = new WeakMap<object, ReadMessage>();
  #histories: (readonly ReadMessage[])[] = [];

  constructor(shape: Shape<M>, tokenizer: Tokenizer) {
    this.shape = shape;
    this.tokenizer = tokenizer;
  }

  /** @param like the message that it may be a copy of. Then the result is the same object. */
  read(message: M, like?: ReadMessage): ReadMessage {
    const key = typeof message === "object" && message !== null ? message : undefined;
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const parts = this.shape.read(message);
    const read = like !== undefined && sameParts(parts, like.parts) ? like : this.#measure(parts);
    if (key !== undefined) this.#known.set(key, read);
    return read;
  }

  #measure(parts: readonly Part[]): ReadMessage {
    const tokens = parts.map((part) => this.tokenizer(part.text) + (part.extraTokens ?? 0));
    const total = tokens.reduce((sum, value) => sum + value, MESSAGE_OVERHEAD);
    return { parts, tokens, total, print: fingerprintOf(parts) };
  }

  /** Reads all messages, by comparison with the history that they seem to continue. */
  #readAll(messages: readonly M[]): readonly ReadMessage[] {
    const earlier = this.#likeliest(messages);
    const read = messages.map((message, at) => this.read(message, earlier?.[at]));
    this.#histories = [read, ...this.#histories.filter((one) => one !== earlier)].slice(0, REMEMBERED);
    return read;
  }

  /** The history that has most in common with these messages at a few places, near its end among them. */
  #likeliest(messages: readonly M[]): readonly ReadMessage[] | undefined {
    let best: { history: readonly ReadMessage[]; same: number } | undefined;
    for (const history of this.#histories) {
      const last = Math.min(history.length, messages.length) - 1;
      const places = new Set([last, last - 1, last - 3, last >> 1, last >> 2]);
      let same = 0;
      for (const at of places)
        if (at >= 0 && sameParts(this.shape.read(messages[at]!), history[at]!.parts)) same++;
      if (same > (best?.same ?? 0)) best = { history, same };
    }
    return best?.history;
  }

  /** What identifies a conversation, and which of its messages are the agent's. */
  trail(messages: readonly M[]): Trail & { agents: boolean[]; system: number } {
    const exact: number[] = [];
    const loose: number[] = [];
    const agents: boolean[] = [];
    let leading = true;
    let system = 0;
    for (const { parts, print } of this.#readAll(messages)) {
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

/** Whether two messages say the same. The text of a call holds its input. */
export function sameParts(some: readonly Part[], others: readonly Part[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, place) => {
      const other = others[place]!;
      return (
        one.text === other.text &&
        one.kind === other.kind &&
        one.id === other.id &&
        one.tool === other.tool &&
        one.error === other.error &&
        one.extraTokens === other.extraTokens &&
        one.fixed === other.fixed &&
        one.joins === other.joins &&
        one.editable === other.editable
      );
    })
  );
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
