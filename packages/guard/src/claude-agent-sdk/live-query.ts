import { Channel } from "./channel.ts";
import type { SdkControls, SdkQuery, SdkUserMessage } from "./sdk-types.ts";

/** One process of the SDK that works on one session. It stays open for further prompts. */
export class LiveQuery<M> {
  readonly controls: SdkControls;
  readonly #query: AsyncIterable<M> & SdkControls;
  readonly #prompts = new Channel<SdkUserMessage>();
  readonly #messages = new Channel<M>();
  #iterator: AsyncIterator<M> | undefined;

  /** @param onMessage gets each message as soon as the SDK has it, however slowly the caller reads */
  constructor(query: SdkQuery<M>, options: Record<string, unknown>, onMessage: (message: M) => void) {
    this.#query = query({ prompt: this.#prompts, options });
    this.controls = this.#query;
    void this.#read(onMessage);
  }

  /** Sends a prompt. */
  push(prompt: SdkUserMessage): void {
    this.#prompts.push(prompt);
  }

  /** No further prompt will come: the process ends after the last one. */
  end(): void {
    this.#prompts.end();
  }

  /** The next message of the SDK. */
  next(): Promise<IteratorResult<M, undefined>> {
    return this.#messages.next();
  }

  /** Ends the process at once. */
  close(): void {
    this.#prompts.end();
    this.#messages.end();
    if (this.#query.close !== undefined) this.#query.close();
    else void Promise.resolve(this.#iterator?.return?.()).catch(() => {});
  }

  async #read(onMessage: (message: M) => void): Promise<void> {
    try {
      this.#iterator = this.#query[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await this.#iterator.next();
        if (done === true) break;
        onMessage(value);
        this.#messages.push(value);
      }
      this.#messages.end();
    } catch (error) {
      this.#messages.fail(error);
    }
  }
}
