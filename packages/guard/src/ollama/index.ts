import type { Conversation } from "../conversation.ts";
import { joined, type Part, type Shape, textOf } from "../view/shape.ts";
import {
  type ClientOptions,
  fitCall,
  type Guarded,
  watchedStream,
  withOverrides,
} from "../wrapped-client.ts";

/** A chat message of Ollama. It has no call ids; results answer calls in order. */
export interface OllamaMessage {
  role: string;
  content: string;
  thinking?: string;
  images?: unknown[];
  tool_calls?: { function: { name: string; arguments: unknown } }[];
  tool_name?: string;
}

/** The shape of Ollama chat messages. */
export const ollamaShape: Shape<OllamaMessage> = {
  read(message) {
    if (message.role === "tool") return [{ kind: "result", text: message.content, tool: message.tool_name }];
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    const parts: Part[] = [];
    if (message.content !== "" || (message.tool_calls ?? []).length === 0) {
      parts.push({ kind, text: message.content, extraTokens: (message.images?.length ?? 0) * 800 });
    }
    for (const { function: called } of message.tool_calls ?? []) {
      parts.push({
        kind: "call",
        tool: called.name,
        input: called.arguments,
        text: `${called.name} ${textOf(called.arguments)}`,
      });
    }
    return parts;
  },
  replace(message, texts) {
    const text = texts.get(0);
    return text === undefined ? message : { ...message, content: text };
  },
  user: (content) => ({ role: "user", content }),
  merge: (message, text, where) => ({ ...message, content: joined(message.content, text, where) }),
};

/** The part of the `ollama` client that the guard uses. */
export interface OllamaClient {
  // biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
  chat: (...args: any[]) => any;
  ps: () => Promise<{ models: unknown[] }>;
}

/**
 * Wraps `chat`. Create the guard with {@link ollamaShape}. After each call the window is the size that Ollama loaded,
 * as `ps` reports it, and never the model's training length. Before a call it is the request's `num_ctx`, or else the
 * size last loaded without one.
 * @throws {GuardError} From `chat`: `max_restarts` or `restart_unconfirmed`, unless `onStop` is `send`.
 * @example
 * const ollama = guardOllama(new Ollama(), guard);
 * await ollama.chat({ model: "llama3.2", messages });
 */
export function guardOllama<C extends OllamaClient>(
  client: C,
  guard: Guarded<OllamaMessage>,
  options: ClientOptions<OllamaMessage> = {},
): C {
  /** The server's default window per model, in tokens. */
  const defaults = new Map<string, number>();
  const chat = async (params: Record<string, unknown>) => {
    const model = String(params.model);
    const numCtx = (params.options as { num_ctx?: unknown } | undefined)?.num_ctx;
    const asked = typeof numCtx === "number" ? numCtx : defaults.get(model);
    const expected = asked ?? (await loadedWindow(client, model));
    const given = params.messages as OllamaMessage[];
    const begin = (conversation: Conversation<OllamaMessage>) => {
      if (expected !== undefined) conversation.reportWindow(expected, model);
    };
    const fitted = await fitCall(guard, given, { params, begin }, options);
    const { conversation } = fitted;
    const system = fitted.system.map((content): OllamaMessage => ({ role: "system", content }));
    const answer: unknown = await client.chat({ ...params, messages: [...system, ...fitted.messages] });
    if (conversation === undefined) return answer;
    const observe = async (result: unknown) => {
      // A call may reload the model with another window, so `ps` is only right afterwards.
      const tokens = await loadedWindow(client, model);
      if (tokens !== undefined) {
        if (typeof numCtx !== "number") defaults.set(model, tokens);
        conversation.reportWindow(tokens, model);
      }
      fitted.observe(result, { model });
    };
    if (params.stream !== true) {
      await observe(answer);
      return answer;
    }
    let last: unknown;
    return watchedStream(answer as object, {
      onChunk(chunk) {
        last = chunk;
        return undefined;
      },
      onEnd: async () => {
        if (last !== undefined) await observe(last);
      },
    });
  };
  return withOverrides(client, { chat });
}

/**
 * Returns the window that a running model was loaded with, in tokens; `undefined` if it is not loaded or the server
 * does not report it.
 */
async function loadedWindow(client: OllamaClient, model: string): Promise<number | undefined> {
  try {
    const { models } = await client.ps();
    for (const one of models as { name?: string; model?: string; context_length?: number }[]) {
      const named = [one.name, one.model].some((name) => name === model || name === `${model}:latest`);
      if (named && typeof one.context_length === "number") return one.context_length;
    }
  } catch {
    // The server is old or unreachable; in the latter case the following call reports it.
  }
  return undefined;
}
