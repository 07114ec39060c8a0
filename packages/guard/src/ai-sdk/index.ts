import type { Conversation } from "../conversation/conversation.ts";
import { GuardError } from "../error.ts";
import { modelNames } from "../wrapped-client/model-names.ts";
import {
  type AdapterOptions,
  answerOf,
  checkAdapter,
  type FittedCall,
  fitCall,
  fitOrThrow,
  type Guarded,
} from "../wrapped-client/wrapped-client.ts";
import { type AiMessage, withSystem } from "./shape.ts";

export { type AiMessage, aiShape } from "./shape.ts";

type StreamUsage = { inputTokens: unknown; outputTokens: unknown };
interface ModelCall {
  params: { prompt: object; abortSignal?: AbortSignal | undefined };
  model: { modelId: string };
}
interface Generated {
  usage: unknown;
  providerMetadata?: unknown;
  response?: { id?: string; modelId?: string } | undefined;
}

/**
 * Returns middleware for `wrapLanguageModel`. It fits the prompt before every model call and reads the usage of each
 * answer, generated or streamed. Create the guard with {@link aiShape}.
 * @throws {GuardError} From a model call: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const model = wrapLanguageModel({ model: openai.chat("gpt-5.1"), middleware: guardMiddleware(guard) });
 * await generateText({ model, prompt: "Hello" });
 */
export function guardMiddleware(guard: Guarded<AiMessage>, options: AdapterOptions<AiMessage> = {}) {
  checkAdapter(guard, "aiShape", options);
  /** By the prompt that is sent. */
  const calls = new WeakMap<object, FittedCall<AiMessage>>();
  const answered = (prompt: object, answer: unknown) => calls.get(prompt)?.observe(answer);
  const answer = <R>(reply: PromiseLike<R>, { params, model }: ModelCall): Promise<R> =>
    answerOf(reply, calls.get(params.prompt), { signal: params.abortSignal, model: model.modelId });
  return {
    specificationVersion: "v3" as const,
    async transformParams<P extends { prompt: readonly AiMessage[]; abortSignal?: AbortSignal | undefined }>({
      params,
      model,
    }: {
      params: P;
      model?: unknown;
    }): Promise<P> {
      const facts = { params, model, signal: params.abortSignal };
      const fitted = await fitCall(guard, params.prompt, facts, options);
      if (fitted.conversation === undefined) return params;
      const prompt = withSystem(fitted);
      calls.set(prompt, fitted);
      return { ...params, prompt };
    },
    async wrapGenerate<R extends Generated>(
      call: ModelCall & { doGenerate: () => PromiseLike<R> },
    ): Promise<R> {
      const result = await answer(call.doGenerate(), call);
      const { usage, providerMetadata, response } = result;
      answered(call.params.prompt, {
        id: response?.id,
        model: response?.modelId ?? call.model.modelId,
        usage,
        providerMetadata,
      });
      return result;
    },
    // biome-ignore lint/suspicious/noExplicitAny: the SDK defines the stream parts
    async wrapStream<R extends { stream: ReadableStream<any> }>(
      call: ModelCall & { doStream: () => PromiseLike<R> },
    ): Promise<R> {
      const result = await answer(call.doStream(), call);
      let id: string | undefined;
      let model = call.model.modelId;
      let finish: StreamPart | undefined;
      let open = true;
      const end = () => {
        const { usage, providerMetadata } = finish ?? {};
        if (open) answered(call.params.prompt, { id, model, usage, providerMetadata });
        open = false;
      };
      const reader = (result.stream as ReadableStream<StreamPart>).getReader();
      const stream = new ReadableStream<StreamPart>({
        async pull(controller) {
          const { done, value } = await reader.read().catch((error: unknown) => {
            end();
            throw error;
          });
          if (done) {
            end();
            controller.close();
            return;
          }
          if (value.type === "response-metadata") {
            id = value.id ?? id;
            model = value.modelId ?? model;
          }
          if (value.type === "finish") finish = value;
          controller.enqueue(value);
        },
        // The reader aborted: what it has read was still a call.
        async cancel(reason) {
          end();
          await reader.cancel(reason);
        },
      });
      return { ...result, stream };
    },
  };
}

interface StreamPart {
  type: string;
  id?: string;
  modelId?: string;
  usage?: StreamUsage;
  providerMetadata?: unknown;
}

interface FinishedStep {
  usage: unknown;
  providerMetadata?: unknown;
  response: { id?: string; modelId?: string; messages?: readonly AiMessage[] };
}

/**
 * Guards a tool loop without middleware. Pass `prepareStep`, `onStepFinish` and `stopWhen` to `generateText` or
 * `streamText`. Usage comes from each step, never from the total. `stopWhen` ends the loop before a step that must not
 * be sent, so the finished steps are kept; only the first step is refused with an error.
 * @example
 * const { prepareStep, onStepFinish, stopWhen } = guardSteps(guard.conversation(threadId));
 * await generateText({ model, tools, prompt, prepareStep, onStepFinish, stopWhen: [stopWhen, stepCountIs(20)] });
 */
export function guardSteps(conversation: Conversation<AiMessage>, options: AdapterOptions<AiMessage> = {}) {
  checkAdapter(conversation, "aiShape", options);
  let history: readonly AiMessage[] = [];
  let view: readonly AiMessage[] = [];
  let next: { length: number; view: readonly AiMessage[] } | undefined;
  let stopped: GuardError | undefined;
  let names: readonly string[] = [];
  const fitted = async (messages: readonly AiMessage[]) => {
    const model = modelNames(names, options.model);
    return withSystem(await fitOrThrow(conversation, messages, { ...options, model }));
  };
  return {
    /** @throws {GuardError} `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`. */
    async prepareStep<M extends AiMessage>({
      messages,
      model,
    }: {
      messages: M[];
      model?: unknown;
    }): Promise<{ messages: M[] }> {
      names = modelNames(model);
      // Some SDK versions pass the last step's view back; continue from the history behind it.
      const continuesView = view.length > 0 && view.every((message, place) => message === messages[place]);
      history = continuesView ? [...history, ...messages.slice(view.length)] : [...messages];
      view = next?.length === history.length ? next.view : await fitted(history);
      next = undefined;
      // The shape only creates user messages, which every ModelMessage list accepts.
      return { messages: view as M[] };
    },
    /** Records the usage of a finished step. */
    onStepFinish({ usage, providerMetadata, response }: FinishedStep): void {
      const answer = { id: response.id, model: response.modelId, usage, providerMetadata };
      conversation.observe(answer, { answered: true });
    },
    /** Returns true if the next step must not be sent. `stopped()` returns the reason. */
    async stopWhen({ steps }: { steps: readonly FinishedStep[] }): Promise<boolean> {
      const nextHistory = [...history, ...newMessages(steps.at(-1)?.response.messages ?? [], history)];
      try {
        next = { length: nextHistory.length, view: await fitted(nextHistory) };
        return false;
      } catch (error) {
        if (!(error instanceof GuardError)) throw error;
        stopped = error;
        return true;
      }
    },
    /** Returns the error that made `stopWhen` end the loop, or `undefined`. */
    stopped: (): GuardError | undefined => stopped,
  };
}

/** Returns the messages that a step added. Its response also contains copies of earlier steps' messages. */
function newMessages(response: readonly AiMessage[], history: readonly AiMessage[]): readonly AiMessage[] {
  const first = JSON.stringify(response[0]);
  for (let known = Math.min(response.length, history.length); known > 0; known--) {
    const message = history[history.length - known]!;
    if (message.role === response[0]!.role && JSON.stringify(message) === first) return response.slice(known);
  }
  return response;
}
