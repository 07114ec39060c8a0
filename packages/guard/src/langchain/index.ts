import {
  type AdapterOptions,
  answerOf,
  checkAdapter,
  fitCall,
  type Guarded,
} from "../wrapped-client/wrapped-client.ts";
import { type LangChainMessage, langChainShape } from "./shape.ts";

export { type LangChainMessage, langChainShape } from "./shape.ts";

/** The part of a model request of `createAgent` that the guard uses. */
export interface LangChainRequest {
  messages: readonly LangChainMessage[];
  systemMessage: LangChainMessage;
  tools: readonly unknown[];
  model: unknown;
  responseFormat?: unknown;
  runtime: { signal?: AbortSignal | undefined; configurable?: object | undefined };
}

/**
 * Returns middleware for `createAgent`. It fits the messages before every model call and reads the usage of each answer. The
 * graph's state keeps the whole history. Create the guard with {@link langChainShape}. The conversation's key is the
 * `thread_id` of the call. Put it last, so that it sees what is sent.
 * @throws {GuardError} From a model call: `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is
 * `send`. LangChain wraps it: the `GuardError` is the `cause` of the error that the caller gets.
 * @example
 * const agent = createAgent({ model, tools, middleware: [guardLangChain(guard)] });
 * await agent.invoke({ messages: "Hello" }, { configurable: { thread_id: "thread-91" } });
 */
export function guardLangChain(
  guard: Guarded<LangChainMessage>,
  options: AdapterOptions<LangChainMessage> = {},
) {
  checkAdapter(guard, "langChainShape", options);
  const conversation = (params: LangChainRequest) => options.conversation?.(params) ?? threadOf(params);
  return {
    name: "PlimsollGuard",
    // biome-ignore lint/suspicious/noExplicitAny: LangChain infers the types of a request from the agent
    async wrapModelCall(request: any, handler: (request: any) => any): Promise<any> {
      const { messages, systemMessage, tools, model, runtime } = request as LangChainRequest;
      const { signal } = runtime;
      const params = { ...request, system: systemMessage.content, tools: tools.map(definition) };
      const facts = { model: modelName(model) };
      const fitted = await fitCall(guard, messages, { params, model, signal }, { ...options, conversation });
      if (fitted.conversation === undefined) return handler(request);
      signal?.throwIfAborted();
      const sent = {
        ...request,
        messages: ofTheirClass(fitted.messages, messages),
        systemMessage: withTexts(systemMessage, fitted.system),
      };
      const answer: unknown = await answerOf(handler(sent), fitted, { signal, ...facts });
      fitted.observe(replyIn(answer), facts);
      return answer;
    },
  };
}

/** The thread of a call, unless a sub-agent makes it: its history is another one, which the guard finds by its messages. */
function threadOf({ runtime }: LangChainRequest): string | undefined {
  const { thread_id: thread, checkpoint_ns: place } = (runtime.configurable ?? {}) as Record<string, unknown>;
  if (typeof place === "string" && place.includes("|")) return undefined;
  return typeof thread === "string" ? thread : undefined;
}

/** What the model reads of a tool. */
function definition(tool: unknown): unknown {
  const { name, description, schema } = tool as Record<string, unknown>;
  return name === undefined ? tool : { name, description, schema };
}

function modelName(model: unknown): string | undefined {
  const { model: name } = model as { model?: unknown };
  return typeof name === "string" ? name : undefined;
}

/** The agent's message in the answer. With a structured response, it comes first in a list. */
function replyIn(answer: unknown): unknown {
  const { messages } = answer as { messages?: readonly unknown[] };
  return messages?.[0] ?? answer;
}

/** Makes messages of the user that the guard wrote instances of the class that the history has. */
function ofTheirClass(
  view: readonly LangChainMessage[],
  history: readonly LangChainMessage[],
): readonly LangChainMessage[] {
  const human = history.find(({ type }) => type === "human");
  if (human === undefined) return view;
  const { constructor: Human } = human as unknown as {
    constructor: new (content: unknown) => LangChainMessage;
  };
  return view.map((one) => (Object.getPrototypeOf(one) === Object.prototype ? new Human(one.content) : one));
}

function withTexts(system: LangChainMessage, texts: readonly string[]): LangChainMessage {
  const text = texts.join("\n\n");
  return text === "" ? system : (langChainShape.merge?.(system, text, "after") ?? system);
}
