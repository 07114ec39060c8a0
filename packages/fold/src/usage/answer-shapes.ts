import {
  type CountedUsage,
  type CountReader,
  fieldsOf,
  type JsonFields,
  pathsIn,
  readCounts,
  type UsageShape,
} from "./usage-shape.ts";

// What APIs and SDKs answer. Each row names where its meaning is documented, or the code that was read.

/** Anthropic's names for what was written to a cache, by how long it lives. Libraries pass them on. */
const MINUTES = "ephemeral_5m_input_tokens";
const HOUR = "ephemeral_1h_input_tokens";
const READ = "cache_read_input_tokens";
const WRITTEN = "cache_creation_input_tokens";
const BY_LIFE = "cache_creation";
/** Where OpenAI has the parts of a prompt. */
const PROMPT = "prompt_tokens_details";
const CACHED = `${PROMPT}.cached_tokens`;

/** platform.claude.com/docs, "Prompt caching": the input excludes both. Also on Bedrock (InvokeModel) and Vertex. */
export const ANTHROPIC = {
  name: "anthropic",
  cache: "outside",
  input: ["input_tokens"],
  cacheRead: [READ],
  cacheWrite: [WRITTEN],
  cacheWriteMinutes: [`${BY_LIFE}.${MINUTES}`],
  cacheWriteHour: [`${BY_LIFE}.${HOUR}`],
  output: ["output_tokens"],
} as const satisfies UsageShape;

/**
 * platform.openai.com/docs, "Prompt caching". The same names from DeepSeek, Moonshot, xAI (reasoning beside the completion, which
 * its total shows), OpenRouter and Vercel's gateway; LiteLLM adds Anthropic's names, and its prompt includes both. Alibaba has what an
 * explicit cache wrote among the parts of the prompt (alibabacloud.com/help/en/model-studio/context-cache).
 */
export const OPENAI_CHAT = {
  name: "openai_chat",
  cache: "inside",
  input: ["prompt_tokens"],
  cacheRead: [CACHED, "cached_tokens", "prompt_cache_hit_tokens", READ],
  cacheWrite: [
    `${PROMPT}.cache_write_tokens`,
    `${PROMPT}.cache_creation_tokens`,
    `${PROMPT}.${WRITTEN}`,
    WRITTEN,
  ],
  cacheWriteHour: [`${PROMPT}.cache_creation_token_details.${HOUR}`],
  output: ["completion_tokens"],
  reasoning: ["completion_tokens_details.reasoning_tokens"],
  total: ["total_tokens"],
} as const satisfies UsageShape;

/** platform.openai.com/docs, "Responses". Alibaba's DashScope and its Responses have the parts under the name of the other API. */
export const OPENAI_RESPONSES = {
  name: "openai_responses",
  cache: "inside",
  input: ["input_tokens"],
  cacheRead: ["input_tokens_details.cached_tokens", CACHED],
  cacheWrite: ["input_tokens_details.cache_write_tokens", `${PROMPT}.${WRITTEN}`],
  output: ["output_tokens"],
  reasoning: ["output_tokens_details.reasoning_tokens"],
  total: ["total_tokens"],
} as const satisfies UsageShape;

/**
 * `UsageMetadata` of LangChain: the input is the sum of all types. LangChain.js counted caches of streams twice
 * (langchainjs#10249). OpenAI's Realtime API has the same names. langchain-anthropic sets `cache_creation` to 0 beside its parts.
 */
export const LANGCHAIN = {
  name: "langchain",
  cache: "inside",
  input: ["input_tokens"],
  cacheRead: ["input_token_details.cache_read", "input_token_details.cached_tokens"],
  cacheWrite: ["input_token_details.cache_creation"],
  cacheWriteMinutes: [`input_token_details.${MINUTES}`],
  cacheWriteHour: [`input_token_details.${HOUR}`],
  output: ["output_tokens"],
  reasoning: ["output_token_details.reasoning"],
  total: ["total_tokens"],
} as const satisfies UsageShape;

/** docs.aws.amazon.com, `TokenUsage` of Converse, whose total includes the cache; Nova's InvokeModel has other names. */
export const BEDROCK = {
  name: "bedrock",
  cache: "outside",
  input: ["inputTokens"],
  cacheRead: ["cacheReadInputTokens", "cacheReadInputTokenCount"],
  cacheWrite: ["cacheWriteInputTokens", "cacheWriteInputTokenCount"],
  cacheWriteHour: ["cacheDetails"],
  output: ["outputTokens"],
  total: ["totalTokens"],
} as const satisfies UsageShape;

/**
 * AI SDK 6 and 7: all providers count alike, in a flat form or that of a language model. Versions 4 and 5 count as the provider does,
 * and have what was written in its metadata, version 4 also what was read; their total is input and output (vercel/ai#8795, #9921; `@ai-sdk/anthropic` 2).
 */
export const AI_SDK = {
  name: "ai_sdk",
  cache: "inside",
  input: ["inputTokens.total", "inputTokens", "promptTokens"],
  cacheRead: [
    "inputTokens.cacheRead",
    "inputTokenDetails.cacheReadTokens",
    "cachedInputTokens",
    "anthropic.cacheReadInputTokens",
    "bedrock.usage.cacheReadInputTokens",
  ],
  cacheWrite: [
    "inputTokens.cacheWrite",
    "inputTokenDetails.cacheWriteTokens",
    "anthropic.cacheCreationInputTokens",
    "bedrock.usage.cacheWriteInputTokens",
  ],
  output: ["outputTokens.total", "outputTokens", "completionTokens"],
  reasoning: ["outputTokens.reasoning", "outputTokenDetails.reasoningTokens", "reasoningTokens"],
} as const satisfies UsageShape;

/**
 * ai.google.dev and Vertex, `UsageMetadata` and the Interactions API: results of the provider's own tools and thoughts are counted
 * beside.
 */
export const GEMINI = {
  name: "gemini",
  cache: "inside",
  input: ["promptTokenCount", "total_input_tokens"],
  besideInput: ["toolUsePromptTokenCount", "total_tool_use_tokens"],
  cacheRead: ["cachedContentTokenCount", "total_cached_tokens"],
  output: ["candidatesTokenCount", "responseTokenCount", "total_output_tokens"],
  reasoning: ["thoughtsTokenCount", "total_thought_tokens"],
  reasoningBeside: true,
  total: ["totalTokenCount", "total_tokens"],
} as const satisfies UsageShape;

/** Ollama 0.4 and later; 0.30.0 counts only new tokens, which its answer does not tell (ollama#16414). */
export const OLLAMA = {
  name: "ollama",
  cache: "inside",
  input: ["prompt_eval_count"],
  cacheRead: ["prompt_eval_cached_count"],
  output: ["eval_count"],
} as const satisfies UsageShape;

/** Plimsoll's own, whose `basis` says it. */
export const PROTOCOL = {
  name: "protocol",
  cache: "disputed",
  input: ["input_tokens"],
  cacheRead: ["cache_read_tokens"],
  cacheWrite: ["cache_write_tokens"],
  cacheWriteHour: ["cache_write_1h_tokens"],
  output: ["output_tokens"],
  reasoning: ["reasoning_tokens"],
} as const satisfies UsageShape;

export interface AnswerUsage extends CountedUsage {
  shape: AnswerShape;
}

/**
 * Reads a usage object of any API or SDK in the table; undefined if it is none.
 * @param metadata what the AI SDK calls `providerMetadata`
 */
export function readAnswer(usage: JsonFields, metadata?: unknown): AnswerUsage | undefined {
  const shape = shapeOf(usage);
  if (shape === undefined) return undefined;
  const counted =
    shape === AI_SDK ? readAiSdk(pathsIn(usage), metadata) : readCounts(shape, pathsIn(lastMessage(usage)));
  return { ...counted, shape: shape.name };
}

/** Names of the formats that `readAnswer` recognises. */
export type AnswerShape = NonNullable<ReturnType<typeof shapeOf>>["name"];

function shapeOf(usage: JsonFields) {
  const has = (...names: string[]) => names.some((name) => name in usage);
  if (has("prompt_tokens")) return OPENAI_CHAT;
  if (has("prompt_eval_count", "eval_count")) return OLLAMA;
  if (has(...GEMINI.input)) return GEMINI;
  if (has(...BEDROCK.cacheRead, ...BEDROCK.cacheWrite)) return BEDROCK;
  if (has("inputTokens", "promptTokens")) return AI_SDK;
  if (!has("input_tokens", "iterations")) return undefined;
  if (has("basis")) return { ...PROTOCOL, cache: PLACES[String(usage.basis)] ?? PROTOCOL.cache };
  if (has(...PROTOCOL.cacheRead, ...PROTOCOL.cacheWrite)) return PROTOCOL;
  if (has(READ, WRITTEN, BY_LIFE, "iterations")) return ANTHROPIC;
  if (has("input_tokens_details", PROMPT)) return OPENAI_RESPONSES;
  return has("input_token_details") ? LANGCHAIN : PROTOCOL;
}

const PLACES: Readonly<Record<string, UsageShape["cache"]>> = { inclusive: "inside", exclusive: "outside" };

/**
 * Reads the usage of a call of any version of the AI SDK.
 * @param metadata `providerMetadata`. It may hold the provider's own counts, which are right in every version
 * @param provider such as `anthropic.messages`
 */
export function readAiSdk(get: CountReader, metadata: unknown, provider = ""): CountedUsage {
  const inMetadata = pathsIn(metadata);
  const isNew = (get("inputTokenDetails") ?? get("inputTokens.total")) !== undefined;
  const excludes = /anthropic|bedrock/.test([provider, ...Object.keys(fieldsOf(metadata) ?? {})].join());
  const cache = isNew ? "inside" : excludes ? "outside" : "disputed";
  // Elsewhere it shows that thoughts are beside the output, as version 5 has them from Google.
  const total = excludes ? [] : ["totalTokens"];
  const own = readCounts({ ...AI_SDK, cache, total }, (name) => get(name) ?? inMetadata(name));
  const raw = fieldsOf(inMetadata("anthropic.usage")) ?? {};
  const { usage, evidence } = readCounts(ANTHROPIC, pathsIn(lastMessage(raw)));
  if (usage.input_tokens === undefined) return own;
  const { output_tokens, reasoning_tokens } = own.usage;
  return { usage: { ...usage, output_tokens, reasoning_tokens }, evidence };
}

/** With server-side compaction an answer has several calls. The last message shows what the window holds. */
export function lastMessage(usage: JsonFields): JsonFields {
  const { iterations } = usage;
  const calls = Array.isArray(iterations) ? iterations.map(fieldsOf) : [];
  return calls.findLast((call) => call?.type === "message") ?? usage;
}
