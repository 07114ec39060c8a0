import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { hostname } from "node:os";
import { sendReport } from "../background-report.ts";
import { at, numberAt, textAt } from "../bridge/fields.ts";
import type { Env } from "../connection.ts";
import { claudeSettings, parsed, targetIn } from "./claude-settings.ts";
import { type CallUsage, readStatus, type StatusSample } from "./status-input.ts";

/** How much of a recording is read for its last call, in bytes. */
const TAIL = 64 * 1024;

/**
 * The turn that a status describes. It has the id that Claude Code's telemetry gives the call, so both are one turn, which
 * gets the size of the window from here. Undefined if the recording does not prove which call it was.
 */
export function turnOf(sample: StatusSample, recording: string, host: string): { id: string } | undefined {
  const { session, model, usage, windowTokens } = sample;
  if (usage === undefined || model === undefined || windowTokens === undefined) return undefined;
  const call = lastCall(recording);
  if (call === undefined || !isSame(call.usage, usage)) return undefined;
  const turn = {
    type: "turn",
    id: call.id,
    at: call.at,
    harness: `claude-code@${host}`,
    session,
    model: call.model ?? model,
    context_window: windowTokens,
    usage: {
      input_tokens: usage.input,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      output_tokens: usage.output,
      basis: "exclusive",
    },
  };
  return turn;
}

interface RecordedCall {
  id: string;
  at: number;
  model: string | undefined;
  usage: CallUsage;
}

function lastCall(recording: string): RecordedCall | undefined {
  const lines = recording.split("\n");
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index]!;
    if (!line.includes('"requestId"') || !line.includes('"usage"')) continue;
    const entry = parsed(line);
    const id = textAt(entry, ["requestId"]);
    const time = Date.parse(textAt(entry, ["timestamp"]) ?? "");
    const count = (name: string) => numberAt(entry, ["message", "usage", name]) ?? 0;
    if (id === undefined || Number.isNaN(time) || at(entry, ["isSidechain"]) === true) continue;
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

/** Reports the turn that a status describes. A report that fails is lost: the next turn tells the same. @returns whether the server has it */
export async function reportStatus(input: string, env: Env): Promise<boolean> {
  const sample = readStatus(parsed(input));
  if (sample?.transcript === undefined) return false;
  const target = targetIn(claudeSettings(sample, env).settings);
  const turn = turnOf(sample, tailOf(sample.transcript), hostname());
  return target !== undefined && turn !== undefined && (await sendReport(target, [turn]));
}
