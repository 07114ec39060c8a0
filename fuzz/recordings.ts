import { parseEvent } from "@plimsoll/protocol";
import type { z } from "zod";
import { Lines } from "../packages/cli/src/import/lines.ts";
import { importedEnds } from "../packages/cli/src/import/session-ends.ts";
import { createReader, detectFormat } from "../packages/cli/src/readers/detect.ts";
import type { Format } from "../packages/cli/src/readers/reader.ts";
import { bytesOf, type KeptRecording } from "./corpus.ts";
import { jsonText } from "./json-text.ts";
import type { Fault } from "./judge.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { Random } from "./random.ts";
import { SEEDS, type Seed } from "./recording-seeds.ts";

/** A group of files that one reader reads. */
export interface Recording {
  format: Format;
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

/** The line with another time and other ids. */
export function numbered(line: string, n: number): string {
  const time = new Date(Date.UTC(2026, 10, 20, 11) + n * 1_000).toISOString();
  return line
    .replace(/"timestamp":"[^"]*"/g, `"timestamp":"${time}"`)
    .replace(/"(uuid|id|requestId|response_id|window_id|turn|op_id)":("?)[^",}]*"?/g, (_, name, quote) =>
      quote === "" ? `"${name}":${n}` : `"${name}":"${name}-${n}"`,
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
export function readRecording({ format, files }: Recording): ReadVerdict {
  const began = performance.now();
  try {
    const reader = createReader(format, { harness: "fuzz@host", titles: true });
    for (const { path, content } of files) {
      const lines = new Lines();
      for (let at = 0; at < content.length; at += CHUNK) {
        for (const line of lines.push(content.subarray(at, at + CHUNK))) readLine(line, path);
      }
      for (const line of lines.end()) readLine(line, path);
    }
    const { events } = reader.take(true);
    const ends = importedEnds(events);
    const ms = performance.now() - began;
    for (const event of [...events, ...ends]) {
      const parsed = parseEvent(JSON.parse(JSON.stringify(event)));
      if (parsed.ok) continue;
      const { path, message } = parsed.rejection;
      return {
        fault: "invalid_event",
        detail: `${format} ${event.type}: ${path} ${message}`,
        events: events.length,
        ms,
      };
    }
    return { events: events.length, ms };

    function readLine(line: string, path: string): void {
      detectFormat(line);
      reader.read(line, { path });
    }
  } catch (error) {
    const detail = `${format}: ${error instanceof Error ? `${error.name} ${error.message}` : error}`;
    return { fault: "exception", detail, events: 0, ms: performance.now() - began };
  }
}

/** `readRecording`, with a fault if it takes too long twice. The second time excludes a busy machine. */
export function judgeRecording(recording: Recording): ReadVerdict {
  const bytes = recording.files.reduce((sum, { content }) => sum + content.length, 0);
  const limit = LIMIT_MS.base + (LIMIT_MS.megabyte * bytes) / 1_000_000;
  const verdict = readRecording(recording);
  if (verdict.fault !== undefined || verdict.ms <= limit) return verdict;
  const again = readRecording(recording);
  if (again.fault !== undefined || again.ms <= limit) return again;
  const detail = `${recording.format}: ${Math.round(again.ms)} ms for ${bytes} bytes`;
  return { ...again, fault: "stall", detail };
}
