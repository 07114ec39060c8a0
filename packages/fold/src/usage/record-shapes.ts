import type { UsageShape } from "./usage-shape.ts";

// What telemetry and recordings have. Each row names where its meaning is documented, or the code that was read.

/**
 * OpenTelemetry's GenAI conventions up to 1.36 (`prompt_tokens`), 1.37 to 1.41 (`cache_creation`), and semantic-conventions-genai
 * (`cache_write`), with what libraries add. The conventions include the cache; Strands and others pass on what Bedrock counts
 * (strands-agents/sdk-python src/strands/telemetry/tracer.py), with the provider's total. Anthropic's SDK adds how long writes live.
 */
export const GEN_AI = {
  name: "gen_ai",
  cache: "disputed",
  input: ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"],
  cacheRead: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.cache_read_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.prompt_tokens_details.cached_tokens",
    "gen_ai.usage.cached_tokens",
  ],
  cacheWrite: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_tokens",
    "gen_ai.usage.details.cache_write_tokens",
  ],
  cacheWriteHour: ["anthropic.usage.cache_creation.ephemeral_1h_input_tokens"],
  output: ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"],
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "gen_ai.usage.completion_tokens_details.reasoning_tokens",
  ],
  total: ["gen_ai.usage.total_tokens", "llm.usage.total_tokens"],
} as const satisfies UsageShape;

/** OpenLLMetry's instrumentation of Bedrock, whose total is input and output (traceloop/openllmetry bedrock/span_utils.py). */
export const GEN_AI_BEDROCK = { ...GEN_AI, cache: "outside", total: [] } as const satisfies UsageShape;

/** Arize-ai/openinference: inside, except for Converse of Bedrock, which has the provider's total. */
export const OPEN_INFERENCE = {
  name: "openinference",
  cache: "disputed",
  input: ["llm.token_count.prompt"],
  cacheRead: ["llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input"],
  cacheWrite: ["llm.token_count.prompt_details.cache_write"],
  output: ["llm.token_count.completion"],
  reasoning: ["llm.token_count.completion_details.reasoning"],
  total: ["llm.token_count.total"],
} as const satisfies UsageShape;

/** Its JavaScript instrumentation of Bedrock passes on what Anthropic and Nova count (invoke-model-helpers.ts). */
export const OPEN_INFERENCE_BEDROCK = { ...OPEN_INFERENCE, cache: "outside" } as const satisfies UsageShape;

/**
 * Usage details of Langfuse's SDKs add up to the prompt: `input` is what no other detail has (langfuse-js packages/openai/src/
 * parseOpenAI.ts and packages/langchain/src/CallbackHandler.ts).
 */
export const LANGFUSE = {
  name: "langfuse",
  cache: "outside",
  input: ["input"],
  besideInput: ["input_audio_tokens", "input_audio", "input_text_tokens", "input_image_tokens"],
  cacheRead: ["input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "input_cached"],
  cacheWrite: ["input_cache_write_tokens", "input_cache_creation", "cache_creation_input_tokens"],
  cacheWriteMinutes: ["input_cache_creation_5m", "input_ephemeral_5m_input_tokens"],
  cacheWriteHour: ["input_cache_creation_1h", "input_ephemeral_1h_input_tokens"],
  output: ["output"],
  reasoning: ["output_reasoning_tokens", "output_reasoning"],
  reasoningBeside: true,
  total: ["total"],
} as const satisfies UsageShape;

/** Genkit's `GenerationUsage` of Gemini and OpenAI (firebase/genkit js/plugins/google-genai, js/plugins/compat-oai). */
export const GENKIT = {
  name: "genkit",
  cache: "inside",
  input: ["inputTokens"],
  cacheRead: ["cachedContentTokens"],
  output: ["outputTokens"],
  reasoning: ["thoughtsTokens"],
  reasoningBeside: true,
  total: ["totalTokens"],
} as const satisfies UsageShape;

/** Genkit's plugin of Anthropic has the cache apart (js/plugins/anthropic/src/runner/stable.ts). */
export const GENKIT_ANTHROPIC = {
  name: "genkit",
  cache: "outside",
  input: ["inputTokens"],
  cacheRead: ["custom.cache_read_input_tokens"],
  cacheWrite: ["custom.cache_creation_input_tokens"],
  output: ["outputTokens"],
} as const satisfies UsageShape;

/** code.claude.com/docs/en/monitoring-usage: as Anthropic's API. */
export const CLAUDE_CODE_TELEMETRY = {
  name: "claude_code",
  cache: "outside",
  input: ["input_tokens"],
  cacheRead: ["cache_read_tokens"],
  cacheWrite: ["cache_creation_tokens"],
  output: ["output_tokens"],
} as const satisfies UsageShape;

/** codex-rs/otel/src/events/session_telemetry.rs: `tool_token_count` is the total of the call, in spite of its name. */
export const CODEX_TELEMETRY = {
  name: "codex",
  cache: "inside",
  input: ["input_token_count"],
  cacheRead: ["cached_token_count"],
  cacheWrite: ["cache_write_token_count"],
  output: ["output_token_count"],
  reasoning: ["reasoning_token_count"],
  total: ["tool_token_count"],
} as const satisfies UsageShape;

/** codex-rs `TokenUsage`. agentd has the same names, without a total. */
export const CODEX = {
  name: "codex",
  cache: "inside",
  input: ["input_tokens"],
  cacheRead: ["cached_input_tokens"],
  cacheWrite: ["cache_write_input_tokens"],
  output: ["output_tokens"],
  reasoning: ["reasoning_output_tokens"],
  total: ["total_tokens"],
} as const satisfies UsageShape;

/** google-gemini/gemini-cli docs/cli/telemetry.md. Adapters of other providers count thoughts in the output, which the total shows. */
export const GEMINI_CLI_TELEMETRY = {
  name: "gemini",
  cache: "inside",
  input: ["input_token_count"],
  besideInput: ["tool_token_count"],
  cacheRead: ["cached_content_token_count"],
  output: ["output_token_count"],
  reasoning: ["thoughts_token_count"],
  reasoningBeside: true,
  total: ["total_token_count"],
} as const satisfies UsageShape;

/** gemini-cli chatRecordingTypes.ts: `tokens` of a message. */
export const GEMINI_CLI = {
  name: "gemini",
  cache: "inside",
  input: ["input"],
  besideInput: ["tool"],
  cacheRead: ["cached"],
  output: ["output"],
  reasoning: ["thoughts"],
  reasoningBeside: true,
  total: ["total"],
} as const satisfies UsageShape;

/** Qwen Code's log event `chat_compression`: the request that wrote the summary. */
export const QWEN_SUMMARY = {
  name: "qwen",
  cache: "inside",
  input: ["compression_input_token_count"],
  output: ["compression_output_token_count"],
} as const satisfies UsageShape;

/** docs.cline.bot "OpenTelemetry Events", with underscores; the extension writes capitals. */
export const CLINE_TELEMETRY = {
  name: "cline",
  cache: "outside",
  input: ["tokens_in", "tokensIn"],
  cacheRead: ["cached_tokens", "cacheReadTokens", "cache_read_tokens"],
  cacheWrite: ["cacheWriteTokens", "cache_write_tokens"],
  output: ["tokens_out", "tokensOut"],
} as const satisfies UsageShape;

/** cline ExtensionMessage.ts `ClineApiReqInfo`: the extension subtracts cached tokens. */
export const CLINE = {
  name: "cline",
  cache: "outside",
  input: ["tokensIn"],
  cacheRead: ["cacheReads"],
  cacheWrite: ["cacheWrites"],
  output: ["tokensOut"],
} as const satisfies UsageShape;

/** Messages of Cline's command line pass on what the provider counts. */
export const CLINE_MESSAGES = {
  name: "cline",
  cache: "disputed",
  input: ["inputTokens"],
  cacheRead: ["cacheReadTokens"],
  cacheWrite: ["cacheWriteTokens"],
  output: ["outputTokens"],
} as const satisfies UsageShape;

/** github/copilot-sdk#1160: the input covers all kinds. Compactions of older versions have short names. */
export const COPILOT = {
  name: "copilot",
  cache: "inside",
  input: ["inputTokens", "input"],
  cacheRead: ["cacheReadTokens", "cachedInput"],
  cacheWrite: ["cacheWriteTokens"],
  output: ["outputTokens", "output"],
  reasoning: ["reasoningTokens"],
} as const satisfies UsageShape;

/** Amp's threads have Anthropic's counts. */
export const AMP = {
  name: "amp",
  cache: "outside",
  input: ["inputTokens"],
  cacheRead: ["cacheReadInputTokens"],
  cacheWrite: ["cacheCreationInputTokens"],
  output: ["outputTokens"],
} as const satisfies UsageShape;

/** pi-ai `Usage`. */
export const PI = {
  name: "pi",
  cache: "outside",
  input: ["input"],
  cacheRead: ["cacheRead"],
  cacheWrite: ["cacheWrite"],
  output: ["output"],
  total: ["totalTokens"],
} as const satisfies UsageShape;

/**
 * opencode and Kilo (packages/opencode/src/session, `getUsage`): the cache is subtracted, except by versions that take a newer AI SDK
 * for one that excludes it. The total of the provider shows both that and reasoning beside the output.
 */
export const OPENCODE = {
  name: "opencode",
  cache: "outside",
  input: ["input"],
  cacheRead: ["cache.read"],
  cacheWrite: ["cache.write"],
  output: ["output"],
  reasoning: ["reasoning"],
  total: ["total"],
} as const satisfies UsageShape;

/** goose crates/goose-provider-types/src/conversation/token_usage.rs `Usage`, in the columns of its table `usage_ledger`. */
export const GOOSE = {
  name: "goose",
  cache: "inside",
  input: ["input_tokens"],
  cacheRead: ["cache_read_tokens"],
  cacheWrite: ["cache_write_tokens"],
  output: ["output_tokens"],
  total: ["total_tokens"],
} as const satisfies UsageShape;

/** mistralai/mistral-vibe vibe/core/types.py `AgentStats`: a "turn" is one call, and the API counts the cache inside. */
export const MISTRAL_VIBE = {
  name: "mistral-vibe",
  cache: "inside",
  input: ["last_turn_prompt_tokens"],
  output: ["last_turn_completion_tokens"],
} as const satisfies UsageShape;

/** DeepSeek Harness `TokenUsage` (docs/subsystems/llm-streaming.md): the parts of the input exclude each other. */
export const DSH = {
  name: "dsh",
  cache: "outside",
  input: ["inputTokens"],
  cacheRead: ["cacheReadTokens"],
  cacheWrite: ["cacheWriteTokens"],
  output: ["outputTokens"],
  reasoning: ["reasoningTokens"],
  total: ["totalTokens"],
} as const satisfies UsageShape;

/** kosong `TokenUsage`, as Kimi CLI and Kimi Code write it. */
export const KIMI = {
  name: "kimi",
  cache: "outside",
  input: ["inputOther", "input_other"],
  cacheRead: ["inputCacheRead", "input_cache_read"],
  cacheWrite: ["inputCacheCreation", "input_cache_creation"],
  output: ["output"],
} as const satisfies UsageShape;
