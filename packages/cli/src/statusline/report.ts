import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { hostname } from "node:os";
import {
  type CallUsage,
  projectOf,
  readStatus,
  type StatusSample,
} from "@plimsoll/harnesses/claude-code/status-line";
import { readSubagents, type SubagentSample } from "@plimsoll/harnesses/claude-code/subagent-status";
import { at, numberAt, textAt } from "@plimsoll/harnesses/fields";
import { sendReport } from "../background-report.ts";
import type { Env } from "../connection.ts";
import { claudeSettings, parsed, targetIn } from "./claude-settings.ts";

/** How much of a recording is read for its last call, in bytes. Claude Code 2.1.331 writes its prompt of 65 kB after a call. */
const TAIL = 1024 * 1024;

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
    usage: usageOf(usage),
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
    usage: usageOf(call.usage),
  };
  return turn;
}

const usageOf = ({ input, cacheRead, cacheWrite, output }: CallUsage) => ({
  input_tokens: input,
  cache_read_tokens: cacheRead,
  cache_write_tokens: cacheWrite,
  output_tokens: output,
  basis: "exclusive",
});

interface RecordedCall {
  id: string;
  at: number;
  model: string | undefined;
  usage: CallUsage;
}

function lastCall(recording: string, isSubagent: boolean): RecordedCall | undefined {
  const lines = recording.split("\n");
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index]!;
    if (!line.includes('"requestId"') || !line.includes('"usage"')) continue;
    const entry = parsed(line);
    const id = textAt(entry, ["requestId"]);
    const time = Date.parse(textAt(entry, ["timestamp"]) ?? "");
    const count = (name: string) => numberAt(entry, ["message", "usage", name]) ?? 0;
    if (id === undefined || Number.isNaN(time) || (at(entry, ["isSidechain"]) === true) !== isSubagent)
      continue;
    return {
      id,
      at: time,
      model: textAt(entry, ["message", "model"]),
      usage: {
        input: count("input_tokens"),
        cacheRead: count("cache_read_input_tokens"),
        cacheWrite: count("cache_creation_input_tokens"),
        output: count("output_tokens"),
      },
    };
  }
  return undefined;
}

/** A stream may not have counted its whole answer yet, so the output says nothing. */
const isSame = (one: CallUsage, other: CallUsage) =>
  one.input === other.input && one.cacheRead === other.cacheRead && one.cacheWrite === other.cacheWrite;

/** The end of a recording; empty if it cannot be read. */
export function tailOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, TAIL));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Reports the turn that a status describes, or those of its sub-agents. A report that fails is lost: the next turn reports the level again.
 * @returns whether the server has it
 */
export async function reportStatus(input: string, env: Env): Promise<boolean> {
  const value = parsed(input);
  const host = hostname();
  const subagents = readSubagents(value);
  const sample = readStatus(value);
  const place = { windowTokens: undefined, project: projectOf(value) };
  const turns =
    subagents === undefined
      ? [sample?.transcript === undefined ? undefined : turnOf(sample, tailOf(sample.transcript), host)]
      : subagents.map((one) =>
          one.transcript === undefined ? undefined : subagentTurn(one, tailOf(one.transcript), host),
        );
  const known = turns.filter((turn) => turn !== undefined);
  const target = targetIn(claudeSettings(sample ?? place, env).settings);
  return target !== undefined && known.length > 0 && (await sendReport(target, known));
}
