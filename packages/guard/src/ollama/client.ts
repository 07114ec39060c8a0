import type { Conversation } from "../conversation/conversation.ts";
import { watchedStream } from "../wrapped-client/watched-stream.ts";
import {
  type AskModel,
  answerOf,
  type ClientOptions,
  checkAdapter,
  conversationOf,
  type FittedCall,
  fitCall,
  type Guarded,
  unfittedCall,
  withOverrides,
} from "../wrapped-client/wrapped-client.ts";
import { LoadedWindows } from "./loaded-windows.ts";
import type { OllamaMessage } from "./shape.ts";

/** The part of the `ollama` client that the guard uses. */
export interface OllamaClient {
  // biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
  chat: (...args: any[]) => any;
  // biome-ignore lint/suspicious/noExplicitAny: same
  generate: (...args: any[]) => any;
  abort: () => void;
  ps: () => Promise<{ models: unknown[] }>;
}

type Params = Record<string, unknown>;

/**
 * Wraps `chat` and `generate`. Create the guard with {@link ollamaShape}. After each call the window is the size that
 * Ollama loaded, as `ps` reports it, and never the model's training length. Before a call it is the request's `num_ctx`,
 * or else the size last loaded without one.
 *
 * `generate` has a prompt and no messages, so it is only measured. In a conversation with messages it counts as a call of
 * the agent `generate`. `abort` also ends streamed calls that wait for a summary.
 * @throws {GuardError} From `chat`: `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 * @example
 * const ollama = guardOllama(new Ollama(), guard);
 * await ollama.chat({ model: "llama3.2", messages });
 */
export function guardOllama<C extends OllamaClient>(
  client: C,
  guard: Guarded<OllamaMessage>,
  options: ClientOptions<OllamaMessage> = {},
): C {
  checkAdapter(guard, "ollamaShape", options);
  const windows = new LoadedWindows(client);
  const ask = askOllama(client);
  const waiting = new Set<AbortController>();
  const chat = async (params: Params) => {
    const given = (params.messages ?? []) as OllamaMessage[];
    // Loads or unloads the model.
    if (given.length === 0) return client.chat(params);
    const window = await windows.expected(params);
    const begin = (conversation: Conversation<OllamaMessage>) => {
      if (window !== undefined) conversation.reportWindow(window, String(params.model));
    };
    const fit = (signal?: AbortSignal) => fitCall(guard, given, { params, ask, signal, begin }, options);
    const fitted = params.stream === true ? await abortable(waiting, fit) : await fit();
    if (fitted.conversation === undefined) return client.chat(params);
    const system = fitted.system.map((content): OllamaMessage => ({ role: "system", content }));
    const call = client.chat({ ...params, messages: [...system, ...fitted.messages] });
    const answer: object = await answerOf(call, fitted, { signal: undefined, model: String(params.model) });
    return watched(answer, params, windows, fitted);
  };
  const generate = async (params: Params) => {
    const prompt = String(params.prompt ?? "");
    // Loads or unloads the model.
    if (prompt === "") return client.generate(params);
    const key = options.conversation?.(params);
    const conversation = conversationOf(guard, [{ role: "user", content: prompt }], key);
    const answer: object = await client.generate(params);
    if (conversation === undefined) return answer;
    // The prompt is not the history of the messages, so its size is not their level.
    const agent = conversation.state.seen === undefined ? undefined : "generate";
    return watched(answer, params, windows, unfittedCall(conversation), agent);
  };
  const abort = () => {
    for (const controller of waiting) controller.abort();
    client.abort();
  };
  return withOverrides(client, { chat, generate, abort });
}

function askOllama(client: OllamaClient): AskModel {
  return async (model, { system, prompt, maxTokens }) => {
    const messages = [
      { role: "system", content: system },
      { role: "user", content: prompt },
    ];
    // The client cannot end one call without a stream; the guard stops waiting for it.
    const answer = await client.chat({ model, messages, options: { num_predict: maxTokens } });
    return { answer, text: String(answer?.message?.content ?? "") };
  };
}

/** Runs the work that comes before a call, so that the client's `abort` ends it. */
async function abortable<T>(
  waiting: Set<AbortController>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  waiting.add(controller);
  try {
    const done = await work(controller.signal);
    controller.signal.throwIfAborted();
    return done;
  } finally {
    waiting.delete(controller);
  }
}

/** Measures the answer to a call, and the window that the model was loaded with. */
async function watched(
  answer: object,
  params: Params,
  windows: LoadedWindows,
  fitted: FittedCall<OllamaMessage>,
  agent?: string,
): Promise<object> {
  const model = String(params.model);
  const observe = async (result: unknown) => {
    const tokens = await windows.loaded(params);
    if (tokens !== undefined) fitted.conversation?.reportWindow(tokens, model);
    fitted.observe(result, { model, agent });
  };
  if (params.stream !== true) {
    await observe(answer);
    return answer;
  }
  let last: unknown;
  return watchedStream(answer, {
    onChunk(chunk) {
      last = chunk;
      return undefined;
    },
    onEnd: () => observe(last),
  });
}
