import { GuardError, noRestartLeft } from "./error.ts";
import { type FitOptions, fit } from "./fit.ts";
import type { ContextGuard } from "./guard.ts";

/** Options of a wrapped client. */
export interface ClientOptions<M> extends FitOptions<M> {
  /**
   * What to do with a call when no restart is left, or when the prompt does not fit and nobody confirmed the restart.
   * `throw` a {@link GuardError} without sending, or `send` the call anyway. Default: `throw`.
   */
  onStop?: "throw" | "send";
}

/**
 * Returns the messages to send.
 * @throws {GuardError} `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 */
export async function fitOrThrow<M>(
  guard: ContextGuard<M>,
  messages: readonly M[],
  options: ClientOptions<M>,
): Promise<M[]> {
  const prepared = await fit(guard, messages, options);
  const { actions } = prepared;
  const stop = actions.find((action) => action.type === "stop");
  if (stop !== undefined) {
    options.say?.(stop.say);
    if (options.onStop !== "send") throw noRestartLeft(guard.policy.restart?.max ?? 0);
  }
  const asked = actions.find((action) => action.type === "confirm_restart");
  const restarted = actions.some((action) => action.type === "restart");
  if (asked?.reason === "window_full" && !restarted && options.onStop !== "send") {
    throw new GuardError(
      "restart_unconfirmed",
      `The call was not sent: its prompt of about ${prepared.level.tokens} tokens no longer fits, and the restart it ` +
        `needs was not confirmed. Pass confirm, call guard.restart(), or pass onStop: "send" to send the call anyway.`,
    );
  }
  return prepared.messages;
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
export class GuardedCall extends Promise<unknown> {
  readonly #sent: Promise<{ call: ApiPromise }>;
  readonly #onAnswer: (answer: unknown) => unknown;
  readonly #streamed: boolean;
  #answer: Promise<unknown> | undefined;

  /** `onAnswer` receives the answer and returns the value for the caller. */
  constructor(
    sent: Promise<{ call: ApiPromise }>,
    streamed: boolean,
    onAnswer: (answer: unknown) => unknown,
  ) {
    super((resolve) => resolve(undefined));
    this.#sent = sent;
    this.#onAnswer = onAnswer;
    this.#streamed = streamed;
  }

  /** Returns the raw response. A streamed response is not measured, because only the caller can read its body. */
  async asResponse(): Promise<Response> {
    const { call } = await this.#sent;
    const response = await call.asResponse();
    if (!this.#streamed) this.#onAnswer(await response.clone().json());
    return response;
  }

  async withResponse(): Promise<unknown> {
    const { call } = await this.#sent;
    const whole = await call.withResponse();
    return { ...whole, data: await this.#parsed() };
  }

  #parsed(): Promise<unknown> {
    this.#answer ??= this.#sent.then(async ({ call }) => this.#onAnswer(await call));
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

/** Returns a proxy of `stream` that calls `onChunk` with each chunk before the reader gets it. */
export function observingStream<T extends object>(
  stream: T,
  onChunk: (chunk: unknown) => Promise<void> | void,
): T {
  return withOverrides(stream, {
    async *[Symbol.asyncIterator]() {
      for await (const chunk of stream as unknown as AsyncIterable<unknown>) {
        await onChunk(chunk);
        yield chunk;
      }
    },
  });
}
