import type { ContextGuard } from "../guard.ts";
import { type Part, type Shape, textOf } from "../view/shape.ts";
import { type ClientOptions, observingStream, overridden, toSend } from "../wrap.ts";

/** A chat message as Ollama takes it. It has no call ids: results answer their calls in order. */
export interface OllamaMessage {
  role: string;
  content: string;
  thinking?: string;
  images?: unknown[];
  tool_calls?: { function: { name: string; arguments: unknown } }[];
  tool_name?: string;
}

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
};

export interface OllamaClient {
  // biome-ignore lint/suspicious/noExplicitAny: the client's own overloads are kept for the caller
  chat: (...args: any[]) => any;
  ps: () => Promise<{ models: unknown[] }>;
}

/**
 * The same client with `chat` under guard. The window is the one Ollama really loaded, as `ps` reports it after each
 * call, never the length the model was trained for; before a call it is `num_ctx` of the request, else what was loaded
 * for the last one without. The guard must read messages with {@link ollamaShape}.
 */
export function guardOllama<C extends OllamaClient>(
  client: C,
  guard: ContextGuard<OllamaMessage>,
  options: ClientOptions<OllamaMessage> = {},
): C {
  /** By model: what the server takes where a request does not say. */
  const defaults = new Map<string, number>();
  const expect = async (model: string, numCtx: unknown) => {
    const asked = typeof numCtx === "number" ? numCtx : defaults.get(model);
    const tokens = asked ?? (await loadedWindow(client, model));
    if (tokens !== undefined) guard.reportWindow(tokens, model);
  };
  // A call loads the model, or loads it anew with another window: only after it the truth can be asked for.
  const learn = async (model: string, numCtx: unknown) => {
    const tokens = await loadedWindow(client, model);
    if (tokens === undefined) return;
    if (typeof numCtx !== "number") defaults.set(model, tokens);
    guard.reportWindow(tokens, model);
  };
  const chat = async (params: Record<string, unknown>) => {
    const model = String(params.model);
    const numCtx = (params.options as { num_ctx?: unknown } | undefined)?.num_ctx;
    await expect(model, numCtx);
    const messages = await toSend(guard, params.messages as OllamaMessage[], options);
    const began = Date.now();
    const answer: unknown = await client.chat({ ...params, messages });
    const settle = async (result: unknown) => {
      const durationMs = Date.now() - began;
      await learn(model, numCtx);
      guard.observe(result, { durationMs, model });
    };
    if (params.stream !== true) {
      await settle(answer);
      return answer;
    }
    return observingStream(answer as object, async (chunk) => {
      if ((chunk as { done?: boolean }).done === true) await settle(chunk);
    });
  };
  return overridden(client, { chat });
}

/** Tokens of the window a running model was loaded with; undefined when it is not loaded or the server does not say. */
async function loadedWindow(client: OllamaClient, model: string): Promise<number | undefined> {
  try {
    const { models } = await client.ps();
    for (const one of models as { name?: string; model?: string; context_length?: number }[]) {
      const named = [one.name, one.model].some((name) => name === model || name === `${model}:latest`);
      if (named && typeof one.context_length === "number") return one.context_length;
    }
  } catch {
    // An old server, or one that is away: the call that follows will say so.
  }
  return undefined;
}
