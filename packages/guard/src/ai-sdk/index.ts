import { GuardError } from "../error.ts";
import type { ContextGuard } from "../guard.ts";
import { type ClientOptions, toSend } from "../wrap.ts";
import type { AiMessage } from "./shape.ts";

export { type AiMessage, aiShape } from "./shape.ts";

type Usage = { inputTokens: unknown; outputTokens: unknown };
interface Generated {
  usage: unknown;
  response?: { id?: string; modelId?: string } | undefined;
}

/**
 * Middleware for `wrapLanguageModel`: fits the prompt before every call of the model and takes the usage of each,
 * generated or streamed. The guard must read messages with {@link aiShape}.
 */
export function guardMiddleware(guard: ContextGuard<AiMessage>, options: ClientOptions<AiMessage> = {}) {
  return {
    specificationVersion: "v3" as const,
    async transformParams<P extends { prompt: readonly AiMessage[] }>({ params }: { params: P }): Promise<P> {
      return { ...params, prompt: await toSend(guard, params.prompt, options) };
    },
    async wrapGenerate<R extends Generated>(call: {
      doGenerate: () => PromiseLike<R>;
      model: { modelId: string };
    }): Promise<R> {
      const began = Date.now();
      const result = await call.doGenerate();
      const { usage, response } = result;
      const durationMs = Date.now() - began;
      guard.observe(
        { id: response?.id, model: response?.modelId ?? call.model.modelId, usage },
        { durationMs },
      );
      return result;
    },
    // biome-ignore lint/suspicious/noExplicitAny: the parts of a stream belong to the SDK
    async wrapStream<R extends { stream: ReadableStream<any> }>(call: {
      doStream: () => PromiseLike<R>;
      model: { modelId: string };
    }): Promise<R> {
      const began = Date.now();
      const result = await call.doStream();
      let id: string | undefined;
      let model = call.model.modelId;
      const watch = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          if (part.type === "response-metadata") {
            id = part.id ?? id;
            model = part.modelId ?? model;
          }
          if (part.type === "finish")
            guard.observe({ id, model, usage: part.usage }, { durationMs: Date.now() - began });
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(watch) };
    },
  };
}

interface StreamPart {
  type: string;
  id?: string;
  modelId?: string;
  usage?: Usage;
}

interface Step {
  usage: unknown;
  response: { id?: string; modelId?: string; messages?: readonly AiMessage[] };
}

/**
 * For a loop without middleware: give `prepareStep`, `onStepFinish` and, beside your own conditions, `stopWhen` to
 * `generateText` or `streamText`. Usage is taken from each step, never from the total of all. `stopWhen` looks at the
 * step that would come next, so that what must not be sent ends the loop before it, and the steps made so far stay.
 * Only the first step is refused by an error: nothing is lost with it.
 */
export function guardSteps(guard: ContextGuard<AiMessage>, options: ClientOptions<AiMessage> = {}) {
  let history: readonly AiMessage[] = [];
  let view: readonly AiMessage[] = [];
  let next: { length: number; view: readonly AiMessage[] } | undefined;
  let stopped: GuardError | undefined;
  return {
    /** @throws {GuardError} as a wrapped client does, unless `onStop` is `send`. */
    async prepareStep<M extends AiMessage>({ messages }: { messages: M[] }): Promise<{ messages: M[] }> {
      // Some versions go on from what the last step was given: the guard works on what that was made of.
      const goesOn = view.length > 0 && view.every((message, place) => message === messages[place]);
      history = goesOn ? [...history, ...messages.slice(view.length)] : [...messages];
      view = next?.length === history.length ? next.view : await toSend(guard, history, options);
      next = undefined;
      // The shape only makes messages in the user's role, which every ModelMessage list may hold.
      return { messages: view as M[] };
    },
    onStepFinish({ usage, response }: Step): void {
      guard.observe({ id: response.id, model: response.modelId, usage });
    },
    /** True when the next step must not be sent; {@link stopped} says why. */
    async stopWhen({ steps }: { steps: readonly Step[] }): Promise<boolean> {
      const ahead = [...history, ...newIn(steps.at(-1)?.response.messages ?? [], history)];
      try {
        next = { length: ahead.length, view: await toSend(guard, ahead, options) };
        return false;
      } catch (error) {
        if (!(error instanceof GuardError)) throw error;
        stopped = error;
        return true;
      }
    },
    /** Why `stopWhen` ended the loop; undefined when it did not. */
    stopped: (): GuardError | undefined => stopped,
  };
}

/** What a step added: its response names the messages of earlier steps too, as copies. */
function newIn(response: readonly AiMessage[], history: readonly AiMessage[]): readonly AiMessage[] {
  const first = JSON.stringify(response[0]);
  for (let known = Math.min(response.length, history.length); known > 0; known--) {
    const message = history[history.length - known]!;
    if (message.role === response[0]!.role && JSON.stringify(message) === first) return response.slice(known);
  }
  return response;
}
