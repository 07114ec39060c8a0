import { contentOf } from "../openai/shape.ts";
import { joinedContent, type Part, type Shape, textOf } from "../view/shape.ts";
import {
  type ClientOptions,
  fitCall,
  type Guarded,
  GuardedCall,
  signalIn,
  watchedStream,
  withOverrides,
} from "../wrapped-client.ts";

/** A message of the Messages API. The package's `MessageParam` is assignable to it. */
export interface AnthropicMessage {
  role: string;
  content: unknown;
}

type ContentBlock = Record<string, unknown> & { type?: string };

/** The shape of Messages API messages. */
export const anthropicShape: Shape<AnthropicMessage> = {
  read(message) {
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    if (!Array.isArray(message.content)) return [{ kind, text: textOf(message.content) }];
    return (message.content as ContentBlock[]).map((block): Part => {
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
        // Results of server-side tools are structured, and the API validates them when they are sent back.
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
    const content = (message.content as ContentBlock[]).map((block, place) => {
      const text = texts.get(place);
      if (text === undefined) return block;
      return block.type === "text" ? { ...block, text } : { ...block, content: text };
    });
    return { ...message, content };
  },
  user: (content) => ({ role: "user", content }),
  merge(message, text, where) {
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : { ...message, content };
  },
};

/** The part of the `@anthropic-ai/sdk` client that the guard uses. */
export interface MessagesClient {
  // biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
  messages: { create: (...args: any[]) => any };
}

/**
 * Wraps `messages.create`: fits the messages before each call and reads the usage of each answer, streamed or not.
 * Create the guard with {@link anthropicShape}. `messages.stream` bypasses the guard; use `create({ stream: true })`.
 * @throws {GuardError} From `create`: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const anthropic = guardMessages(new Anthropic(), guard);
 * await anthropic.messages.create({ model: "claude-opus-5", max_tokens: 1_000, messages });
 */
export function guardMessages<C extends MessagesClient>(
  client: C,
  guard: Guarded<AnthropicMessage>,
  options: ClientOptions<AnthropicMessage> = {},
): C {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    const begin = async () => {
      const fitted = await fitCall(
        guard,
        params.messages as AnthropicMessage[],
        { params, signal: signalIn(rest) },
        options,
      );
      const { messages, system } = fitted;
      const sent = {
        ...params,
        messages,
        ...(system.length > 0 && { system: withTexts(params.system, system) }),
      };
      return { fitted, call: client.messages.create(sent, ...rest) };
    };
    const facts = { model: String(params.model) };
    return new GuardedCall(begin(), streamed, (answer, { fitted }) => {
      if (!streamed) {
        fitted.observe(answer, facts);
        return answer;
      }
      let started: { id?: string; model?: string; usage?: object } | undefined;
      let usage: object = {};
      return watchedStream(answer as object, {
        // The API reports input tokens at the start of the stream and output tokens at the end.
        onChunk(chunk) {
          const event = chunk as { type?: string; message?: typeof started; usage?: object };
          if (event.type === "message_start") started = event.message;
          if (event.type === "message_start" || event.type === "message_delta")
            usage = { ...usage, ...known(event.message?.usage), ...known(event.usage) };
          return undefined;
        },
        onEnd: () => {
          if (started !== undefined) fitted.observe({ id: started.id, model: started.model, usage }, facts);
        },
      });
    });
  };
  return withOverrides(client, { messages: withOverrides(client.messages, { create }) });
}

/** Adds texts to a system prompt, which is a text or a list of blocks. */
function withTexts(system: unknown, texts: readonly string[]): unknown {
  return joinedContent(system, texts.join("\n\n"), "after", (text) => ({ type: "text", text }));
}

function known(usage: object | undefined): object {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value != null));
}
