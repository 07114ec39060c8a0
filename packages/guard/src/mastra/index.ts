import { type AiMessage, withSystem } from "../ai-sdk/shape.ts";
import {
  type AdapterOptions,
  checkAdapter,
  type FittedCall,
  fitCall,
  type Guarded,
} from "../wrapped-client/wrapped-client.ts";

export { type AiMessage, aiShape } from "../ai-sdk/shape.ts";

/** The part of a processor's arguments that the guard uses. */
export interface MastraRequest {
  prompt: readonly AiMessage[];
  model: { modelId?: string };
  /** The same object for all steps of a run. */
  state: object;
  requestContext?: unknown;
  abortSignal?: AbortSignal | undefined;
}

/** A call that was sent, until it is counted. */
interface OpenCall {
  /** Counts it, the first time. */
  end(answer: unknown): void;
  /** Forgets it, because it failed. */
  drop(error?: unknown): void;
}

/** A part of the answer's stream. */
interface MastraChunk {
  type: string;
  payload: unknown;
}

/**
 * Returns an input processor for an `Agent`. It fits the prompt before every model call and reads the usage of each answer.
 * Memory keeps the whole history, because the guard changes only the prompt. Create the guard with {@link aiShape}. The
 * conversation's key is the id of the memory's thread. Put it last, so that it sees what is sent.
 * @throws {GuardError} From a model call: `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is
 * `send`.
 * @example
 * const agent = new Agent({ id: "bot", name: "bot", instructions, model, inputProcessors: [guardMastra(guard)] });
 * await agent.generate("Hello", { memory: { thread: "thread-91", resource: "user-7" } });
 */
export function guardMastra(guard: Guarded<AiMessage>, options: AdapterOptions<AiMessage> = {}) {
  checkAdapter(guard, "aiShape", options);
  /** By the state of the run. */
  const calls = new WeakMap<object, OpenCall>();
  const tools = new WeakMap<object, unknown>();
  const conversation = (params: MastraRequest) => options.conversation?.(params) ?? threadOf(params);
  return {
    id: "plimsoll-guard",
    name: "Plimsoll guard",
    processInputStep(step: { tools?: Record<string, unknown>; state: object }): void {
      tools.set(step.state, definitions(step.tools));
    },
    async processLLMRequest<P extends readonly AiMessage[]>(
      request: MastraRequest & { prompt: P },
    ): Promise<{ prompt: P }> {
      const { prompt, model, state, abortSignal: signal } = request;
      calls.get(state)?.drop();
      const params = { ...request, tools: tools.get(state) };
      const fitted = await fitCall(guard, prompt, { params, signal }, { ...options, conversation });
      if (fitted.conversation === undefined) return { prompt };
      signal?.throwIfAborted();
      calls.set(state, openCall(fitted, model.modelId, signal));
      // The shape creates only messages that every version of the prompt has.
      return { prompt: withSystem(fitted) as readonly AiMessage[] as P };
    },
    processLLMResponse({ chunks, state }: { chunks: readonly MastraChunk[]; state: object }): void {
      const call = calls.get(state);
      if (isFailure(chunks)) call?.drop(chunks.find(({ type }) => type === "error")?.payload);
      else call?.end(answerIn(chunks));
    },
  };
}

function openCall(
  fitted: FittedCall<AiMessage>,
  model: string | undefined,
  signal: AbortSignal | undefined,
): OpenCall {
  let open = true;
  const drop = (error?: unknown) => {
    if (error !== undefined) fitted.refused(error);
    open = false;
    signal?.removeEventListener("abort", onAbort);
  };
  const end = (answer: unknown) => {
    if (open) fitted.observe(answer, { model });
    drop();
  };
  // No hook runs for a call that the caller aborts.
  const onAbort = () => end(undefined);
  signal?.addEventListener("abort", onAbort);
  return { end, drop };
}

function threadOf({ requestContext }: MastraRequest): string | undefined {
  const context = requestContext as { get(key: string): unknown } | undefined;
  const memory = context?.get("MastraMemory") as { thread?: { id?: string } } | undefined;
  return memory?.thread?.id;
}

/** What the model reads of the tools. */
function definitions(tools: Readonly<Record<string, unknown>> | undefined): unknown {
  return Object.entries(tools ?? {}).map(([name, tool]) => {
    const { description, parameters, inputSchema } = tool as Record<string, unknown>;
    return { name, description, parameters: parameters ?? inputSchema };
  });
}

/** Whether the server refused the call, so that no answer began. */
function isFailure(chunks: readonly MastraChunk[]): boolean {
  const types = chunks.map(({ type }) => type);
  return types.includes("error") && types.every((type) => type === "step-start" || type === "error");
}

/** The usage of a call, with the id and model of the answer. */
function answerIn(chunks: readonly MastraChunk[]): unknown {
  const payloadOf = (...types: string[]) =>
    chunks.findLast(({ type }) => types.includes(type))?.payload as Record<string, unknown> | undefined;
  const about = payloadOf("response-metadata");
  const output = payloadOf("finish", "step-finish")?.output as { usage?: unknown } | undefined;
  return { id: about?.id, model: about?.modelId, usage: output?.usage };
}
