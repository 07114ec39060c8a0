import type { PromptRefusal } from "@plimsoll/fold";
import { Conversation } from "../conversation/conversation.ts";
import { currentConversation } from "../conversation/current-conversation.ts";
import type { ObserveFacts, Prepared } from "../conversation/types.ts";
import { GuardError, noRestartLeft, promptTooLong } from "../error.ts";
import { type FitOptions, fit } from "../fit.ts";
import type { Guard } from "../guard.ts";
import { checkFitOptions } from "../policy/check-options.ts";
import type { TextModel, TextRequest } from "../summary/summarizer.ts";
import { plainShape } from "../view/shape.ts";
import { modelNames } from "./model-names.ts";
import { overflowOf } from "./overflow.ts";

/** Options of an adapter. */
export interface AdapterOptions<M> extends FitOptions<M> {
  /**
   * Returns the key of the conversation that a call belongs to, from the call's parameters. Without it, or if it returns
   * `undefined`, the guard takes the key of `withConversation`, or finds the conversation by the messages.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each client has parameters of its own
  conversation?: (params: any) => string | undefined;
  /**
   * What to do with a call that must not be sent: no restart is left, nobody confirmed one, or the prompt does not fit.
   * `throw` a {@link GuardError} without sending, or `send` the call anyway. Default: `throw`.
   */
  onStop?: "throw" | "send";
}

/** Options of a wrapped client. */
export interface ClientOptions<M> extends Omit<AdapterOptions<M>, "summaryModel"> {
  /**
   * Asks a model for the summary, with the guard's own prompt, if there is no `summarize`: the name of a model that the
   * wrapped client itself is asked for, such as a smaller one, or a function. Without this and `summarize`, the guard never
   * summarises.
   */
  summaryModel?: string | TextModel;
}

/** What a client is wrapped with. With a conversation, every call belongs to it. */
export type Guarded<M> = Guard<M> | Conversation<M>;

/**
 * Checks what an adapter is called with.
 * @param shape name of the shape that its messages need
 * @throws {GuardError} `invalid_option`
 */
export function checkAdapter<M>(guard: Guarded<M>, shape: string, options: object): void {
  const given = guard instanceof Conversation ? guard.shape : guard?.options?.shape;
  if (given === undefined || (given as unknown) === plainShape)
    throw new GuardError("invalid_option", `shape: is missing. Pass ${shape} as shape to createGuard.`);
  checkFitOptions(options);
}

/** A call whose messages were fitted. */
export interface FittedCall<M> {
  /** Undefined for a side call, which is sent as it came. */
  conversation: Conversation<M> | undefined;
  messages: readonly M[];
  /** Texts for the system prompt. */
  system: readonly string[];
  /** Records the answer. Without a usable count, the turn counts with the estimate of its prompt. */
  observe(answer: unknown, facts?: ObserveFacts): void;
  /** Learns the window from an error that names it. */
  refused(error: unknown): void;
}

/** Parameters of all clients that the model reads beside the messages. */
const BESIDES = [
  "system",
  "instructions",
  "tools",
  "functions",
  "response_format",
  "responseFormat",
  "output_config",
  "text",
  "format",
] as const;

/** Where the clients have the limit of the answer. Thoughts count towards it. */
const LIMITS = [
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"],
  ...["num_predict", "numPredict", "maxTokens", "budget_tokens", "thinkingBudget"],
];
const LIMITS_IN = ["options", "config", "thinking", "thinkingConfig"];

/** Most tokens of the answer that the parameters or the client's model allow. Undefined if they set no limit. */
function outputTokens(...sources: readonly unknown[]): number | undefined {
  const found: number[] = [];
  for (const source of sources) {
    if (typeof source !== "object" || source === null) continue;
    const fields = source as Record<string, unknown>;
    const limits = LIMITS.map((name) => fields[name]);
    found.push(...limits.filter((one): one is number => Number.isInteger(one) && (one as number) > 0));
    const inner = outputTokens(...LIMITS_IN.map((name) => fields[name]));
    if (inner !== undefined) found.push(inner);
  }
  return found.length === 0 ? undefined : Math.max(...found);
}

/** Asks a model of the client for a text. Returns the answer, which is counted, and the text in it. */
export type AskModel = (model: string, request: TextRequest) => Promise<{ answer: unknown; text: string }>;

/** What is known of a call. */
export interface CallFacts<M> {
  params: unknown;
  /** The client's object of the model, if the parameters do not name the model. */
  model?: unknown;
  /** Undefined for a client that cannot be asked. */
  ask?: AskModel;
  /** The caller's signal. */
  signal?: AbortSignal | undefined;
  /** Called with the conversation before its messages are fitted. */
  begin?: (conversation: Conversation<M>) => void;
}

/** The signal in the request options that follow the parameters of a call. */
export const signalIn = (rest: readonly unknown[]): AbortSignal | undefined =>
  (rest[0] as { signal?: AbortSignal } | undefined)?.signal;

/**
 * Finds the conversation of a call and fits its messages.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 */
export async function fitCall<M>(
  guard: Guarded<M>,
  messages: readonly M[],
  { params, model, ask, signal, begin }: CallFacts<M>,
  options: ClientOptions<M>,
): Promise<FittedCall<M>> {
  const key = options.conversation?.(params);
  // Such as a stored prompt. An empty list must not count as a reset history.
  if (messages.length === 0) return unfittedCall(storedConversation(guard, {}, key));
  const conversation = conversationOf(guard, messages, key);
  if (conversation === undefined) return unfittedCall(conversation, messages);
  begin?.(conversation);
  const besides = BESIDES.map((name) => (params as Record<string, unknown>)[name]);
  const models = modelNames(model, params, options.model);
  const prepared = await fitOrThrow(conversation, messages, {
    ...options,
    besides,
    model: models.length === 0 ? undefined : models,
    outputTokens: options.outputTokens ?? outputTokens(params, model) ?? 0,
    signal: signal ?? options.signal,
    summaryModel: textModel(conversation, options.summaryModel, ask),
  });
  return measured(conversation, prepared);
}

/** The function that asks for summaries. The call of a client's own model is counted as one for a summary. */
function textModel<M>(
  conversation: Conversation<M>,
  model: string | TextModel | undefined,
  ask: AskModel | undefined,
): TextModel | undefined {
  if (typeof model !== "string") return model;
  if (ask === undefined) return undefined;
  return async (request) => {
    const { answer, text } = await ask(model, request);
    conversation.observe(answer, { model, purpose: "compaction", answered: true });
    return text;
  };
}

/** A call that is sent as it came and only measured, because the guard cannot see its history. */
export function unfittedCall<M>(
  conversation: Conversation<M> | undefined,
  messages: readonly M[] = [],
): FittedCall<M> {
  const given = { messages, system: [], sent: undefined };
  return conversation === undefined
    ? { conversation, ...given, observe() {}, refused() {} }
    : measured(conversation, given);
}

/** Finds the conversation of a call by its key or its messages; undefined for a side call. */
export function conversationOf<M>(
  guard: Guarded<M>,
  messages: readonly M[],
  key: string | undefined,
): Conversation<M> | undefined {
  return guard instanceof Conversation ? guard : guard.route(messages, key);
}

/** Measures the first answer that it gets, because a caller can read the same answer in several ways. */
function measured<M>(
  conversation: Conversation<M>,
  { messages, system, sent }: { messages: readonly M[]; system: readonly string[]; sent: number | undefined },
): FittedCall<M> {
  const began = Date.now();
  let observed = false;
  return {
    conversation,
    messages,
    system,
    observe(answer, facts) {
      if (observed) return;
      observed = true;
      conversation.observe(answer, { durationMs: Date.now() - began, answered: true, sent, ...facts });
    },
    refused(error) {
      const overflow = overflowOf(error);
      if (overflow !== undefined) learn(conversation, overflow, sent);
    },
  };
}

/** Takes and reports the window and the count of the prompt that a server named when it refused the prompt. */
function learn<M>(conversation: Conversation<M>, overflow: PromptRefusal, sent: number | undefined): void {
  const { windowTokens, promptTokens, excessTokens } = overflow;
  const level = conversation.read().level?.tokens;
  const window = excessTokens === undefined ? windowTokens : level !== undefined && level - excessTokens;
  if (typeof window === "number") conversation.reportWindow(window);
  const { asked, model } = conversation.state;
  const name = asked[0] ?? model;
  if (windowTokens !== undefined && name !== undefined)
    conversation.note({
      type: "prompt_refused",
      model: name,
      context_window: windowTokens,
      ...(promptTokens !== undefined && { prompt_tokens: promptTokens }),
    });
  if (promptTokens !== undefined && conversation.state.sent === sent) conversation.counted(promptTokens);
}

/** What is known of a call that was sent. */
interface SentFacts {
  /** The caller's. */
  signal: AbortSignal | undefined;
  model: string | undefined;
}

/**
 * What to do if a call fails. Create it before the call is sent: one that its caller aborts later counts as well, because the
 * server has received it.
 */
export function onFailure(
  fitted: Pick<FittedCall<unknown>, "observe" | "refused">,
  { signal, model }: SentFacts,
): (error: unknown) => void {
  const isAborted = () => signal?.aborted === true;
  const isSent = !isAborted();
  return (error) => {
    if (isSent && isAborted()) fitted.observe(undefined, { model });
    else fitted.refused(error);
  };
}

/** Waits for the answer of a call. */
export async function answerOf<T>(
  call: PromiseLike<T>,
  fitted: Pick<FittedCall<unknown>, "observe" | "refused"> | undefined,
  facts: SentFacts,
): Promise<T> {
  const failed = fitted && onFailure(fitted, facts);
  try {
    return await call;
  } catch (error) {
    failed?.(error);
    throw error;
  }
}

/** Where the server stores the history of a call. */
export interface StoredHistory {
  /** The id of a conversation on the server. */
  conversation?: string | undefined;
  /** The id of the answer that the call continues. */
  previous?: string | undefined;
}

/** Finds the conversation of a call whose history is on the server: by its key, or by the ids of the server. */
export function storedConversation<M>(
  guard: Guarded<M>,
  { conversation, previous }: StoredHistory,
  key = currentConversation(),
): Conversation<M> | undefined {
  if (guard instanceof Conversation) return guard;
  if (key !== undefined) return guard.conversation(key);
  const known = previous === undefined ? undefined : guard.ofAnswer(previous);
  const id = conversation ?? previous;
  return known ?? (id === undefined ? undefined : guard.conversation(id));
}

/**
 * Prepares the messages to send.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 */
export async function fitOrThrow<M>(
  conversation: Conversation<M>,
  messages: readonly M[],
  options: AdapterOptions<M>,
): Promise<Prepared<M>> {
  const prepared = await fit(conversation, messages, options);
  const { actions } = prepared;
  const stop = actions.find((action) => action.type === "stop");
  if (stop !== undefined) {
    options.say?.(stop.say);
    if (options.onStop !== "send") {
      throw stop.reason === "too_long"
        ? promptTooLong(prepared.level.tokens, conversation.read().windowTokens)
        : noRestartLeft(conversation.policy.restart?.max ?? 0);
    }
  }
  const asked = actions.find((action) => action.type === "confirm_restart");
  const restarted = actions.some((action) => action.type === "restart");
  if (asked?.reason === "window_full" && !restarted && options.onStop !== "send") {
    throw new GuardError(
      "restart_unconfirmed",
      `The call was not sent: its prompt of about ${prepared.level.tokens} tokens no longer fits, and the restart it ` +
        `needs was not confirmed. Pass confirm, call restart() of the conversation, or pass onStop: "send" to send the call anyway.`,
    );
  }
  return prepared;
}

/** The `withOptions` of a wrapped client, if the client has one: it wraps the client that it returns. */
export function rewrapping<C extends object>(client: C, wrap: (other: C) => C): object {
  const { withOptions } = client as { withOptions?: unknown };
  if (typeof withOptions !== "function") return {};
  return { withOptions: (...given: unknown[]) => wrap(Reflect.apply(withOptions, client, given) as C) };
}

/**
 * Returns a proxy of `target` with some members replaced. Methods run on `target`, so private fields work; with
 * `runOn: "proxy"` they run on the proxy, so helpers such as `stream` call the members that replace others.
 */
export function withOverrides<T extends object>(
  target: T,
  members: object,
  runOn: "target" | "proxy" = "target",
): T {
  return new Proxy(target, {
    get(object, key, proxy) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === "function" ? value.bind(runOn === "proxy" ? proxy : object) : value;
    },
  });
}
