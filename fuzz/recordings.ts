import { createReader, detectFormat, type Format } from "@plimsoll/harnesses/recordings";
import { parseEvent } from "@plimsoll/protocol/events";
import type { z } from "zod";
import { Lines } from "../packages/cli/src/import/lines.ts";
import { importedEnds } from "../packages/cli/src/import/session-ends.ts";
import { isSendable } from "../packages/cli/src/sendable.ts";
import { bytesOf, type KeptRecording } from "./corpus.ts";
import { jsonText } from "./json-text.ts";
import type { Fault } from "./judge.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { PROGRAM_NAMES, PROGRAMS, type ProgramName } from "./programs.ts";
import { Random } from "./random.ts";
import { SEEDS, type Seed } from "./recording-seeds.ts";

/** A group of files that one reader reads, or the input of a program. */
export interface Recording {
  format: Format | ProgramName;
  files: { path: string; content: Buffer }[];
}

/** A recording of the corpus. */
export function recordingOf({ format, files }: z.output<typeof KeptRecording>): Recording {
  return { format, files: files.map(({ path, content }) => ({ path, content: bytesOf(content) })) };
}

/** Milliseconds that a reader may take, for any recording and for each megabyte. */
const LIMIT_MS = { base: 1_000, megabyte: 200 };
const CHUNK = 4_096;

/** Makes recording number `index`: lines of a valid one, mutated, repeated, reordered or lost. */
export function recordingAt(seed: number, index: number, kept: readonly Recording[]): Recording {
  const random = new Random(seed, index);
  if (kept.length > 0 && random.oneIn(40)) {
    const { format, files } = random.pick(kept);
    return { format, files: files.map((file) => ({ ...file, content: mutateBytes(random, file.content) })) };
  }
  if (random.oneIn(3)) return programInput(random, random.pick(PROGRAM_NAMES));
  if (random.oneIn(20_000)) return largeRecording(random, random.pick(SEEDS));
  const { format, files } = random.pick(SEEDS);
  return {
    format,
    files: files.map((file) => ({
      path: random.oneIn(25) ? mutateBytes(random, Buffer.from(file.path)).toString("latin1") : file.path,
      content: contentOf(random, file.lines),
    })),
  };
}

function programInput(random: Random, format: ProgramName): Recording {
  const { seeds } = PROGRAMS[format];
  const content =
    typeof seeds === "function"
      ? seeds(random)
      : contentOf(random, seeds.length > 3 ? seeds : [random.pick(seeds)]);
  return {
    format,
    files: [{ path: random.pick(["claude-code", "copilot", "codex", "__proto__", ""]), content }],
  };
}

function contentOf(random: Random, values: readonly unknown[]): Buffer {
  const lines = values.flatMap((value) => {
    const kind = random.below(20);
    if (kind === 0) return [];
    const line = kind < 8 ? mutateJson(random, value) : value;
    return kind === 8 ? [line, line] : [line];
  });
  if (random.oneIn(4) && lines.length > 1) lines.reverse();
  const content = Buffer.from(lines.map(jsonText).join(random.oneIn(30) ? "\r\n" : "\n"));
  return random.oneIn(3) ? mutateBytes(random, content) : content;
}

/** Many lines of one kind, at different times: what takes a reader longer than the length of a recording. */
function largeRecording(random: Random, { format, files }: Seed): Recording {
  const file = random.pick(files);
  const line = JSON.stringify(random.pick(file.lines));
  const few = file.lines.map((other) => JSON.stringify(other));
  const many = Array.from({ length: random.between(5_000, 20_000) }, (_, n) => numbered(line, n));
  return { format, files: [{ path: file.path, content: Buffer.from([...few, ...many].join("\n")) }] };
}

/** The line with another time and other ids. OpenClaw has JSON within a text of JSON. */
export function numbered(line: string, n: number): string {
  const at = Date.UTC(2026, 10, 20, 11) + n * 1_000;
  return line
    .replace(/(\\?")(timestamp|end_time|end_timestamp)\1:\1[^"\\]*\1/g, (_, quote, name) =>
      [quote, name, quote, ":", quote, new Date(at).toISOString(), quote].join(""),
    )
    .replace(/"(time|created_timestamp)":\d+/g, (_, name) => `"${name}":${name === "time" ? at : at / 1_000}`)
    .replace(
      /(\\?")(uuid|id|requestId|response_id|window_id|turn|op_id)\1:(\\?"?)[^",}\\]*(\\?"?)/g,
      (_, quote, name, open) => `${quote}${name}${quote}:${open === "" ? n : `${open}${name}-${n}${open}`}`,
    )
    .replace(/"parentUuid":"[^"]*"/g, `"parentUuid":"uuid-${n - 1}"`);
}

export interface ReadVerdict {
  fault?: Fault;
  detail?: string;
  events: number;
  ms: number;
}

/** Reads a recording as `plimsoll import` does, and checks that the server would take every event of it. */
export async function readRecording({ format, files }: Recording): Promise<ReadVerdict> {
  const began = performance.now();
  try {
    if (format in PROGRAMS) {
      const { read } = PROGRAMS[format as ProgramName];
      const events = (await Promise.all(files.map(({ path, content }) => read(content, path))))
        .flat()
        .filter(isSendable);
      return verdictOn(format, events, performance.now() - began);
    }
    const reader = createReader(format as Format, { harness: "fuzz@host", titles: true });
    for (const { path, content } of files) {
      const lines = new Lines();
      for (let at = 0; at < content.length; at += CHUNK) {
        for (const line of lines.push(content.subarray(at, at + CHUNK))) readLine(line, path);
      }
      for (const line of lines.end()) readLine(line, path);
    }
    const { events } = reader.take(true);
    for (const { level, rest, items } of reader.contents?.() ?? []) {
      const sum = items.reduce((all, { tokens }) => all + tokens, rest);
      if (sum !== level) throw new Error(`the parts of a window are ${sum} of ${level} tokens`);
    }
    const ends = importedEnds(events);
    return verdictOn(format, [...events, ...ends], performance.now() - began);

    function readLine(line: string, path: string): void {
      detectFormat(line);
      reader.read(line, { path });
    }
  } catch (error) {
    const detail = `${format}: ${error instanceof Error ? `${error.name} ${error.message}` : error}`;
    return { fault: "exception", detail, events: 0, ms: performance.now() - began };
  }
}

/** Whether the server would take every event. */
function verdictOn(format: string, events: readonly object[], ms: number): ReadVerdict {
  for (const event of events) {
    const parsed = parseEvent(JSON.parse(JSON.stringify(event)));
    if (parsed.ok) continue;
    const { path, message } = parsed.rejection;
    const { type } = event as { type?: string };
    return {
      fault: "invalid_event",
      detail: `${format} ${type}: ${path} ${message}`,
      events: events.length,
      ms,
    };
  }
  return { events: events.length, ms };
}

/** `readRecording`, with a fault if it takes too long twice. The second time excludes a busy machine. */
export async function judgeRecording(recording: Recording): Promise<ReadVerdict> {
  const bytes = recording.files.reduce((sum, { content }) => sum + content.length, 0);
  const limit = LIMIT_MS.base + (LIMIT_MS.megabyte * bytes) / 1_000_000;
  const verdict = await readRecording(recording);
  if (verdict.fault !== undefined || verdict.ms <= limit) return verdict;
  const again = await readRecording(recording);
  if (again.fault !== undefined || again.ms <= limit) return again;
  const detail = `${recording.format}: ${Math.round(again.ms)} ms for ${bytes} bytes`;
  return { ...again, fault: "stall", detail };
}
