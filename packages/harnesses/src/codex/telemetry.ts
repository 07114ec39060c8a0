import { CODEX_TELEMETRY } from "@plimsoll/fold";
import { instantMs, type PlimsollEventInput } from "@plimsoll/protocol/events";
import type { CallResult } from "@plimsoll/protocol/pure";
import { numberOf, textOf, truthOf } from "../telemetry/attributes.ts";
import { eventEnvelope, harnessName, subAgentOf } from "../telemetry/event-envelope.ts";
import { comesFrom } from "../telemetry/libraries/gen-ai.ts";
import { type ModelCallNames, modelCall } from "../telemetry/model-call.ts";
import { noEvent, type RecordReading, type TelemetryDialect } from "../telemetry/reading.ts";
import { refusalIn, reportedRefusal, type SizedRefusal } from "../telemetry/refusal.ts";
import type { Attributes, LogRecord, TelemetryRecord } from "../telemetry/telemetry-record.ts";
import { toolResult } from "../telemetry/tool-result.ts";

const FAMILY = "codex";

const CALL: ModelCallNames = {
  model: ["model", "slug"],
  usage: CODEX_TELEMETRY,
  window: ["gen_ai.context.window_size"],
  costUsd: [],
};

/**
 * Codex: log events `codex.sse_event` of kind `response.completed`, `codex.api_request`, `codex.tool_result` and
 * `codex.tool_decision`. Its spans repeat them. Names: codex-rs/otel/src/events/session_telemetry.rs at 0136a73, September 2026; seen
 * from 0.169.0.
 */
export const codexTelemetry: TelemetryDialect = {
  name: FAMILY,
  speaks: (record) => comesFrom(record, /^codex(?![a-z])/) || /^codex\./.test(record.name),
  read(record) {
    if (record.signal === "traces") return noEvent("reported_elsewhere");
    const { attributes } = record;
    const name = nameOf(record);
    const started = startedThread(name, attributes);
    const ended = readTool(record, name);
    if (started !== undefined) return { events: [readStart(record, started), ...(ended.events ?? [])] };
    if (ended.events !== undefined) return ended;
    if (isCompaction(name, attributes)) return readCompaction(record);
    const refusal = refusalIn(textOf(attributes, ["error.message"]));
    if (refusal !== undefined) return readRefused(record, refusal);
    if (name !== "codex.sse_event" || attributes.get("event.kind") !== "response.completed")
      return noEvent("not_needed");
    const session = textOf(attributes, ["conversation.id"]);
    if (session === undefined) return noEvent("no_session");
    const counts = [...CODEX_TELEMETRY.input, ...CODEX_TELEMETRY.output].map(
      (name) => textOf(attributes, [name]) ?? "-",
    );
    const at = timeOf(record.at, textOf(attributes, ["event.timestamp"]));
    const turn = modelCall(attributes, CALL, {
      owner: { harness: harnessName(record.resource, FAMILY), session },
      // The event names no response, but a thread makes one call at a time.
      id: `response/${at}/${counts.join("/")}`,
      at,
    });
    if (turn !== undefined) return { events: [turn] };
    // Another record of the same response has its duration in place of counts.
    const isOther = attributes.has("error.message") || attributes.has("duration_ms");
    return noEvent(isOther ? "not_needed" : "no_usage");
  },
};

/** The end of a tool call. No record says which answer asked for it. */
function readTool({ attributes, resource, at }: LogRecord, name: string): RecordReading {
  const text = (attribute: string) => textOf(attributes, [attribute]);
  const session = text("conversation.id");
  const result = resultOf(name, attributes);
  if (session === undefined || result === undefined) return noEvent("not_needed");
  const time = timeOf(at, text("event.timestamp"));
  const call = text("call_id") ?? [time, text("tool_name"), text("duration_ms")].join("/");
  const owner = { harness: harnessName(resource, FAMILY), session };
  // With a namespace, the name alone is not what the model knows.
  const tool = text("tool_namespace") === undefined ? text("tool_name") : undefined;
  return { events: [toolResult({ owner, call, at: time, result, tool })] };
}

/** A rule or a reviewer that forbids a call makes it fail. What is allowed still has its result to come. */
function resultOf(name: string, attributes: Attributes): CallResult | undefined {
  if (name === "codex.tool_result") {
    const success = truthOf(attributes, "success");
    return success === undefined ? undefined : success ? "ok" : "failed";
  }
  if (name !== "codex.tool_decision" || !DENIED.has(textOf(attributes, ["decision"]) ?? "")) return undefined;
  // Only its call id tells that a result is of the same call.
  if (!attributes.has("call_id")) return undefined;
  return textOf(attributes, ["source"])?.toLowerCase() === "user" ? "rejected" : "failed";
}

const DENIED: ReadonlySet<string> = new Set(["denied", "abort"]);

/**
 * Versions before `remote_compaction_v2` had a provider compact through an endpoint of its own (codex-rs/core/src/client.rs,
 * `RESPONSES_COMPACT_ENDPOINT`). Its answer has no counts in telemetry. A later version, and one with another provider, asks for the
 * summary as for any answer, and no record tells that.
 */
function isCompaction(name: string, attributes: Attributes): boolean {
  if (name !== "codex.api_request" || !textOf(attributes, ["endpoint"])?.endsWith("/responses/compact"))
    return false;
  const status = numberOf(attributes, ["http.response.status_code"]);
  return status !== undefined && status >= 200 && status < 300 && !attributes.has("error.message");
}

function readCompaction({ attributes, resource, at }: LogRecord): RecordReading {
  const session = textOf(attributes, ["conversation.id"]);
  if (session === undefined) return noEvent("no_session");
  const owner = { harness: harnessName(resource, FAMILY), session };
  const time = timeOf(at, textOf(attributes, ["event.timestamp"]));
  return {
    events: [{ ...eventEnvelope(owner, `compacted/${time}`, time), type: "compacted", trigger: "auto" }],
  };
}

/** A call that failed, in `codex.api_request`, `codex.sse_event` or `codex.websocket_event`. */
function readRefused({ attributes, resource, at }: LogRecord, refusal: SizedRefusal): RecordReading {
  const session = textOf(attributes, ["conversation.id"]);
  const model = textOf(attributes, CALL.model);
  if (session === undefined || model === undefined) return noEvent("not_needed");
  const owner = { harness: harnessName(resource, FAMILY), session };
  const time = timeOf(at, textOf(attributes, ["event.timestamp"]));
  return { events: [reportedRefusal(owner, `refused/${time}`, time, model, refusal)] };
}

/** A thread that another one started as its sub-agent. */
interface StartedThread {
  id: string;
  parent: string;
}

/** Versions of its tools for several agents report a start in the answer of the tool, or as a message between threads. */
function startedThread(name: string, attributes: Attributes): StartedThread | undefined {
  const text = (attribute: string) => textOf(attributes, [attribute]);
  if (name === "codex.agent_communication" && text("kind") === "spawn")
    return threadOf(text("receiver_thread_id"), text("sender_thread_id"));
  if (name !== "codex.tool_result" || text("tool_name") !== "spawn_agent") return undefined;
  // A tool of an MCP server may have the same name. Its answer must not move a session.
  if (text("tool_namespace")?.startsWith("multi_agent") !== true) return undefined;
  return threadOf(/"agent_id"\s*:\s*"([^"]+)"/.exec(text("output") ?? "")?.[1], text("conversation.id"));
}

const threadOf = (id: string | undefined, parent: string | undefined): StartedThread | undefined =>
  id === undefined || parent === undefined ? undefined : { id, parent };

/** Calls of the thread name only itself. This event says whose sub-agent it is. */
function readStart(
  { attributes, resource, at }: LogRecord,
  { id, parent }: StartedThread,
): PlimsollEventInput {
  const owner = { harness: harnessName(resource, FAMILY), ...subAgentOf(parent, id) };
  return {
    ...eventEnvelope(owner, `started/${id}`, timeOf(at, textOf(attributes, ["event.timestamp"]))),
    type: "session",
    status: "started",
    kind: "agent",
  };
}

/** The name of the record itself is a line of Codex's source, such as `event otel/src/events/session_telemetry.rs:1153`. */
const nameOf = ({ name, attributes }: TelemetryRecord) => textOf(attributes, ["event.name"]) ?? name;

/** The exporter leaves the time of the record empty. */
function timeOf(recordAt: number, eventAt: string | undefined): number {
  const at = eventAt === undefined ? Number.NaN : instantMs(eventAt);
  return Number.isNaN(at) ? recordAt : at;
}
