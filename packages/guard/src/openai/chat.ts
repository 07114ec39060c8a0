import { type AnswerWatch, GuardedCall, type SentCall } from "../wrapped-client/guarded-call.ts";
import {
  type AskModel,
  type ClientOptions,
  checkAdapter,
  type FittedCall,
  fitCall,
  type Guarded,
  onFailure,
  rewrapping,
  signalIn,
  withOverrides,
} from "../wrapped-client/wrapped-client.ts";
import type { ChatMessage } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
type AnyFunction = (...args: any[]) => any;

/** The part of the `openai` client that the guard uses, in any version that has it. */
export interface ChatClient {
  chat: { completions: { create: AnyFunction } };
}

/**
 * Wraps `chat.completions`: `create`, and the helpers `parse`, `stream` and `runTools`, which call it. The guard fits
 * the messages before each call and reads the usage of each answer, streamed or not. `withOptions` returns a client
 * with the same guard. Create the guard with {@link chatShape}.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`. `stream` and
 * `runTools` reject with an `OpenAIError` whose `cause` is the GuardError.
 * @example
 * const openai = guardChat(new OpenAI(), guard);
 * await openai.chat.completions.create({ model: "gpt-5.1", messages });
 */
export function guardChat<C extends ChatClient>(
  client: C,
  guard: Guarded<ChatMessage>,
  options: ClientOptions<ChatMessage> = {},
): C {
  checkAdapter(guard, "chatShape", options);
  const ask = askChat(client);
  /** False once the server has refused a stream because of the option. */
  let takesUsage = true;
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const streamed = params.stream === true;
    const asked = (params.stream_options as { include_usage?: boolean } | undefined)?.include_usage;
    const send = (sent: object) => client.chat.completions.create(sent, ...rest);
    const begin = async (): Promise<SentCall> => {
      const given = (params.messages ?? []) as ChatMessage[];
      const fitted = await fitCall(guard, given, { params, ask, signal: signalIn(rest) }, options);
      if (fitted.conversation === undefined) return { call: send(params), watch: undefined };
      const watch = watchOf(
        fitted,
        { model: String(params.model), signal: signalIn(rest) },
        asked === undefined,
      );
      const system = fitted.system.map((content): ChatMessage => ({ role: "system", content }));
      const sent: Record<string, unknown> = { ...params, messages: [...system, ...fitted.messages] };
      // Streams report usage only on request.
      if (streamed && asked === undefined && takesUsage) {
        const stream_options = { ...(params.stream_options as object | undefined), include_usage: true };
        const call = send({ ...sent, stream_options });
        takesUsage = await call.asResponse().then(
          () => true,
          (error: unknown) => !refuses(error, /stream_options|include_usage/),
        );
        if (takesUsage) return { call, watch };
      }
      return { call: send(sent), watch };
    };
    return new GuardedCall(begin(), streamed);
  };
  const members = {
    create,
    // The helpers call `create` of this client.
    get _client() {
      return guarded;
    },
  };
  const completions = withOverrides(client.chat.completions, members, "proxy");
  const guarded: C = withOverrides(client, {
    ...rewrapping(client, (other) => guardChat(other, guard, options)),
    chat: withOverrides(client.chat, { completions }),
  });
  return guarded;
}

function askChat(client: ChatClient): AskModel {
  return async (model, { system, prompt, maxTokens, signal }) => {
    const messages = [
      { role: "system", content: system },
      { role: "user", content: prompt },
    ];
    const ask = (limit: object) => client.chat.completions.create({ model, messages, ...limit }, { signal });
    const answer = await ask({ max_completion_tokens: maxTokens }).catch((error: unknown) => {
      // Older servers know the older name alone.
      if (!refuses(error, /max_completion_tokens/)) throw error;
      return ask({ max_tokens: maxTokens });
    });
    return { answer, text: String(answer?.choices?.[0]?.message?.content ?? "") };
  };
}

/** @param hideUsage hide the chunk that is sent for `include_usage` alone */
function watchOf(
  fitted: FittedCall<ChatMessage>,
  facts: { model: string; signal: AbortSignal | undefined },
  hideUsage: boolean,
): AnswerWatch {
  const { model } = facts;
  let last: unknown;
  return {
    onAnswer: (answer) => fitted.observe(answer, { model }),
    onError: onFailure(fitted, facts),
    onChunk(chunk) {
      const { usage, choices } = chunk as { usage?: unknown; choices?: unknown[] };
      if (usage != null || last === undefined) last = chunk;
      return hideUsage && usage != null && choices?.length === 0 ? "hide" : undefined;
    },
    onEnd: () => fitted.observe(last, { model }),
  };
}

/** True if a server refuses a request because of an option that it does not know. */
function refuses(error: unknown, option: RegExp): boolean {
  const { status, message } = error as { status?: number; message?: string };
  return (status === 400 || status === 422) && option.test(message ?? "");
}
