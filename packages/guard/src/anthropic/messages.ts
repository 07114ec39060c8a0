import { Guard } from "../guard.ts";
import { joinedContent } from "../view/shape.ts";
import { type AnswerWatch, GuardedCall, type SentCall } from "../wrapped-client/guarded-call.ts";
import { storedCall } from "../wrapped-client/stored-call.ts";
import {
  type AskModel,
  type ClientOptions,
  checkAdapter,
  conversationOf,
  type FittedCall,
  fitCall,
  type Guarded,
  onFailure,
  rewrapping,
  signalIn,
  storedConversation,
  unfittedCall,
  withOverrides,
} from "../wrapped-client/wrapped-client.ts";
import type { AnthropicMessage } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
type AnyFunction = (...args: any[]) => any;

/** The resource with the calls of the Messages API. */
interface MessagesResource {
  create: AnyFunction;
  toolRunner?: AnyFunction;
  thread?: AnyFunction;
}

/** The part of the `@anthropic-ai/sdk` client that the guard uses. */
export interface MessagesClient {
  messages: MessagesResource;
  beta?: { messages?: MessagesResource };
}

/**
 * Wraps `messages` and `beta.messages`: `create`, and the helpers `parse`, `stream` and `toolRunner`, which call it. The
 * guard fits the messages before each call and reads the usage of each answer, streamed or not. A call that continues a
 * thread on the server is only measured. `withOptions` returns a client with the same guard. Create the guard with
 * {@link anthropicShape}.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`. `stream`
 * rejects with an `AnthropicError` whose `cause` is the GuardError.
 * @example
 * const anthropic = guardMessages(new Anthropic(), guard);
 * await anthropic.messages.create({ model: "claude-opus-5", max_tokens: 1_000, messages });
 */
export function guardMessages<C extends MessagesClient>(
  client: C,
  guard: Guarded<AnthropicMessage>,
  options: ClientOptions<AnthropicMessage> = {},
): C {
  checkAdapter(guard, "anthropicShape", options);
  const wrap = (resource: MessagesResource) => {
    const members = {
      create: guardedCreate(resource, guard, options),
      // With a thread, the runner's history would be on the server, where the guard cannot shorten it.
      ...(resource.thread && {
        toolRunner: (params: object, ...rest: unknown[]) =>
          Reflect.apply(resource.toolRunner!, wrapped, [{ ...params, thread: false }, ...rest]),
      }),
      // The helpers call `create` of this client.
      get _client() {
        return guarded;
      },
    };
    const wrapped: MessagesResource = withOverrides(resource, members, "proxy");
    return wrapped;
  };
  const { messages, beta } = client;
  const guarded: C = withOverrides(client, {
    ...rewrapping(client, (other) => guardMessages(other, guard, options)),
    messages: wrap(messages),
    ...(beta?.messages && { beta: withOverrides(beta, { messages: wrap(beta.messages) }) }),
  });
  return guarded;
}

function guardedCreate(
  resource: MessagesResource,
  guard: Guarded<AnthropicMessage>,
  options: ClientOptions<AnthropicMessage>,
) {
  return (params: Record<string, unknown>, ...rest: unknown[]) => {
    const begin = async (): Promise<SentCall> => {
      const fitted = await fitParams(resource, guard, params, signalIn(rest), options);
      const { messages, system } = fitted;
      const sent = {
        ...params,
        ...(messages.length > 0 && { messages }),
        ...(system.length > 0 && { system: withTexts(params.system, system) }),
      };
      const watch = fitted.conversation && watchOf(fitted, params, guard, signalIn(rest));
      return { call: resource.create(sent, ...rest), watch };
    };
    return new GuardedCall(begin(), params.stream === true);
  };
}

function askMessages(resource: MessagesResource): AskModel {
  return async (model, { system, prompt, maxTokens, signal }) => {
    const messages = [{ role: "user", content: prompt }];
    const answer = await resource.create({ model, system, messages, max_tokens: maxTokens }, { signal });
    const blocks: { text?: unknown }[] = answer?.content ?? [];
    return { answer, text: blocks.map(({ text }) => (typeof text === "string" ? text : "")).join("") };
  };
}

/** Fits the messages of a call, unless its history is on the server or it asks the server for a summary. */
async function fitParams(
  resource: MessagesResource,
  guard: Guarded<AnthropicMessage>,
  params: Record<string, unknown>,
  signal: AbortSignal | undefined,
  options: ClientOptions<AnthropicMessage>,
): Promise<FittedCall<AnthropicMessage>> {
  const messages = (params.messages ?? []) as AnthropicMessage[];
  const key = options.conversation?.(params);
  const previous = (params.thread as { previous_message_id?: string } | null | undefined)
    ?.previous_message_id;
  if (previous !== undefined)
    return storedCall(storedConversation(guard, { previous }, key), messages, options);
  if (!asksForSummary(params))
    return fitCall(guard, messages, { params, ask: askMessages(resource), signal }, options);
  const conversation = conversationOf(guard, messages, key);
  return unfittedCall(conversation, conversation?.view(messages) ?? messages);
}

/** The answer to such a call is a summary of its messages. */
const asksForSummary = ({ compaction }: Record<string, unknown>) => compaction != null;

interface AnswerHead {
  id?: string;
  model?: string;
  usage?: object;
}

function watchOf(
  fitted: FittedCall<AnthropicMessage>,
  params: Record<string, unknown>,
  guard: Guarded<AnthropicMessage>,
  signal: AbortSignal | undefined,
): AnswerWatch {
  const { conversation, observe, refused } = fitted;
  const purpose = asksForSummary(params) ? ({ purpose: "compaction" } as const) : {};
  const counted: Pick<typeof fitted, "observe" | "refused"> = {
    observe: (answer, facts) => observe(answer, { ...facts, ...purpose }),
    refused,
  };
  const onAnswer = (answer: unknown) => {
    const { id } = (answer ?? {}) as AnswerHead;
    if (params.thread != null && id !== undefined && guard instanceof Guard && conversation)
      guard.answered(id, conversation);
    observe(answer, { model: String(params.model), ...purpose });
  };
  let started: AnswerHead | undefined;
  let usage: object = {};
  let edited: object = {};
  return {
    onAnswer,
    onError: onFailure(counted, { model: String(params.model), signal }),
    // The API reports input tokens at the start of the stream and output tokens at the end.
    onChunk(chunk) {
      const event = chunk as {
        type?: string;
        message?: AnswerHead;
        usage?: object;
        context_management?: object;
      };
      if (event.context_management != null) edited = { context_management: event.context_management };
      if (event.type === "message_start") started = event.message;
      if (event.type === "message_start" || event.type === "message_delta")
        usage = { ...usage, ...known(event.message?.usage), ...known(event.usage) };
      return undefined;
    },
    onEnd: () => onAnswer({ id: started?.id, model: started?.model, usage, ...edited }),
  };
}

/** Adds texts to a system prompt, which is a text or a list of blocks. */
function withTexts(system: unknown, texts: readonly string[]): unknown {
  return joinedContent(system, texts.join("\n\n"), "after", (text) => ({ type: "text", text }));
}

function known(usage: object | undefined): object {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value != null));
}
