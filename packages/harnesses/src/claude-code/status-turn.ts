import {
  type CachedPrompt,
  type CacheLife,
  cachedAfter,
  cacheLife,
  cacheRebuild,
  contextTokens,
} from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/pure";
import { at, textAt } from "../fields.ts";
import { parseJson } from "../recordings/json.ts";
import type { StatusSample } from "../status-line.ts";
import { callUsage } from "./status-line.ts";
import type { SubagentSample } from "./subagent-status.ts";

/**
 * The turn that a status describes. It has the id that Claude Code's telemetry gives the call, so both are one turn, which
 * gets the size of the window from here. Undefined if the recording does not prove which call it was.
 */
export function turnOf(sample: StatusSample, recording: string, host: string): { id: string } | undefined {
  const { session, model, usage, windowTokens } = sample;
  if (usage === undefined || model === undefined || windowTokens === undefined) return undefined;
  const call = lastCall(recording, false);
  if (call === undefined || !isSame(call.usage, usage)) return undefined;
  const turn = {
    type: "turn",
    witness: "status_line",
    id: call.id,
    at: call.at,
    harness: `claude-code@${host}`,
    session,
    model: call.model ?? model,
    context_window: windowTokens,
    usage,
  };
  return turn;
}

/**
 * The latest turn of a sub-agent, with the id that a span of its call has. Undefined if the recording has no call, or the size of
 * its window is unknown.
 */
export function subagentTurn(
  { id, session, parent, windowTokens }: SubagentSample,
  recording: string,
  host: string,
): { id: string } | undefined {
  const call = lastCall(recording, true);
  if (call?.model === undefined || windowTokens === undefined) return undefined;
  const turn = {
    type: "turn",
    witness: "status_line",
    id: call.id,
    at: call.at,
    harness: `claude-code@${host}`,
    session,
    agent: `agent-${id}`,
    parent_agent: parent === undefined ? "main" : `agent-${parent}`,
    model: call.model,
    context_window: windowTokens,
    usage: call.usage,
  };
  return turn;
}

interface RecordedCall {
  id: string;
  at: number;
  model: string | undefined;
  usage: Usage;
}

function lastCall(recording: string, isSubagent: boolean): RecordedCall | undefined {
  const lines = recording.split("\n");
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const call = callIn(lines[index]!, isSubagent);
    if (call !== undefined) return call.usage && { ...call, usage: call.usage };
  }
  return undefined;
}

/** The call in a line of a recording. Without `usage` if its counts cannot be read. */
function callIn(
  line: string,
  isSubagent: boolean,
): (Omit<RecordedCall, "usage"> & { usage: Usage | undefined }) | undefined {
  if (!line.includes('"requestId"') || !line.includes('"usage"')) return undefined;
  const entry = parseJson(line);
  const id = textAt(entry, ["requestId"]);
  const time = Date.parse(textAt(entry, ["timestamp"]) ?? "");
  if (id === undefined || Number.isNaN(time) || (at(entry, ["isSidechain"]) === true) !== isSubagent)
    return undefined;
  return { id, at: time, model: textAt(entry, ["message", "model"]), usage: usageIn(entry) };
}

/** What the provider's cache has of the main agent's prompt, as the calls in the end of a recording say. */
export function recordedCache(recording: string): CacheLife | undefined {
  const calls = new Map<string, RecordedCall>();
  for (const line of recording.split("\n")) {
    const call = callIn(line, false);
    // A call has a line for each part of its answer.
    if (call?.usage !== undefined) calls.set(call.id, { ...call, usage: call.usage });
  }
  let cached: CachedPrompt | undefined;
  let before: RecordedCall | undefined;
  for (const call of calls.values()) {
    const step = {
      turn: { usage: call.usage, estimated: false },
      contextTokens: contextTokens(call.usage) ?? 0,
      idle: before && call.at - before.at,
      fall: undefined,
      modelChanged: before !== undefined && before.model !== call.model,
    };
    cached = cachedAfter(cached, cacheRebuild(cached, step), step);
    before = call;
  }
  return cacheLife({ cached, lastTurnAt: before?.at, pending: [] });
}

const COMPACTED = '"compact_boundary"';

/**
 * Whether a level is that of the last call before a compaction. Claude Code repeats it until the next call. False if the recording
 * does not prove it.
 */
export function isCompactedSince({ usage }: Pick<StatusSample, "usage">, recording: string): boolean {
  if (usage === undefined || !recording.includes(COMPACTED)) return false;
  let isCompacted = false;
  const lines = recording.split("\n");
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index]!;
    if (!line.includes(COMPACTED) && !line.includes('"usage"')) continue;
    const entry = parseJson(line);
    if (at(entry, ["isSidechain"]) === true) continue;
    if (textAt(entry, ["subtype"]) === "compact_boundary") isCompacted = true;
    // A notice of the harness has counts of zero.
    const call = usageIn(entry);
    if (call !== undefined) return isCompacted && isSame(call, usage);
  }
  return false;
}

const usageIn = (entry: unknown) => callUsage(at(entry, ["message", "usage"]));

/** A stream may not have counted its whole answer yet, so the output says nothing. */
const isSame = (one: Usage, other: Usage) =>
  one.input_tokens === other.input_tokens &&
  (one.cache_read_tokens ?? 0) === (other.cache_read_tokens ?? 0) &&
  (one.cache_write_tokens ?? 0) === (other.cache_write_tokens ?? 0);
