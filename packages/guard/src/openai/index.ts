import type { ContextGuard } from "../guard.ts";
import {
  type ClientOptions,
  fitOrThrow,
  GuardedCall,
  observingStream,
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
  guard: ContextGuard<ChatMessage>,
  options: ClientOptions<ChatMessage> = {},
): C {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    let began = 0;
    const begin = async () => {
      const messages = await fitOrThrow(guard, params.messages as ChatMessage[], options);
      const sent: Record<string, unknown> = { ...params, messages };
      // Streams report usage only on request.
      if (streamed) {
        sent.stream_options = { ...(params.stream_options as object | undefined), include_usage: true };
      }
      began = Date.now();
      return { call: client.chat.completions.create(sent, ...rest) };
    };
    const facts = () => ({ durationMs: Date.now() - began, model: String(params.model) });
    return new GuardedCall(begin(), streamed, (answer) => {
      if (!streamed) {
        guard.observe(answer, facts());
        return answer;
      }
      return observingStream(answer as object, (chunk) => {
        if ((chunk as { usage?: unknown }).usage != null) guard.observe(chunk, facts());
      });
    });
  };
  const completions = withOverrides(client.chat.completions, { create });
  return withOverrides(client, { chat: withOverrides(client.chat, { completions }) });
}

/**
 * Wraps `responses.create`. Create the guard with {@link responsesShape}, and pass the whole history as `input`. A call
 * with `previous_response_id` is only measured, because the guard cannot see the history on the server.
 * @throws {GuardError} From `create`: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const openai = guardResponses(new OpenAI(), guard);
 * await openai.responses.create({ model: "gpt-5.1", input: "Hello" });
 */
export function guardResponses<C extends ResponsesClient>(
  client: C,
  guard: ContextGuard<InputItem>,
  options: ClientOptions<InputItem> = {},
): C {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    let began = 0;
    const begin = async () => {
      let sent = params;
      if (params.previous_response_id == null) {
        const input =
          typeof params.input === "string" ? [{ role: "user", content: params.input }] : params.input;
        sent = { ...params, input: await fitOrThrow(guard, (input ?? []) as InputItem[], options) };
      }
      began = Date.now();
      return { call: client.responses.create(sent, ...rest) };
    };
    const facts = () => ({ durationMs: Date.now() - began, model: String(params.model) });
    return new GuardedCall(begin(), streamed, (answer) => {
      if (!streamed) {
        guard.observe(answer, facts());
        return answer;
      }
      return observingStream(answer as object, (chunk) => {
        const { type, response } = chunk as { type?: string; response?: unknown };
        if (type === "response.completed" || type === "response.incomplete") guard.observe(response, facts());
      });
    });
  };
  return withOverrides(client, { responses: withOverrides(client.responses, { create }) });
}
