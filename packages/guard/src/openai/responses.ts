import { Guard } from "../guard.ts";
import { type AnswerWatch, GuardedCall, type SentCall } from "../wrapped-client/guarded-call.ts";
import { storedCall } from "../wrapped-client/stored-call.ts";
import {
  type AskModel,
  type ClientOptions,
  checkAdapter,
  type FittedCall,
  fitCall,
  type Guarded,
  onFailure,
  rewrapping,
  type StoredHistory,
  signalIn,
  storedConversation,
  withOverrides,
} from "../wrapped-client/wrapped-client.ts";
import type { InputItem } from "./shape.ts";

// biome-ignore lint/suspicious/noExplicitAny: callers keep the client's own overloads
type AnyFunction = (...args: any[]) => any;

/** The resource with the calls of the Responses API. */
interface ResponsesResource {
  create: AnyFunction;
  retrieve: AnyFunction;
  cancel: AnyFunction;
}

/** The part of the `openai` client that {@link guardResponses} uses. */
export interface ResponsesClient {
  responses: ResponsesResource;
  beta?: { responses?: ResponsesResource };
}

/** Background responses that are not complete, by id. */
type Unfinished = Map<string, ResponseWatch>;

/** Background responses that are waited for. */
const MAX_UNFINISHED = 1_000;

/**
 * Wraps `responses` and `beta.responses`: `create`, and the helpers `parse` and `stream`, which call it. Create the
 * guard with {@link responsesShape}, and pass the whole history as `input`. A call with `previous_response_id` or
 * `conversation` is only measured, because the guard cannot see the history on the server. A response with
 * `background: true` is measured when `retrieve`, `cancel` or a stream returns it complete.
 * @throws {GuardError} `max_restarts`, `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`. `stream`
 * rejects with an `OpenAIError` whose `cause` is the GuardError.
 * @example
 * const openai = guardResponses(new OpenAI(), guard);
 * await openai.responses.create({ model: "gpt-5.1", input: "Hello" });
 */
export function guardResponses<C extends ResponsesClient>(
  client: C,
  guard: Guarded<InputItem>,
  options: ClientOptions<InputItem> = {},
): C {
  checkAdapter(guard, "responsesShape", options);
  return wrapped(client, guard, options, new Map());
}

function wrapped<C extends ResponsesClient>(
  client: C,
  guard: Guarded<InputItem>,
  options: ClientOptions<InputItem>,
  unfinished: Unfinished,
): C {
  const wrap = (resource: ResponsesResource) => {
    const members = {
      ...guardedCreate(resource, guard, options, unfinished),
      ...guardedReads(resource, unfinished),
      // The helpers call `create` and `retrieve` of this client.
      get _client() {
        return guarded;
      },
    };
    return withOverrides(resource, members, "proxy");
  };
  const { responses, beta } = client;
  const guarded: C = withOverrides(client, {
    ...rewrapping(client, (other) => wrapped(other, guard, options, unfinished)),
    responses: wrap(responses),
    ...(beta?.responses && { beta: withOverrides(beta, { responses: wrap(beta.responses) }) }),
  });
  return guarded;
}

function guardedCreate(
  resource: ResponsesResource,
  guard: Guarded<InputItem>,
  options: ClientOptions<InputItem>,
  unfinished: Unfinished,
) {
  const create = (params: Record<string, unknown>, ...rest: unknown[]) => {
    const begin = async (): Promise<SentCall> => {
      const { fitted, sent } = await fitParams(resource, guard, params, signalIn(rest), options);
      const background = params.background === true;
      const facts = { model: String(params.model), signal: signalIn(rest), background };
      const watch = fitted.conversation && new ResponseWatch(fitted, facts, guard, unfinished);
      return { call: resource.create(sent, ...rest), watch };
    };
    return new GuardedCall(begin(), params.stream === true);
  };
  return { create };
}

/** The calls that may return a background response when it is complete. */
function guardedReads(resource: ResponsesResource, unfinished: Unfinished) {
  const read =
    (method: "retrieve" | "cancel") =>
    (id: string, ...rest: unknown[]) => {
      const call = resource[method](id, ...rest);
      const watch = unfinished.get(id);
      if (watch === undefined) return call;
      const streamed = (rest[0] as { stream?: boolean } | null | undefined)?.stream === true;
      return new GuardedCall(Promise.resolve({ call, watch }), streamed);
    };
  return { retrieve: read("retrieve"), cancel: read("cancel") };
}

/** Fits the input of a call, unless its history is on the server. */
async function fitParams(
  resource: ResponsesResource,
  guard: Guarded<InputItem>,
  params: Record<string, unknown>,
  signal: AbortSignal | undefined,
  options: ClientOptions<InputItem>,
): Promise<{ fitted: FittedCall<InputItem>; sent: Record<string, unknown> }> {
  const stored = storedHistory(params);
  if (stored !== undefined) {
    const conversation = storedConversation(guard, stored, options.conversation?.(params));
    return { fitted: storedCall(conversation, params.input, options), sent: params };
  }
  const input =
    typeof params.input === "string" ? [{ role: "user", content: params.input }] : (params.input ?? []);
  const fitted = await fitCall(
    guard,
    input as InputItem[],
    { params, ask: askResponses(resource), signal },
    options,
  );
  if (fitted.conversation === undefined || fitted.messages.length === 0) return { fitted, sent: params };
  const instructions = [params.instructions, ...fitted.system].filter((text) => text != null);
  const sent = {
    ...params,
    input: fitted.messages,
    ...(fitted.system.length > 0 && { instructions: instructions.join("\n\n") }),
  };
  return { fitted, sent };
}

function askResponses(resource: ResponsesResource): AskModel {
  return async (model, { system, prompt, maxTokens, signal }) => {
    const asked = { model, instructions: system, input: prompt, max_output_tokens: maxTokens, store: false };
    const answer = await resource.create(asked, { signal });
    return { answer, text: String(answer?.output_text ?? "") };
  };
}

/** Where the server stores the history of a call, if it does. */
function storedHistory(params: Record<string, unknown>): StoredHistory | undefined {
  const { conversation: given, previous_response_id: previous } = params;
  const conversation = typeof given === "string" ? given : (given as { id?: string } | null | undefined)?.id;
  if (conversation === undefined && previous == null) return undefined;
  return { conversation, previous: (previous as string | null) ?? undefined };
}

interface ResponseFacts {
  model: string;
  signal: AbortSignal | undefined;
  background: boolean;
}

/** Measures one response. A background response is measured once it is complete. */
class ResponseWatch implements AnswerWatch {
  readonly #fitted: FittedCall<InputItem>;
  readonly #facts: ResponseFacts;
  readonly #guard: Guarded<InputItem>;
  readonly #unfinished: Unfinished;
  /** Called if the call failed before an answer began. */
  readonly onError: (error: unknown) => void;
  #last: unknown;

  constructor(
    fitted: FittedCall<InputItem>,
    facts: ResponseFacts,
    guard: Guarded<InputItem>,
    unfinished: Unfinished,
  ) {
    this.#fitted = fitted;
    this.#facts = facts;
    this.#guard = guard;
    this.#unfinished = unfinished;
    this.onError = onFailure(fitted, facts);
  }

  onAnswer(response: unknown): void {
    const { id, status } = (response ?? {}) as { id?: unknown; status?: unknown };
    const { model, background } = this.#facts;
    if (typeof id === "string") {
      const { conversation } = this.#fitted;
      if (this.#guard instanceof Guard && conversation) this.#guard.answered(id, conversation);
      if (background && (status === "queued" || status === "in_progress")) {
        this.#wait(id);
        return;
      }
      this.#unfinished.delete(id);
    }
    this.#fitted.observe(response, { model });
  }

  onChunk(chunk: unknown): undefined {
    const { response } = chunk as { response?: unknown };
    if (response != null) this.#last = response;
  }

  onEnd(): void {
    this.onAnswer(this.#last);
  }

  #wait(id: string): void {
    this.#unfinished.set(id, this);
    const [oldest] = this.#unfinished;
    if (this.#unfinished.size <= MAX_UNFINISHED || oldest === undefined) return;
    const [forgotten, watch] = oldest;
    this.#unfinished.delete(forgotten);
    watch.#fitted.observe({ id: forgotten }, { model: watch.#facts.model });
  }
}
