import { GuardError, noRestartLeft } from "./error.ts";
import { type FitOptions, fit } from "./fit.ts";
import type { ContextGuard } from "./guard.ts";

/** For the clients that are wrapped. */
export interface ClientOptions<M> extends FitOptions<M> {
  /**
   * What becomes of a call when no restart is allowed any more, or one is needed for the prompt to fit and nobody
   * agreed to it: `throw` a {@link GuardError} and send nothing, or `send` it as it is. `throw` unless said.
   */
  onStop?: "throw" | "send";
}

/**
 * The messages to send.
 * @throws {GuardError} `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 */
export async function toSend<M>(
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
        `needs was not agreed to. Give confirm, call guard.restart(), or pass onStop: "send" to send it all the same.`,
    );
  }
  return prepared.messages;
}

/** What the clients of OpenAI and Anthropic return at once, before the answer. */
interface ApiPromise extends PromiseLike<unknown> {
  asResponse(): Promise<Response>;
  withResponse(): Promise<{ data: unknown; response: Response }>;
}

/**
 * A call that waits for its messages to be fitted. It has the helpers of the client's own promise, and like that reads
 * the body only when the answer is asked for.
 */
export class GuardedCall extends Promise<unknown> {
  readonly #sent: Promise<{ call: ApiPromise }>;
  readonly #seen: (answer: unknown) => unknown;
  readonly #streamed: boolean;
  #answer: Promise<unknown> | undefined;

  /** `seen` takes the answer, and gives what the caller gets instead. */
  constructor(sent: Promise<{ call: ApiPromise }>, streamed: boolean, seen: (answer: unknown) => unknown) {
    super((resolve) => resolve(undefined));
    this.#sent = sent;
    this.#seen = seen;
    this.#streamed = streamed;
  }

  /** The bare response. A streamed one is not measured: its body is the caller's to read. */
  async asResponse(): Promise<Response> {
    const { call } = await this.#sent;
    const response = await call.asResponse();
    if (!this.#streamed) this.#seen(await response.clone().json());
    return response;
  }

  async withResponse(): Promise<unknown> {
    const { call } = await this.#sent;
    const whole = await call.withResponse();
    return { ...whole, data: await this.#parsed() };
  }

  #parsed(): Promise<unknown> {
    this.#answer ??= this.#sent.then(async ({ call }) => this.#seen(await call));
    return this.#answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise, whose answer is made when it is asked for
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

/**
 * An object that is `target` but for some members. Methods run on the target itself, so classes with private fields
 * work.
 */
export function overridden<T extends object>(target: T, members: object): T {
  return new Proxy(target, {
    get(object, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A stream that shows each chunk to `see` on its way to the reader; all its other members stay. */
export function observingStream<T extends object>(
  stream: T,
  see: (chunk: unknown) => Promise<void> | void,
): T {
  return overridden(stream, {
    async *[Symbol.asyncIterator]() {
      for await (const chunk of stream as unknown as AsyncIterable<unknown>) {
        await see(chunk);
        yield chunk;
      }
    },
  });
}
