import type { FitOptions } from "../fit.ts";
import { fit } from "../fit.ts";
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
  response: { id?: string; modelId?: string };
}

/**
 * For a loop without middleware: give `prepareStep`, `onStepFinish` and, beside your own conditions, `stopWhen` to
 * `generateText` or `streamText`. Usage is taken from each step, never from the total of all.
 */
export function guardSteps(guard: ContextGuard<AiMessage>, options: FitOptions<AiMessage> = {}) {
  let stopped = false;
  let history: readonly AiMessage[] = [];
  let view: readonly AiMessage[] = [];
  return {
    async prepareStep<M extends AiMessage>({ messages }: { messages: M[] }): Promise<{ messages: M[] }> {
      // Some versions go on from what the last step was given: the guard works on what that was made of.
      const goesOn = view.length > 0 && view.every((message, place) => message === messages[place]);
      history = goesOn ? [...history, ...messages.slice(view.length)] : [...messages];
      const prepared = await fit(guard, history, options);
      view = prepared.messages;
      stopped = prepared.actions.some((action) => action.type === "stop");
      // The shape only makes messages in the user's role, which every ModelMessage list may hold.
      return { messages: prepared.messages as M[] };
    },
    onStepFinish({ usage, response }: Step): void {
      guard.observe({ id: response.id, model: response.modelId, usage });
    },
    /** True once the guard allows no further restart. */
    stopWhen: (): boolean => stopped,
  };
}
