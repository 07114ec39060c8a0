import { type StreamWatch, watchedResponse, watchedStream } from "./watched-stream.ts";

/** The promise type of the OpenAI and Anthropic clients. */
interface ApiPromise extends PromiseLike<unknown> {
  asResponse(): Promise<Response>;
  withResponse(): Promise<{ data: unknown; response: Response }>;
  /** Anthropic: the response before it is parsed. */
  _responseProps?(): Promise<{ response: Response }>;
}

/** Watches the answer to a call, streamed or not. */
export interface AnswerWatch extends StreamWatch {
  onAnswer(answer: unknown): void;
  /** Called if the call failed before an answer began. */
  onError(error: unknown): void;
}

/** A call that was sent. */
export interface SentCall {
  call: ApiPromise;
  /** Undefined if the call is not measured. */
  watch: AnswerWatch | undefined;
}

/**
 * A call that first fits its messages. Like the client's own promise, it has `asResponse` and `withResponse`, and reads
 * the body only when awaited.
 */
export class GuardedCall extends Promise<unknown> {
  readonly #sent: Promise<SentCall>;
  readonly #streamed: boolean;
  readonly #parse: () => Promise<unknown>;
  #answer: Promise<unknown> | undefined;

  constructor(sent: Promise<SentCall>, streamed: boolean, parse = () => parsed(sent, streamed)) {
    super((resolve) => resolve(undefined));
    this.#sent = sent;
    this.#streamed = streamed;
    this.#parse = parse;
  }

  /** Returns the raw response. */
  async asResponse(): Promise<Response> {
    const { call, watch } = await this.#sent;
    const response = await watched(call.asResponse(), watch);
    if (watch === undefined) return response;
    if (this.#streamed) return watchedResponse(response, watch);
    watch.onAnswer(
      await response
        .clone()
        .json()
        .catch(() => undefined),
    );
    return response;
  }

  async withResponse(): Promise<unknown> {
    const { call, watch } = await this.#sent;
    const whole = await watched(call.withResponse(), watch);
    return { ...whole, data: await this.#parsed() };
  }

  /** Anthropic's threads parse the stream in this response themselves, and await the call otherwise. */
  async _responseProps(): Promise<unknown> {
    const { call, watch } = await this.#sent;
    const props = await watched(call._responseProps!(), watch);
    if (watch === undefined || !this.#streamed) return props;
    return { ...props, response: watchedResponse(props.response, watch) };
  }

  /** Returns the same call with another answer. `parse` of the OpenAI client uses it. */
  _thenUnwrap(transform: (answer: unknown) => unknown): GuardedCall {
    return new GuardedCall(this.#sent, this.#streamed, async () => {
      const answer = await this.#parsed();
      return withHiddenFields(transform(answer), answer);
    });
  }

  #parsed(): Promise<unknown> {
    this.#answer ??= this.#parse();
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

/** Waits for a call, and shows the watch the error of one that fails. */
async function watched<T>(call: PromiseLike<T>, watch: AnswerWatch | undefined): Promise<T> {
  try {
    return await call;
  } catch (error) {
    watch?.onError(error);
    throw error;
  }
}

async function parsed(sent: Promise<SentCall>, streamed: boolean): Promise<unknown> {
  const { call, watch } = await sent;
  const answer = await watched(call, watch);
  if (watch === undefined) return answer;
  if (streamed) return watchedStream(answer as object, watch);
  watch.onAnswer(answer);
  return answer;
}

/** Copies fields such as `_request_id`, which the clients hide from enumeration. */
function withHiddenFields(answer: unknown, from: unknown): unknown {
  if (typeof answer !== "object" || answer === null || typeof from !== "object" || from === null)
    return answer;
  for (const [key, field] of Object.entries(Object.getOwnPropertyDescriptors(from)))
    if (!field.enumerable && !Object.hasOwn(answer, key)) Object.defineProperty(answer, key, field);
  return answer;
}
