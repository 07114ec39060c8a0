import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { at, numberAt, textAt } from "../bridge/fields.ts";
import { parsed } from "./claude-settings.ts";
import type { CallUsage, StatusSample } from "./status-input.ts";

/** How much of a recording is read for its last call, in bytes. Claude Code 2.1.331 writes its prompt of 65 kB after a call. */
const TAIL = 1024 * 1024;

/** A call as Claude Code records it. Epoch ms. */
interface RecordedCall {
  id: string;
  at: number;
  model: string | undefined;
  usage: CallUsage;
}

/** The latest call of a recording that has the id of its request. */
export function lastCall(recording: string, isSubagent: boolean): RecordedCall | undefined {
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
    const entry = parsed(line);
    if (at(entry, ["isSidechain"]) === true) continue;
    if (textAt(entry, ["subtype"]) === "compact_boundary") isCompacted = true;
    const call = usageIn(entry);
    if (call !== undefined) return isCompacted && isSame(call, usage);
  }
  return false;
}

const COMPACTED = '"compact_boundary"';

/** The counts of a line; undefined if it has none. */
function usageIn(entry: unknown): CallUsage | undefined {
  if (numberAt(entry, ["message", "usage", "input_tokens"]) === undefined) return undefined;
  const count = (name: string) => numberAt(entry, ["message", "usage", name]) ?? 0;
  const usage = {
    input: count("input_tokens"),
    cacheRead: count("cache_read_input_tokens"),
    cacheWrite: count("cache_creation_input_tokens"),
    output: count("output_tokens"),
  };
  // A notice of the harness has counts of zero.
  return usage.input + usage.cacheRead + usage.cacheWrite > 0 ? usage : undefined;
}

/** A stream may not have counted its whole answer yet, so the output says nothing. */
export const isSame = (one: CallUsage, other: CallUsage) =>
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
