import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/pure";
import { type Harness, isNone } from "./harness.ts";
import { asObject, parseJson, parseObject } from "./recordings/json.ts";
import {
  addSkips,
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
  TOO_LONG_LINE,
} from "./recordings/reader.ts";
import { type FamilyWith, HARNESSES, partsOf } from "./registry.ts";

export { fileThread } from "./codex/recording-line.ts";
export { logPlace } from "./ouroboros/recording-chain.ts";
export { ouroContextLimit } from "./ouroboros/recordings.ts";
export type { Losable } from "./recordings/compaction-loss.ts";
export { type ContentPart, contentsTree, largestItems } from "./recordings/contents-tree.ts";
export { type HeldThing, largestThings } from "./recordings/held-things.ts";
export * from "./recordings/json.ts";
export { candidateRecords, hasMappedRecords, mappedReader } from "./recordings/mapped.ts";
export * from "./recordings/reader.ts";
export { fileStem, fitName } from "./recordings/text.ts";
export type {
  AgentContents,
  ContentItem,
  ContentKind,
  HeldItem,
  WindowContents,
} from "./recordings/transcript-parts.ts";

/** Formats of recordings. Each is also the name part of its default harness instance, `<name>@<host>`. */
export type Format = FamilyWith<"recordings">;
/** A format, or `mapped` for a file that is read by a mapping. */
export type SourceFormat = Format | "mapped";

const RECORDINGS: readonly (readonly [Format, Recordings])[] = partsOf("recordings");

export const FORMATS: readonly Format[] = RECORDINGS.map(([format]) => format);

/** The formats as lines of a help text: the name, and where its recordings usually are. */
export const FORMAT_PLACES: readonly (readonly [name: string, place: string])[] = RECORDINGS.map(
  ([format, { place }]) => [HARNESSES[format].name, place],
);

/** The harnesses whose recordings show what fills a window. */
export const SHOWING: readonly string[] = RECORDINGS.flatMap(([format]) =>
  isNone(HARNESSES[format].contents) ? [] : [HARNESSES[format].name],
);

/** Why recordings of a format do not show it; undefined if they do. @param format also that of a mapping */
export function whyNotShown(format: SourceFormat): string | undefined {
  if (format === "mapped") return undefined;
  const contents: Harness["contents"] = HARNESSES[format].contents;
  return isNone(contents) ? contents.none : undefined;
}

/** Whether recordings of a harness instance can show what survived a compaction. */
export const showsSummaries = (harness: string): boolean =>
  RECORDINGS.some(
    ([format, recordings]) => format === familyOf(harness) && recordings.showsSummaries === true,
  );

/** Crush and Roo Code hold totals, and so does Goose before its ledger. Their files are looked at, so that the summary says why they are not read. */
const TOTALS = [/^crush\.db$/, /^history_item\.json$/];

const NAMES: readonly RegExp[] = [...RECORDINGS.flatMap(([, { files }]) => files ?? []), ...TOTALS];

/** Whether a harness gives its recordings such a name, in folders that hold other files too. */
export const isRecordingName = (name: string): boolean =>
  /\.jsonl(\.zstd?)?$/.test(name) || NAMES.some((pattern) => pattern.test(name));

export function createReader(format: Format, options: ReaderOptions): HarnessReader {
  const { recordings, contents } = HARNESSES[format];
  const reader = recordings.reader(options);
  const skips = new Skips();
  return {
    read(line, file) {
      if (line === TOO_LONG_LINE) return skips.count("too_long");
      const skip = read(line, file);
      if (skip !== "unreadable") return skip;
      const [first, ...others] = line.split(JOINT, MOST_JOINED);
      const parts = others.length > 0 && first!.endsWith("}") ? [first!, ...others] : others;
      return parts.map((part) => read(part, file)).includes(undefined) ? undefined : skip;
    },
    ...(reader.contents !== undefined && !isNone(contents) && { contents: () => reader.contents!() }),
    take(final) {
      const { events, skipped } = reader.take(final);
      const all = skips.drain();
      addSkips(all, skipped);
      return { events: events.map(byTranscript), skipped: all };
    },
  };

  function read(line: string, file: FileHint): SkipReason | undefined {
    try {
      return reader.read(line, file);
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      return skips.count("too_deep");
    }
  }
}

/** Parts of one line that are read. More are only in broken files. */
const MOST_JOINED = 1_000;
/**
 * Where a line that a crash cut off ends, and the next run of the harness began to write. Within an object, another one comes after a
 * colon, a bracket, a comma or a space, and the quotes of a text are escaped.
 */
const JOINT = /(?<=[^:[,\s])(?=\{"\w+":)/;

/** Whether the stack ended. JSON is parsed however deep it is, but not written or walked. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError && /call stack/i.test(error.message);

const byTranscript = (event: PlimsollEventInput): PlimsollEventInput =>
  event.type === "turn" ? { ...event, witness: "transcript" } : event;

/** Returns the format of a line or a document, or undefined if it does not identify one. */
export function detectFormat(text: string): Format | undefined {
  const json = parseJson(text);
  const object = asObject(json);
  return RECORDINGS.find(([, { recognizes, recognizesList }]) =>
    Array.isArray(json) ? recognizesList?.(json) : object !== undefined && recognizes(object),
  )?.[0];
}

/** Whether a document is an entry of Roo Code's history, which has only totals. */
export function isRooHistory(text: string): boolean {
  const json = parseObject(text);
  return json !== undefined && "tokensIn" in json && "totalCost" in json && "task" in json;
}
