import type { ContextGuard } from "../guard.ts";
import { contentOf } from "../openai/shape.ts";
import { type Part, type Shape, textOf } from "../view/shape.ts";
import { type ClientOptions, GuardedCall, observingStream, overridden, toSend } from "../wrap.ts";

/** A message as the Messages API takes it; the package's `MessageParam` fits. */
export interface AnthropicMessage {
  role: string;
  content: unknown;
}

type Block = Record<string, unknown> & { type?: string };

export const anthropicShape: Shape<AnthropicMessage> = {
  read(message) {
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    if (!Array.isArray(message.content)) return [{ kind, text: textOf(message.content) }];
    return (message.content as Block[]).map((block): Part => {
      if (block.type?.endsWith("tool_use") === true) {
        const tool = block.name as string;
        return {
          kind: "call",
          id: block.id as string,
          tool,
          input: block.input,
          text: `${tool} ${textOf(block.input)}`,
        };
      }
      if (typeof block.tool_use_id === "string") {
        const id = block.tool_use_id;
        // What the server's own tools found has a form of its own, and is checked when it is sent back.
        const fixed = block.type !== "tool_result";
        return { kind: "result", id, fixed, error: block.is_error === true, ...contentOf(block.content) };
      }
      if (block.type === "text") return { kind, text: String(block.text ?? "") };
      return { kind, fixed: true, ...contentOf([block]) };
    });
  },
  replace(message, texts) {
    if (!Array.isArray(message.content)) {
      const text = texts.get(0);
      return text === undefined ? message : { ...message, content: text };
    }
    const content = (message.content as Block[]).map((block, place) => {
      const text = texts.get(place);
      if (text === undefined) return block;
      return block.type === "text" ? { ...block, text } : { ...block, content: text };
    });
    return { ...message, content };
  },
  user: (content) => ({ role: "user", content }),
};

export interface MessagesClient {
  // biome-ignore lint/suspicious/noExplicitAny: the client's own overloads are kept for the caller
  messages: { create: (...args: any[]) => any };
}

/**
 * The same client with `messages.create` under guard, streamed or not. The guard must read messages with
 * {@link anthropicShape}. `messages.stream` is passed through unguarded: use `create({ stream: true })`.
 */
export function guardMessages<C extends MessagesClient>(
  client: C,
  guard: ContextGuard<AnthropicMessage>,
  options: ClientOptions<AnthropicMessage> = {},
): C {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    let began = 0;
    const begin = async () => {
      const messages = await toSend(guard, params.messages as AnthropicMessage[], options);
      began = Date.now();
      return { call: client.messages.create({ ...params, messages }, ...rest) };
    };
    const facts = () => ({ durationMs: Date.now() - began, model: String(params.model) });
    return new GuardedCall(begin(), streamed, (answer) => {
      if (!streamed) {
        guard.observe(answer, facts());
        return answer;
      }
      let started: { id?: string; model?: string; usage?: object } | undefined;
      return observingStream(answer as object, (chunk) => {
        const event = chunk as { type?: string; message?: typeof started; usage?: object };
        if (event.type === "message_start") started = event.message;
        // The prompt is counted at the start, the output at the end: both belong to one turn.
        if (event.type === "message_delta" && started !== undefined) {
          const usage = { ...started.usage, ...known(event.usage) };
          guard.observe({ id: started.id, model: started.model, usage }, facts());
        }
      });
    });
  };
  return overridden(client, { messages: overridden(client.messages, { create }) });
}

function known(usage: object | undefined): object {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value != null));
}
