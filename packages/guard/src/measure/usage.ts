import {
  type AnswerShape,
  type AnswerUsage,
  countOf,
  fieldsOf,
  type JsonFields,
  LANGCHAIN,
  larger,
  mergeUsage,
  pathsIn,
  readAnswer,
  readCounts,
  type UsageEvidence,
} from "@plimsoll/fold";
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
export type UsageSource = AnswerShape | "claude_agent_sdk";

/** The usage of one call. */
export interface ReadTurn {
  kind: "turn";
  source: UsageSource;
  usage: Usage;
  /** How it is known what the counts mean. With `contradiction` they are suspect. */
  evidence: UsageEvidence;
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
    const read =
      key === "usage_metadata" && inner !== undefined && "input_tokens" in inner
        ? // LangChain and the protocol use the same field names and differ only in this key.
          { ...readCounts(LANGCHAIN, pathsIn(inner)), shape: LANGCHAIN.name }
        : inner && readAnswer(inner, fields.providerMetadata);
    if (read !== undefined) return turn(read, outer);
  }
  const own = readAnswer(fields);
  return own === undefined ? none("no_usage") : turn(own, outer);
}

/** Merges two reports of the same turn field by field. */
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
  const read = readAnswer(fieldsOf(message.usage) ?? {});
  if (read === undefined) return none("no_usage");
  const parent = textOf(fields.parent_tool_use_id);
  const agent = textOf(fields.agent_id) ?? textOf(fields.agentId) ?? parent;
  return turn(
    { ...read, shape: "claude_agent_sdk", usage: { ...read.usage, basis: "exclusive" } },
    {
      id: textOf(message.id),
      model: textOf(message.model),
      // Older transcripts mark a sub-agent without naming it.
      agent: parent === undefined && fields.isSidechain !== true ? undefined : (agent ?? "sub-agent"),
    },
  );
}

function turn(
  { usage, evidence, shape }: Omit<AnswerUsage, "shape"> & { shape: UsageSource },
  about: { id?: string | undefined; model?: string | undefined; agent?: string | undefined },
): ReadTurn {
  return {
    kind: "turn",
    source: shape,
    usage,
    evidence,
    id: about.id,
    model: about.model,
    agent: about.agent,
    costUsd: undefined,
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

/** Undefined for what is no text, and for an empty one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
