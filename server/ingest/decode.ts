import { isUtf8 } from "node:buffer";
import { LIMITS } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
import type { FairTurns } from "./fair-turns.ts";
import { inflateBody } from "./inflate.ts";
import { jsonErrorPosition } from "./json-position.ts";
import { lengthOf, notJson, splitJson, withoutBlanks } from "./split-json.ts";

const JSON_TYPES = new Set(["", "application/json", "text/json"]);
const NDJSON_TYPES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);

/** Events checked between two pauses. */
const PAUSE_EVENTS = 32;

/** An event still to be checked, the reason a line of NDJSON is none, or the size of one that is too large to parse. */
export type RawEvent = { value: unknown } | { unreadable: string } | { bytes: number };

export interface EncodedBody {
  bytes: Buffer;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** Told of memory needed to decompress, in bytes; what it throws refuses the request. */
  reserve: (bytes: number) => void;
}

/**
 * Turns a request body into events to check one by one, in slices that leave time for other requests.
 * @param take gets each event, in order; after an error, what it got is to be dropped
 * @throws PlimsollError `bad_request`, `too_large` or `unsupported_media_type`, which refuse the whole request.
 */
export async function decodeBody(
  body: EncodedBody,
  turns: FairTurns,
  take: (event: RawEvent) => void,
): Promise<void> {
  const type = (body.contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const lines = NDJSON_TYPES.has(type);
  if (!lines && !JSON_TYPES.has(type)) {
    throw new PlimsollError(
      "unsupported_media_type",
      `Content-Type ${type.slice(0, 128)} is not understood: send application/json or application/x-ndjson.`,
    );
  }
  const all = withoutByteOrderMark(await plainBytes(body));
  if (lines) return turns.run(readLines(all, take));
  const bytes = all.subarray(0, withoutBlanks(all, 0, all.length));
  // Decoding would put the same character for every byte it cannot read, and names that differ would become one.
  if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
  return turns.run(bytes.length <= LIMITS.eventBytes ? readSmall(bytes, take) : readLarge(bytes, take));
}

/** Some editors and shells begin a file with it; RFC 8259 lets a reader pass over it. */
function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Asked before an object is made of each: millions of tiny values fit into a body that is small once compressed. */
function checkCount(events: number, orMore = ""): void {
  if (events <= LIMITS.events) return;
  throw new PlimsollError(
    "too_large",
    `${events}${orMore} events in one request; the limit is ${LIMITS.events}. Send smaller batches.`,
    { details: { limit: LIMITS.events, unit: "events" } },
  );
}

function plainBytes({ bytes, contentEncoding, reserve }: EncodedBody): Buffer | Promise<Buffer> {
  if (bytes.length > LIMITS.compressedBytes) throw tooManyBytes(bytes.length, LIMITS.compressedBytes);
  const encoding = (contentEncoding ?? "identity").trim().toLowerCase();
  return encoding === "identity" || encoding === "" ? bytes : inflateBody(bytes, encoding, reserve);
}

/** @param limit in bytes */
export function tooManyBytes(bytes: number | undefined, limit: number): PlimsollError {
  const size = bytes === undefined ? "" : ` of ${bytes} bytes`;
  return new PlimsollError(
    "too_large",
    `The body${size} is over the limit of ${limit} bytes. Compress it or send smaller batches.`,
    { details: { limit, unit: "bytes" } },
  );
}

/** A body no larger than one event may be: the engine parses it within milliseconds, whatever it holds. */
function* readSmall(bytes: Buffer, take: (event: RawEvent) => void): Generator<undefined, void> {
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const position = jsonErrorPosition(text);
    throw notJson(position, position >= text.length, cause);
  }
  const events = eventsOf(value);
  if (events === undefined) return take({ value });
  checkCount(events.length);
  for (let index = 0; index < events.length; index++) {
    take({ value: events[index] });
    if (index % PAUSE_EVENTS === PAUSE_EVENTS - 1) yield;
  }
}

function* readLarge(bytes: Buffer, take: (event: RawEvent) => void): Generator<undefined, void> {
  const waiting: [from: number, to: number][] = [];
  let events = 0;
  const parts = splitJson(bytes, (from, to) => {
    checkCount(++events);
    waiting.push([from, to]);
  });
  for (;;) {
    const part = parts.next();
    for (let index = 0; index < waiting.length; index++) {
      take(readElement(bytes, ...waiting[index]!));
      yield;
    }
    waiting.length = 0;
    if (part.done === true) {
      eventsOf(part.value);
      return;
    }
    yield;
  }
}

function readElement(bytes: Buffer, from: number, to: number): RawEvent {
  if (to - from > LIMITS.eventBytes) return { bytes: to - from };
  const text = bytes.toString("utf8", from, to);
  try {
    return { value: JSON.parse(text) };
  } catch (cause) {
    const position = jsonErrorPosition(text);
    const endsTooSoon = position >= text.length && to === bytes.length;
    throw notJson(lengthOf(bytes, 0, from) + position, endsTooSoon, cause);
  }
}

/** @returns undefined for a single event */
function eventsOf(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) {
    throw new PlimsollError(
      "bad_request",
      'The body must be an event, an array of events or {"events": [...]}.',
    );
  }
  const { events } = value as { events?: unknown };
  if (events === undefined || Array.isArray(events)) return events;
  throw new PlimsollError("bad_request", '"events" must be an array of events.');
}

const LINE_FEED = 0x0a;

function* readLines(bytes: Buffer, take: (event: RawEvent) => void): Generator<undefined, void> {
  const readable = isUtf8(bytes);
  let events = 0;
  let blank = 0;
  let next = 0;
  while (next < bytes.length) {
    const found = bytes.indexOf(LINE_FEED, next);
    const to = found === -1 ? bytes.length : found;
    const event = readLine(bytes.subarray(next, to), readable);
    next = to + 1;
    if (event === undefined) {
      if (++blank > LIMITS.events) throw tooManyBlankLines();
    } else {
      checkCount(++events, " or more");
      take(event);
    }
    yield;
  }
}

function tooManyBlankLines(): PlimsollError {
  return new PlimsollError("too_large", `More than ${LIMITS.events} blank lines in one request.`, {
    details: { limit: LIMITS.events, unit: "blank lines" },
  });
}

/** @returns undefined for a blank line */
function readLine(line: Buffer, readable: boolean): RawEvent | undefined {
  if (line.length > LIMITS.eventBytes) return { bytes: line.length };
  if (!readable && !isUtf8(line)) return { unreadable: "is not valid UTF-8" };
  const text = line.toString("utf8");
  if (text.trim() === "") return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { unreadable: `is not valid JSON at position ${jsonErrorPosition(text)} of its line` };
  }
}
