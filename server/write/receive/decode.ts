import { isUtf8 } from "node:buffer";
import { LIMITS } from "@plimsoll/protocol/events";
import { type BodyBudget, overLimit, tooManyBytes, tooManyValues } from "../../bodies/body-budget.ts";
import type { FairTurns } from "../../bodies/fair-turns.ts";
import { inflateBody } from "../../bodies/inflate.ts";
import { jsonErrorPosition } from "../../bodies/json-position.ts";
import { scanJson } from "../../bodies/scan-json.ts";
import { PlimsollError } from "../../errors.ts";
import { lengthOf, notJson, splitJson } from "./split-json.ts";

const JSON_TYPES = new Set(["", "application/json", "text/json"]);
const NDJSON_TYPES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);

/** Events checked between two pauses. */
const PAUSE_EVENTS = 32;

/** An event still to be checked, the reason a line of NDJSON is none, or why one is too large to be parsed. */
export type RawEvent = { value: unknown } | { unreadable: string } | { tooLarge: string };

export interface EncodedBody {
  bytes: Buffer;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  budget: BodyBudget;
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
  const { budget } = body;
  if (body.bytes.length > LIMITS.compressedBytes)
    throw tooManyBytes(body.bytes.length, LIMITS.compressedBytes);
  const bytes = withoutByteOrderMark(await inflateBody(body.bytes, body.contentEncoding, budget));
  if (lines) return turns.run(readLines(bytes, budget, take));
  // Decoding would put the same character for every byte it cannot read, and names that differ would become one.
  if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
  return turns.run(
    bytes.length <= LIMITS.eventBytes ? readSmall(bytes, budget, take) : readLarge(bytes, budget, take),
  );
}

/** Some editors and shells begin a file with it; RFC 8259 lets a reader pass over it. */
function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Asked before an object is made of each: millions of tiny values fit into a body that is small once compressed. */
function checkCount(events: number, orMore = ""): void {
  if (events <= LIMITS.events) return;
  throw overLimit(
    `${events}${orMore} events in one request; the limit is ${LIMITS.events}.`,
    LIMITS.events,
    "events",
  );
}

/** A body no larger than one event may be: the engine parses it within milliseconds, whatever it holds. */
function* readSmall(
  bytes: Buffer,
  budget: BodyBudget,
  take: (event: RawEvent) => void,
): Generator<undefined, void> {
  const { values } = yield* scanJson(bytes, budget);
  yield* budget.holding(values, takeAll(bytes, take));
}

function* takeAll(bytes: Buffer, take: (event: RawEvent) => void): Generator<undefined, void> {
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

function* readLarge(
  bytes: Buffer,
  budget: BodyBudget,
  take: (event: RawEvent) => void,
): Generator<undefined, void> {
  const waiting: Element[] = [];
  let events = 0;
  const parts = splitJson(bytes, budget, (from, to, values, isCut) => {
    checkCount(++events);
    waiting.push({ from, to, values, isCut });
  });
  for (;;) {
    const part = parts.next();
    for (let index = 0; index < waiting.length; index++) {
      take(readElement(bytes, waiting[index]!));
      yield;
    }
    waiting.length = 0;
    if (part.done === true) {
      if (eventsOf(part.value) === undefined) take({ value: part.value });
      return;
    }
    yield;
  }
}

interface Element {
  from: number;
  to: number;
  values: number;
  /** Whether the body ends within it. */
  isCut: boolean;
}

function readElement(bytes: Buffer, { from, to, values, isCut }: Element): RawEvent {
  const tooLarge = tooManyEventBytes(to - from) ?? tooManyValues(values);
  if (tooLarge !== undefined) return { tooLarge };
  const text = bytes.toString("utf8", from, to);
  try {
    return { value: JSON.parse(text) };
  } catch (cause) {
    const position = jsonErrorPosition(text);
    throw notJson(lengthOf(bytes, 0, from) + position, position >= text.length && isCut, cause);
  }
}

function tooManyEventBytes(bytes: number): string | undefined {
  return bytes <= LIMITS.eventBytes
    ? undefined
    : `has ${bytes} bytes; at most ${LIMITS.eventBytes} are allowed`;
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

function* readLines(
  bytes: Buffer,
  budget: BodyBudget,
  take: (event: RawEvent) => void,
): Generator<undefined, void> {
  const readable = isUtf8(bytes);
  let events = 0;
  let blank = 0;
  let next = 0;
  while (next < bytes.length) {
    const found = bytes.indexOf(LINE_FEED, next);
    const to = found === -1 ? bytes.length : found;
    const event = yield* readLine(bytes.subarray(next, to), readable, budget);
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
  return overLimit(`More than ${LIMITS.events} blank lines in one request.`, LIMITS.events, "blank lines");
}

/** @returns undefined for a blank line */
function* readLine(
  line: Buffer,
  readable: boolean,
  budget: BodyBudget,
): Generator<undefined, RawEvent | undefined> {
  let tooLarge = tooManyEventBytes(line.length);
  if (tooLarge !== undefined) return { tooLarge };
  if (!readable && !isUtf8(line)) return { unreadable: "is not valid UTF-8" };
  tooLarge = tooManyValues((yield* scanJson(line, budget)).values);
  if (tooLarge !== undefined) return { tooLarge };
  const text = line.toString("utf8");
  if (text.trim() === "") return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { unreadable: `is not valid JSON at position ${jsonErrorPosition(text)} of its line` };
  }
}
