import { GuardError } from "../error.ts";
import {
  type AskModel,
  answerOf,
  type ClientOptions,
  checkAdapter,
  type FittedCall,
  fitCall,
  type Guarded,
  unfittedCall,
  withOverrides,
} from "../wrapped-client/wrapped-client.ts";
import type { GeminiContent } from "./shape.ts";

export { type GeminiContent, geminiShape } from "./shape.ts";

/** The part of a `GoogleGenAI` client that the guard uses. */
export interface GeminiClient {
  models: object;
  chats: object;
}

interface GeminiParams {
  model: string;
  contents: unknown;
  config?: Record<string, unknown> & { abortSignal?: AbortSignal };
}

/** The requests that `generateContent`, its stream, chats and automatic function calls end in. */
interface ModelsModule {
  apiClient: unknown;
  generateContentInternal(params: GeminiParams): Promise<unknown>;
  generateContentStreamInternal(params: GeminiParams): Promise<AsyncIterable<unknown>>;
}

/**
 * Wraps `models.generateContent`, `models.generateContentStream` and `chats`. It fits the contents before each request and
 * reads the usage of each answer. Each request of automatic function calling and of automatic continuation is one call.
 * Create the guard with {@link geminiShape}.
 * @throws {GuardError} `unsupported_client` if the client has another structure. From a call: `max_restarts`,
 * `restart_unconfirmed` or `prompt_too_long`, unless `onStop` is `send`.
 * @example
 * const gemini = guardGemini(new GoogleGenAI({ apiKey }), guard);
 * await gemini.models.generateContent({ model: "gemini-3.8-flash", contents: "Hello" });
 */
export function guardGemini<C extends GeminiClient>(
  client: C,
  guard: Guarded<GeminiContent>,
  options: ClientOptions<GeminiContent> = {},
): C {
  checkAdapter(guard, "geminiShape", options);
  const given = client.models as ModelsModule;
  if (
    typeof given.generateContentInternal !== "function" ||
    typeof given.generateContentStreamInternal !== "function"
  )
    throw new GuardError("unsupported_client", UNSUPPORTED);
  const fitting = new Fitting(guard, askModels(given), options);
  // Loops inside the module call these two methods on the module itself, so it must be one of its own.
  const models = Object.assign(sameModule(given, given.apiClient), {
    async generateContentInternal(params: GeminiParams) {
      const { fitted, sent } = await fitting.begin(params);
      const answer = await answerOf(given.generateContentInternal(sent), fitted, factsOf(params));
      fitted.observe(answer, { model: params.model });
      return answer;
    },
    async generateContentStreamInternal(params: GeminiParams) {
      const { fitted, sent } = await fitting.begin(params);
      const stream = await answerOf(given.generateContentStreamInternal(sent), fitted, factsOf(params));
      return watched(stream, (last) => fitted.observe(last, { model: params.model }));
    },
  });
  return withOverrides(client, { models, chats: sameModule(client.chats, models, given.apiClient) });
}

const UNSUPPORTED =
  "The client's models have no generateContentInternal and generateContentStreamInternal. " +
  "Use @google/genai 3.1 or later, or call fit and observe yourself.";

const factsOf = ({ model, config }: GeminiParams) => ({ model, signal: config?.abortSignal });

/** Asks a model of the client for a summary. */
function askModels(models: ModelsModule): AskModel {
  return async (model, { system, prompt, maxTokens, signal }) => {
    const config = { systemInstruction: system, maxOutputTokens: maxTokens, abortSignal: signal };
    const contents = [{ role: "user", parts: [{ text: prompt }] }];
    const answer = await models.generateContentInternal({ model, contents, config });
    return { answer, text: (answer as { text?: string }).text ?? "" };
  };
}

/** Another module of the same class. */
function sameModule<T extends object>(module: T, ...args: unknown[]): T {
  return Reflect.construct(module.constructor, args) as T;
}

/** Fits the contents of requests. */
class Fitting {
  readonly #guard: Guarded<GeminiContent>;
  readonly #ask: AskModel;
  readonly #options: ClientOptions<GeminiContent>;
  /** By the contents that were given: a request that continues an answer must send the same again. */
  readonly #calls = new WeakMap<object, FittedCall<GeminiContent>>();

  constructor(guard: Guarded<GeminiContent>, ask: AskModel, options: ClientOptions<GeminiContent>) {
    this.#guard = guard;
    this.#ask = ask;
    this.#options = options;
  }

  async begin(params: GeminiParams): Promise<{ fitted: FittedCall<GeminiContent>; sent: GeminiParams }> {
    const { config = {} } = params;
    const fitted = this.#continued(params) ?? (await this.#fit(params));
    config.abortSignal?.throwIfAborted();
    if (fitted.conversation === undefined) return { fitted, sent: params };
    return {
      fitted,
      sent: { ...params, contents: fitted.messages, ...withTexts(config, fitted.system) },
    };
  }

  #continued({ contents, config }: GeminiParams): FittedCall<GeminiContent> | undefined {
    const { continuationToken } = config ?? {};
    const before = continuationToken == null ? undefined : this.#calls.get(contents as object);
    return before && { ...unfittedCall(before.conversation, before.messages), system: before.system };
  }

  async #fit(params: GeminiParams): Promise<FittedCall<GeminiContent>> {
    const { contents, config } = params;
    const facts = { params: besides(params), ask: this.#ask, signal: config?.abortSignal };
    const fitted = await fitCall(this.#guard, contentsOf(contents), facts, this.#options);
    if (typeof contents === "object" && contents !== null) this.#calls.set(contents, fitted);
    return fitted;
  }
}

/** The parameters under the names that other clients have for what the model reads beside the messages. */
function besides({ model, contents, config = {} }: GeminiParams) {
  const { systemInstruction: system, tools, responseSchema, responseJsonSchema } = config;
  return { model, contents, config, system, tools, format: responseSchema ?? responseJsonSchema };
}

/** Contents in the form that the client sends: one part or several parts are one content of the user. */
function contentsOf(contents: unknown): GeminiContent[] {
  const list = (Array.isArray(contents) ? contents : [contents]).filter((one) => one != null);
  if (list.length === 0) return [];
  if (list.every(isContent)) return list;
  return [{ role: "user", parts: list.map(partOf) }];
}

const isContent = (one: unknown): one is GeminiContent =>
  typeof one === "object" && Array.isArray((one as GeminiContent | null)?.parts);

const partOf = (one: unknown): object => (typeof one === "string" ? { text: one } : (one as object));

/** Adds texts to the system instruction. */
function withTexts(config: Record<string, unknown>, texts: readonly string[]): Pick<GeminiParams, "config"> {
  if (texts.length === 0) return {};
  const said = contentsOf(config.systemInstruction).flatMap(({ parts = [] }) => parts);
  const systemInstruction = { parts: [...said, ...texts.map((text) => ({ text }))] };
  return { config: { ...config, systemInstruction } };
}

/** Passes a stream on. Its last chunk with counts is the usage of the call, also if the caller stops reading. */
async function* watched(stream: AsyncIterable<unknown>, onEnd: (last: unknown) => void) {
  let last: unknown;
  try {
    for await (const chunk of stream) {
      if ((chunk as { usageMetadata?: unknown }).usageMetadata != null) last = chunk;
      yield chunk;
    }
  } finally {
    onEnd(last);
  }
}
