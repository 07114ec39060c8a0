/** Watches a stream. */
export interface StreamWatch {
  /** Called with each chunk before the reader gets it. Returns `hide` for a chunk that the caller did not ask for. */
  onChunk(chunk: unknown): "hide" | undefined;
  /** Called once when the stream ends, fails, is aborted, or is left by its reader. */
  onEnd(): Promise<void> | void;
}

/** The parts of a client's stream that the guard uses. */
interface ClientStream {
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
  /** OpenAI and Anthropic: `tee` and `toReadableStream` read from it. */
  iterator?: () => AsyncIterator<unknown>;
  /** OpenAI and Anthropic. */
  controller?: AbortController;
  /** Ollama. */
  abortController?: AbortController;
}

/** Watches a client's stream, whichever of its methods reads it. Returns the same stream. */
export function watchedStream(stream: object, watch: StreamWatch): object {
  const source = stream as ClientStream;
  const read = (source.iterator ?? source[Symbol.asyncIterator]).bind(source);
  const end = endOf(watch);
  // A stream that is aborted before it is read runs no iterator.
  (source.controller ?? source.abortController)?.signal.addEventListener("abort", () => void end());
  const iterator = async function* () {
    try {
      for await (const chunk of { [Symbol.asyncIterator]: read })
        if (watch.onChunk(chunk) !== "hide") yield chunk;
    } finally {
      await end();
    }
  };
  return Object.assign(source, { [Symbol.asyncIterator]: iterator }, source.iterator && { iterator });
}

/** Returns a copy of a response with server-sent events. Its events are watched while the caller reads its body. */
export function watchedResponse(response: Response, watch: StreamWatch): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const events = new EventReader((event) => void watch.onChunk(event));
  const end = endOf(watch);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (value !== undefined) {
            events.push(value);
            controller.enqueue(value);
          }
          if (!done) return;
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        await end();
      },
      async cancel(reason) {
        await end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

/** Ends a watch once. */
function endOf(watch: StreamWatch): () => Promise<void> {
  let ended: Promise<void> | undefined;
  return () => (ended ??= Promise.resolve(watch.onEnd()));
}

/** Reads the data of server-sent events that arrive in pieces. */
class EventReader {
  readonly #decoder = new TextDecoder();
  readonly #onEvent: (event: unknown) => void;
  #rest = "";

  constructor(onEvent: (event: unknown) => void) {
    this.#onEvent = onEvent;
  }

  push(bytes: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\r|\n/);
    this.#rest = lines.pop()!;
    for (const line of lines) if (line.startsWith("data:")) this.#read(line.slice("data:".length));
  }

  #read(data: string): void {
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      // Such as the `[DONE]` of OpenAI.
      return;
    }
    if (typeof event === "object" && event !== null) this.#onEvent(event);
  }
}
