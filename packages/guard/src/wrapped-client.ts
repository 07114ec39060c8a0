import { Conversation } from "./conversation.ts";
import { GuardError, noRestartLeft, promptTooLong } from "./error.ts";
import { type FitOptions, fit } from "./fit.ts";
import type { Guard } from "./guard.ts";
import type { ObserveFacts, Prepared } from "./types.ts";

/** Options of a wrapped client. */
export interface ClientOptions<M> extends FitOptions<M> {
  /**
   * Returns the key of the conversation that a call belongs to, from the call's parameters. Without it, or if it returns
   * `undefined`, the guard takes the key of `withConversation`, or finds the conversation by the messages.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each client has parameters of its own
  conversation?: (params: any) => string | undefined;
  /**
   * What to do with a call when no restart is left, or when the prompt does not fit and nobody confirmed the restart.
   * `throw` a {@link GuardError} without sending, or `send` the call anyway. Default: `throw`.
   */
  onStop?: "throw" | "send";
}

/** What a client is wrapped with. With a conversation, every call belongs to it. */
export type Guarded<M> = Guard<M> | Conversation<M>;

/** A call whose messages were fitted. */
export interface FittedCall<M> {
  /** Undefined for a side call, which is sent as it came. */
  conversation: Conversation<M> | undefined;
  messages: readonly M[];
  /** Texts for the system prompt. */
  system: readonly string[];
  /** Records the answer. Without a usable count, the turn counts with the estimate of its prompt. */
  observe(answer: unknown, facts?: ObserveFacts): void;
}

/** Parameters of all clients that the model reads beside the messages. */
const BESIDES = [
  "system",
  "instructions",
  "tools",
  "functions",
  "response_format",
  "responseFormat",
  "output_config",
  "text",
  "format",
] as const;

/** What is known of a call. */
export interface CallFacts<M> {
  params: unknown;
  /** The caller's signal. */
  signal?: AbortSignal | undefined;
  /** Called with the conversation before its messages are fitted. */
  begin?: (conversation: Conversation<M>) => void;
}

/** The signal in the request options that follow the parameters of a call. */
export const signalIn = (rest: readonly unknown[]): AbortSignal | undefined =>
  (rest[0] as { signal?: AbortSignal } | undefined)?.signal;

/**
 * Finds the conversation of a call and fits its messages.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 */
export async function fitCall<M>(
  guard: Guarded<M>,
  messages: readonly M[],
  { params, signal, begin }: CallFacts<M>,
  options: ClientOptions<M>,
): Promise<FittedCall<M>> {
  const conversation =
    guard instanceof Conversation ? guard : guard.route(messages, options.conversation?.(params));
  if (conversation === undefined) return { conversation, messages, system: [], observe() {} };
  begin?.(conversation);
  const besides = BESIDES.map((name) => (params as Record<string, unknown>)[name]);
  const prepared = await fitOrThrow(conversation, messages, {
    ...options,
    besides,
    signal: signal ?? options.signal,
  });
  const began = Date.now();
  return {
    conversation,
    messages: prepared.messages,
    system: prepared.system,
    observe(answer, facts) {
      conversation.observe(answer, {
        durationMs: Date.now() - began,
        answered: true,
        sent: prepared.sent,
        ...facts,
      });
    },
  };
}

/**
 * Prepares the messages to send.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 */
export async function fitOrThrow<M>(
  conversation: Conversation<M>,
  messages: readonly M[],
  options: ClientOptions<M>,
): Promise<Prepared<M>> {
  const prepared = await fit(conversation, messages, options);
  const { actions } = prepared;
  const stop = actions.find((action) => action.type === "stop");
  if (stop !== undefined) {
    options.say?.(stop.say);
    if (options.onStop !== "send") {
      throw stop.reason === "too_long"
        ? promptTooLong(prepared.level.tokens, conversation.read().windowTokens)
        : noRestartLeft(conversation.policy.restart?.max ?? 0);
    }
  }
  const asked = actions.find((action) => action.type === "confirm_restart");
  const restarted = actions.some((action) => action.type === "restart");
  if (asked?.reason === "window_full" && !restarted && options.onStop !== "send") {
    throw new GuardError(
      "restart_unconfirmed",
      `The call was not sent: its prompt of about ${prepared.level.tokens} tokens no longer fits, and the restart it ` +
        `needs was not confirmed. Pass confirm, call restart() of the conversation, or pass onStop: "send" to send the call anyway.`,
    );
  }
  return prepared;
}

/** The promise type of the OpenAI and Anthropic clients. */
interface ApiPromise extends PromiseLike<unknown> {
  asResponse(): Promise<Response>;
  withResponse(): Promise<{ data: unknown; response: Response }>;
}

/**
 * A call that first fits its messages. Like the client's own promise, it has `asResponse` and `withResponse` and
 * reads the body only when awaited.
 */
export class GuardedCall<S extends { call: ApiPromise }> extends Promise<unknown> {
  readonly #sent: Promise<S>;
  readonly #onAnswer: (answer: unknown, sent: S) => unknown;
  readonly #streamed: boolean;
  #answer: Promise<unknown> | undefined;

  /** `onAnswer` receives the answer and returns the value for the caller. */
  constructor(sent: Promise<S>, streamed: boolean, onAnswer: (answer: unknown, sent: S) => unknown) {
    super((resolve) => resolve(undefined));
    this.#sent = sent;
    this.#onAnswer = onAnswer;
    this.#streamed = streamed;
  }

  /** Returns the raw response. A streamed response is not measured, because only the caller can read its body. */
  async asResponse(): Promise<Response> {
    const sent = await this.#sent;
    const response = await sent.call.asResponse();
    if (!this.#streamed) this.#onAnswer(await response.clone().json(), sent);
    return response;
  }

  async withResponse(): Promise<unknown> {
    const { call } = await this.#sent;
    const whole = await call.withResponse();
    return { ...whole, data: await this.#parsed() };
  }

  #parsed(): Promise<unknown> {
    this.#answer ??= this.#sent.then(async (sent) => this.#onAnswer(await sent.call, sent));
    return this.#answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that reads its answer only when awaited
  override then<A = unknown, B = never>(
    fulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#parsed().then(fulfilled, rejected);
  }

  override catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<unknown> {
    return this.#parsed().catch(rejected);
  }

  override finally(done?: (() => void) | null): Promise<unknown> {
    return this.#parsed().finally(done);
  }
}

/** Returns a proxy of `target` with some members replaced. Methods run on `target` itself, so private fields work. */
export function withOverrides<T extends object>(target: T, members: object): T {
  return new Proxy(target, {
    get(object, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** Watches a stream. */
export interface StreamWatch {
  /** Called with each chunk before the reader gets it. Returns `hide` for a chunk that the caller did not ask for. */
  onChunk(chunk: unknown): "hide" | undefined;
  /** Called once when the stream ends, fails, or is left by its reader. */
  onEnd(): Promise<void> | void;
}

/** Returns a proxy of `stream` that is watched. */
export function watchedStream<T extends object>(stream: T, { onChunk, onEnd }: StreamWatch): T {
  return withOverrides(stream, {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const chunk of stream as unknown as AsyncIterable<unknown>) {
          if ((await onChunk(chunk)) !== "hide") yield chunk;
        }
      } finally {
        await onEnd();
      }
    },
  });
}
