import type { ContextGuard } from "../guard.ts";
import { type ClientOptions, GuardedCall, observingStream, overridden, toSend } from "../wrap.ts";
import type { ChatMessage, InputItem } from "./shape.ts";

export { type ChatMessage, chatShape, type InputItem, responsesShape } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: the client's own overloads are kept for the caller
type AnyFunction = (...args: any[]) => any;

/** What is used of the `openai` package's client, of any version that has it. */
export interface ChatClient {
  chat: { completions: { create: AnyFunction } };
}

export interface ResponsesClient {
  responses: { create: AnyFunction };
}

/**
 * The same client with `chat.completions.create` under guard: messages are fitted before each call, usage is taken
 * from each answer, streamed or not. The guard must read messages with {@link chatShape}. Other methods, and the
 * helpers `stream`, `parse` and `runTools`, are passed through unguarded.
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
      const messages = await toSend(guard, params.messages as ChatMessage[], options);
      const sent: Record<string, unknown> = { ...params, messages };
      // Without this a stream ends without a word on its usage.
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
  const completions = overridden(client.chat.completions, { create });
  return overridden(client, { chat: overridden(client.chat, { completions }) });
}

/**
 * The same client with `responses.create` under guard. The guard must read items with {@link responsesShape}, and
 * `input` must be the whole history: with `previous_response_id` the server holds what the guard cannot see, and the
 * call is only measured.
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
        sent = { ...params, input: await toSend(guard, (input ?? []) as InputItem[], options) };
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
  return overridden(client, { responses: overridden(client.responses, { create }) });
}
