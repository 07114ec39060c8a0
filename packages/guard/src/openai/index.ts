import { Conversation } from "../conversation.ts";
import { currentConversation } from "../conversation-context.ts";
import { Guard } from "../guard.ts";
import {
  type ClientOptions,
  type FittedCall,
  fitCall,
  type Guarded,
  GuardedCall,
  signalIn,
  watchedStream,
  withOverrides,
} from "../wrapped-client.ts";
import type { ChatMessage, InputItem } from "./shape.ts";

export { type ChatMessage, chatShape, type InputItem, responsesShape } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
type AnyFunction = (...args: any[]) => any;

/** The part of the `openai` client that the guard uses, in any version that has it. */
export interface ChatClient {
  chat: { completions: { create: AnyFunction } };
}

/** The part of the `openai` client that {@link guardResponses} uses. */
export interface ResponsesClient {
  responses: { create: AnyFunction };
}

/**
 * Wraps `chat.completions.create`: fits the messages before each call and reads the usage of each answer, streamed or
 * not. Create the guard with {@link chatShape}. All other methods, including `stream`, `parse` and `runTools`, bypass
 * the guard.
 * @throws {GuardError} From `create`: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const openai = guardChat(new OpenAI(), guard);
 * await openai.chat.completions.create({ model: "gpt-5.1", messages });
 */
export function guardChat<C extends ChatClient>(
  client: C,
  guard: Guarded<ChatMessage>,
  options: ClientOptions<ChatMessage> = {},
): C {
  /** False once the server has refused a stream because of the option. */
  let takesUsage = true;
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    const asked = (params.stream_options as { include_usage?: boolean } | undefined)?.include_usage;
    const begin = async () => {
      const fitted = await fitCall(
        guard,
        params.messages as ChatMessage[],
        { params, signal: signalIn(rest) },
        options,
      );
      if (fitted.conversation === undefined)
        return { fitted, call: client.chat.completions.create(params, ...rest) };
      const system = fitted.system.map((content): ChatMessage => ({ role: "system", content }));
      const sent: Record<string, unknown> = { ...params, messages: [...system, ...fitted.messages] };
      // Streams report usage only on request.
      if (streamed && asked === undefined && takesUsage) {
        const stream_options = { ...(params.stream_options as object | undefined), include_usage: true };
        const call = client.chat.completions.create({ ...sent, stream_options }, ...rest);
        takesUsage = await call.asResponse().then(
          () => true,
          (error: unknown) => !refusesUsage(error),
        );
        if (takesUsage) return { fitted, call };
      }
      return { fitted, call: client.chat.completions.create(sent, ...rest) };
    };
    return new GuardedCall(begin(), streamed, (answer, { fitted }) => {
      const facts = { model: String(params.model) };
      if (fitted.conversation === undefined) return answer;
      if (!streamed) {
        fitted.observe(answer, facts);
        return answer;
      }
      let last: unknown;
      return watchedStream(answer as object, {
        onChunk(chunk) {
          const { usage, choices } = chunk as { usage?: unknown; choices?: unknown[] };
          if (usage != null || last === undefined) last = chunk;
          // The chunk that is sent for `include_usage` alone.
          return asked === undefined && usage != null && choices?.length === 0 ? "hide" : undefined;
        },
        onEnd: () => {
          if (last !== undefined) fitted.observe(last, facts);
        },
      });
    });
  };
  const completions = withOverrides(client.chat.completions, { create });
  return withOverrides(client, { chat: withOverrides(client.chat, { completions }) });
}

/** True if a server does not know the option that has a stream report its usage. */
function refusesUsage(error: unknown): boolean {
  const { status, message } = error as { status?: number; message?: string };
  return (status === 400 || status === 422) && /stream_options|include_usage/.test(message ?? "");
}

/**
 * Wraps `responses.create`. Create the guard with {@link responsesShape}, and pass the whole history as `input`. A call
 * with `previous_response_id` or `conversation` is only measured, because the guard cannot see the history on the server.
 * @throws {GuardError} From `create`: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const openai = guardResponses(new OpenAI(), guard);
 * await openai.responses.create({ model: "gpt-5.1", input: "Hello" });
 */
export function guardResponses<C extends ResponsesClient>(
  client: C,
  guard: Guarded<InputItem>,
  options: ClientOptions<InputItem> = {},
): C {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    const onServer = serverConversation(guard, params, options);
    const begin = async () => {
      if (onServer !== undefined) {
        const conversation = onServer;
        const fitted: FittedCall<InputItem> = {
          conversation,
          messages: [],
          system: [],
          observe: (answer, facts) => void conversation.observe(answer, facts),
        };
        return { fitted, call: client.responses.create(params, ...rest) };
      }
      const input =
        typeof params.input === "string" ? [{ role: "user", content: params.input }] : (params.input ?? []);
      const fitted = await fitCall(guard, input as InputItem[], { params, signal: signalIn(rest) }, options);
      if (fitted.conversation === undefined)
        return { fitted, call: client.responses.create(params, ...rest) };
      const instructions = [params.instructions, ...fitted.system].filter((text) => text != null);
      const sent = {
        ...params,
        input: fitted.messages,
        ...(fitted.system.length > 0 && { instructions: instructions.join("\n\n") }),
      };
      return { fitted, call: client.responses.create(sent, ...rest) };
    };
    return new GuardedCall(begin(), streamed, (answer, { fitted }) => {
      const facts = { model: String(params.model) };
      const observe = (response: unknown) => {
        const { conversation } = fitted;
        if (conversation === undefined) return;
        fitted.observe(response, facts);
        const id = (response as { id?: unknown } | undefined)?.id;
        if (typeof id === "string" && guard instanceof Guard) guard.answered(id, conversation);
      };
      if (!streamed) {
        observe(answer);
        return answer;
      }
      let last: unknown;
      return watchedStream(answer as object, {
        onChunk(chunk) {
          const { response } = chunk as { response?: unknown };
          if (response != null) last = response;
          return undefined;
        },
        onEnd: () => {
          if (last !== undefined) observe(last);
        },
      });
    });
  };
  return withOverrides(client, { responses: withOverrides(client.responses, { create }) });
}

/** The conversation of a call whose history is on the server. */
function serverConversation(
  guard: Guarded<InputItem>,
  params: Record<string, unknown>,
  options: ClientOptions<InputItem>,
): Conversation<InputItem> | undefined {
  const { conversation, previous_response_id: previous } = params;
  const stored =
    typeof conversation === "string" ? conversation : (conversation as { id?: string } | null)?.id;
  if (stored == null && previous == null) return undefined;
  if (guard instanceof Conversation) return guard;
  const key = options.conversation?.(params) ?? currentConversation();
  if (key !== undefined) return guard.conversation(key);
  return stored == null
    ? (guard.ofAnswer(String(previous)) ?? guard.conversation(String(previous)))
    : guard.conversation(stored);
}
