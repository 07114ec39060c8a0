import { larger, mergeUsage } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/pure";

/** Why a value contains no turn. */
export type NoTurnReason =
  /** The value contains no usage object. */
  | "no_usage"
  /** The harness created the message itself and never called a model. */
  | "synthetic"
  /** The counts are a sum over several calls, so they are no level. */
  | "cumulative";

/** The provider or SDK format that was recognised. */
export type UsageSource =
  | "anthropic"
  | "claude_agent_sdk"
  | "openai_chat"
  | "openai_responses"
  | "ollama"
  | "ai_sdk"
  | "langchain"
  | "gemini"
  | "protocol";

/** The usage of one call. */
export interface ReadTurn {
  kind: "turn";
  source: UsageSource;
  usage: Usage;
  /** The provider's message or response id. Reports with the same id belong to the same turn. */
  id: string | undefined;
  model: string | undefined;
  /** The sub-agent that made the call, which has its own window; `undefined` for the main agent. */
  agent: string | undefined;
  costUsd: number | undefined;
}

/** A value without a turn. */
export interface NoTurn {
  kind: "none";
  reason: NoTurnReason;
  /** Window sizes by model that the value reports, in tokens. */
  windows: Readonly<Record<string, number>>;
  costUsd: number | undefined;
}

export type UsageReading = ReadTurn | NoTurn;

type JsonFields = Record<string, unknown>;

/**
 * Reads the usage from any supported provider's or SDK's response, message or usage object. Cached tokens stay as
 * the provider counts them, with their basis; `normaliseUsage` of the protocol adds them up. Missing counts stay
 * `undefined`.
 * @example
 * const reading = readUsage(response);
 * if (reading.kind === "turn") console.log(reading.usage.input_tokens);
 */
export function readUsage(value: unknown): UsageReading {
  const fields = fieldsOf(value);
  if (fields === undefined) return none("no_usage");
  if (fields.type === "result" && (fields.modelUsage !== undefined || fields.num_turns !== undefined)) {
    return { ...none("cumulative", windowsOf(fields.modelUsage)), costUsd: numberOf(fields.total_cost_usd) };
  }
  if (fields.type === "assistant" && fieldsOf(fields.message) !== undefined) return readAgentMessage(fields);
  if (fields.totalUsage !== undefined && fields.usage === undefined) return none("cumulative");
  const outer = {
    id: textOf(fields.id) ?? textOf(fields.responseId) ?? textOf(fieldsOf(fields.response)?.id),
    model: modelOf(fields),
  };
  if (outer.model === "<synthetic>") return none("synthetic");
  for (const key of ["usage", "usage_metadata", "usageMetadata"]) {
    const inner = fieldsOf(fields[key]);
    const read = inner === undefined ? undefined : readCounts(inner);
    if (read !== undefined) {
      // LangChain and the protocol use the same field names and differ only in this key.
      const source = key === "usage_metadata" ? "langchain" : read.source;
      const basis = key === "usage_metadata" ? ({ basis: "inclusive" } as const) : {};
      return turn({ ...read, source, usage: { ...read.usage, ...basis } }, outer);
    }
  }
  const own = readCounts(fields);
  return own === undefined ? none("no_usage") : turn(own, outer);
}

/** Merges two reports of the same turn: the larger prompt as a whole, and the larger answer. */
export function mergeReadings(a: ReadTurn, b: ReadTurn): ReadTurn {
  return {
    ...a,
    usage: mergeUsage(a.usage, b.usage),
    model: a.model ?? b.model,
    costUsd: larger(a.costUsd, b.costUsd),
  };
}

function readAgentMessage(fields: JsonFields): UsageReading {
  const message = fieldsOf(fields.message)!;
  if (message.model === "<synthetic>") return none("synthetic");
  const counts = fieldsOf(message.usage);
  const read = counts === undefined ? undefined : readCounts(counts);
  if (read === undefined) return none("no_usage");
  const parent = textOf(fields.parent_tool_use_id);
  const agent = textOf(fields.agent_id) ?? textOf(fields.agentId) ?? parent;
  return turn(
    { source: "claude_agent_sdk", usage: { ...read.usage, basis: "exclusive" } },
    {
      id: textOf(message.id),
      model: textOf(message.model),
      // Older transcripts mark a sub-agent without naming it.
      agent: parent === undefined && fields.isSidechain !== true ? undefined : (agent ?? "sub-agent"),
    },
  );
}

interface Counts {
  source: UsageSource;
  usage: Usage;
}

function readCounts(fields: JsonFields): Counts | undefined {
  if ("prompt_tokens" in fields) return openAiChat(fields);
  if ("prompt_eval_count" in fields || "eval_count" in fields) return ollama(fields);
  if ("promptTokenCount" in fields) return gemini(fields);
  if ("inputTokens" in fields) return aiSdk(fields);
  if (!("input_tokens" in fields) && !("iterations" in fields)) return undefined;
  if ("cache_read_tokens" in fields || "cache_write_tokens" in fields || "basis" in fields) {
    return protocol(fields);
  }
  if (
    "cache_read_input_tokens" in fields ||
    "cache_creation_input_tokens" in fields ||
    "iterations" in fields
  ) {
    return anthropic(fields);
  }
  const details = fieldsOf(fields.input_tokens_details) ?? fieldsOf(fields.input_token_details);
  if (details !== undefined) return responses(fields, details);
  return protocol(fields);
}

/** With server-side compaction a call has several iterations. The last message shows what the window holds. */
function anthropic(fields: JsonFields): Counts {
  const iterations = Array.isArray(fields.iterations) ? fields.iterations.map(fieldsOf) : [];
  const last = iterations.findLast((iteration) => iteration?.type === "message") ?? fields;
  return {
    source: "anthropic",
    usage: {
      input_tokens: countOf(last.input_tokens),
      cache_read_tokens: countOf(last.cache_read_input_tokens),
      cache_write_tokens: countOf(last.cache_creation_input_tokens),
      output_tokens: countOf(last.output_tokens),
      reasoning_tokens: undefined,
      basis: "exclusive",
    },
  };
}

function openAiChat(fields: JsonFields): Counts {
  return {
    source: "openai_chat",
    usage: {
      input_tokens: countOf(fields.prompt_tokens),
      cache_read_tokens: countOf(fieldsOf(fields.prompt_tokens_details)?.cached_tokens),
      cache_write_tokens: undefined,
      output_tokens: countOf(fields.completion_tokens),
      reasoning_tokens: countOf(fieldsOf(fields.completion_tokens_details)?.reasoning_tokens),
      basis: "inclusive",
    },
  };
}

function responses(fields: JsonFields, details: JsonFields): Counts {
  const langchain = "input_token_details" in fields;
  const out = fieldsOf(fields.output_tokens_details) ?? fieldsOf(fields.output_token_details);
  return {
    source: langchain ? "langchain" : "openai_responses",
    usage: {
      input_tokens: countOf(fields.input_tokens),
      cache_read_tokens: countOf(details.cached_tokens) ?? countOf(details.cache_read),
      cache_write_tokens: countOf(details.cache_write_tokens) ?? countOf(details.cache_creation),
      output_tokens: countOf(fields.output_tokens),
      reasoning_tokens: countOf(out?.reasoning_tokens) ?? countOf(out?.reasoning),
      basis: "inclusive",
    },
  };
}

/** Ollama before 0.4 omits the count of a cached prompt, so zero means unknown. */
function ollama(fields: JsonFields): Counts {
  const count = countOf(fields.prompt_eval_count);
  return {
    source: "ollama",
    usage: {
      input_tokens: count === 0 ? undefined : count,
      cache_read_tokens: countOf(fields.prompt_eval_cached_count),
      cache_write_tokens: undefined,
      output_tokens: countOf(fields.eval_count),
      reasoning_tokens: undefined,
      basis: "inclusive",
    },
  };
}

/** AI SDK 5 to 7: `usage` has flat counts, a language model's result has nested ones. */
function aiSdk(fields: JsonFields): Counts {
  const input = fieldsOf(fields.inputTokens);
  const output = fieldsOf(fields.outputTokens);
  const inputDetails = fieldsOf(fields.inputTokenDetails);
  const outputDetails = fieldsOf(fields.outputTokenDetails);
  return {
    source: "ai_sdk",
    usage: {
      input_tokens: countOf(input === undefined ? fields.inputTokens : input.total),
      cache_read_tokens:
        countOf(input?.cacheRead) ??
        countOf(inputDetails?.cacheReadTokens) ??
        countOf(fields.cachedInputTokens),
      cache_write_tokens: countOf(input?.cacheWrite) ?? countOf(inputDetails?.cacheWriteTokens),
      output_tokens: countOf(output === undefined ? fields.outputTokens : output.total),
      reasoning_tokens:
        countOf(output?.reasoning) ??
        countOf(outputDetails?.reasoningTokens) ??
        countOf(fields.reasoningTokens),
      basis: "inclusive",
    },
  };
}

/** The results of the provider's own tools and the thoughts are counted besides the prompt and the answer. */
function gemini(fields: JsonFields): Counts {
  const reasoning_tokens = countOf(fields.thoughtsTokenCount);
  return {
    source: "gemini",
    usage: {
      input_tokens: sumOf(fields.promptTokenCount, fields.toolUsePromptTokenCount),
      cache_read_tokens: countOf(fields.cachedContentTokenCount),
      cache_write_tokens: undefined,
      output_tokens: sumOf(fields.candidatesTokenCount, reasoning_tokens),
      reasoning_tokens,
      basis: "inclusive",
    },
  };
}

function protocol(fields: JsonFields): Counts {
  const basis = fields.basis === "inclusive" || fields.basis === "exclusive" ? fields.basis : undefined;
  return {
    source: "protocol",
    usage: {
      input_tokens: countOf(fields.input_tokens),
      cache_read_tokens: countOf(fields.cache_read_tokens),
      cache_write_tokens: countOf(fields.cache_write_tokens),
      output_tokens: countOf(fields.output_tokens),
      reasoning_tokens: countOf(fields.reasoning_tokens),
      basis,
    },
  };
}

function turn(
  counts: Counts,
  about: { id?: string | undefined; model?: string | undefined; agent?: string | undefined },
): ReadTurn {
  return {
    kind: "turn",
    id: about.id,
    model: about.model,
    agent: about.agent,
    costUsd: undefined,
    ...counts,
  };
}

function none(reason: NoTurnReason, windows: Record<string, number> = {}): NoTurn {
  return { kind: "none", reason, windows, costUsd: undefined };
}

function windowsOf(modelUsage: unknown): Record<string, number> {
  const windows: Record<string, number> = {};
  for (const [model, usage] of Object.entries(fieldsOf(modelUsage) ?? {})) {
    const tokens = countOf(fieldsOf(usage)?.contextWindow);
    if (tokens !== undefined && tokens > 0) windows[model] = tokens;
  }
  return windows;
}

function modelOf(fields: JsonFields): string | undefined {
  const metadata = fieldsOf(fields.response_metadata);
  return (
    textOf(fields.model) ??
    textOf(fields.modelVersion) ??
    textOf(fieldsOf(fields.response)?.modelId) ??
    textOf(metadata?.model_name) ??
    textOf(metadata?.model)
  );
}

function fieldsOf(value: unknown): JsonFields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonFields)
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** The sum of two counts, of which one may be unknown. */
function sumOf(one: unknown, other: unknown): number | undefined {
  const counts = [countOf(one), countOf(other)].filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count);
}

function countOf(value: unknown): number | undefined {
  const count = numberOf(value);
  return count === undefined ? undefined : Math.round(count);
}
