import { LIMITS } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
import { jsonErrorPosition } from "./json-position.ts";

/** Bytes looked at between two pauses: about half a millisecond. */
const PAUSE = 256 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Where the list of events lies in a body: behind its `[`, and at its `]` or the end of the body. */
interface List {
  from: number;
  to: number;
}

/**
 * Finds the events in a body of JSON without parsing it as a whole: millions of tiny values in one text would stop the
 * process for seconds, and take thirty times its size. The body is an array of events, or an object with `events`.
 * Yields undefined where the work may be paused.
 * @param bytes valid UTF-8
 * @param found gets the text of each element of the list, and its position in bytes; may throw
 * @returns what is left of the body without the elements, such as `{"events":[]}`, parsed
 * @throws PlimsollError `bad_request` if the body is not JSON
 */
export function* splitJson(
  bytes: Buffer,
  found: (from: number, to: number) => void,
): Generator<undefined, unknown> {
  let list: List | undefined;
  let root = 0;
  let depth = 0;
  /** The depth inside the list of events, while in it. */
  let listDepth = -1;
  let elementFrom = 0;
  let inString = false;
  let stringFrom = 0;
  let key: List = { from: 0, to: 0 };
  let afterColon = false;

  const endElement = (end: number, last: boolean): void => {
    const to = withoutBlanks(bytes, elementFrom, end);
    // An empty list has one empty element; any other empty element is a mistake, which parsing it will report.
    if (!(last && elementFrom === list!.from && to === elementFrom)) found(elementFrom, to);
    elementFrom = end + 1;
  };
  const beginList = (at: number): void => {
    if (list !== undefined) throw new PlimsollError("bad_request", 'The body has "events" twice.');
    list = { from: at + 1, to: bytes.length };
    listDepth = depth;
    elementFrom = at + 1;
  };

  let at = 0;
  while (at < bytes.length) {
    const pauseAt = Math.min(at + PAUSE, bytes.length);
    for (; at < pauseAt; at++) {
      const code = bytes[at]!;
      if (inString) {
        if (code === BACKSLASH) at += 1;
        else if (code === QUOTE) {
          inString = false;
          if (depth === 1) key = { from: stringFrom, to: at + 1 };
        }
        continue;
      }
      if (code === COMMA) {
        if (depth === listDepth) endElement(at, false);
      } else if (code === QUOTE) {
        inString = true;
        stringFrom = at;
        afterColon = false;
      } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        depth += 1;
        if (root === 0 && depth === 1) {
          root = code;
          if (code === OPEN_LIST) beginList(at);
        } else if (depth === 2 && code === OPEN_LIST && afterColon && isEvents(bytes, key)) beginList(at);
        afterColon = false;
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
        if (depth === listDepth) {
          endElement(at, true);
          list!.to = at;
          listDepth = -1;
        }
        depth -= 1;
      } else if (code === COLON) afterColon = depth === 1 && root === OPEN_OBJECT;
      else if (code > 0x20) afterColon = false;
    }
    yield;
  }
  if (listDepth >= 0) endElement(bytes.length, true);
  return parseRest(bytes, list);
}

function parseRest(bytes: Buffer, list: List | undefined): unknown {
  const { from, to } = list ?? { from: bytes.length, to: bytes.length };
  const rest = bytes.length - (to - from);
  if (rest > LIMITS.eventBytes) {
    const what = list === undefined ? "and no list of events" : "beside its list of events";
    throw new PlimsollError(
      "too_large",
      `The body has ${rest} bytes ${what}; the limit is ${LIMITS.eventBytes}, as for one event.`,
      { details: { limit: LIMITS.eventBytes, unit: "bytes" } },
    );
  }
  const before = bytes.toString("utf8", 0, from);
  const text = before + bytes.toString("utf8", to);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const position = jsonErrorPosition(text);
    const left = list === undefined || position < before.length ? 0 : lengthOf(bytes, from, to);
    throw notJson(position + left, position >= text.length, cause);
  }
}

/** Why a whole body was refused. @param position index of the character that breaks it */
export function notJson(position: number, endsTooSoon: boolean, cause?: unknown): PlimsollError {
  // Not the engine's words: they quote the body, and this message is logged.
  const what = endsTooSoon ? "It ends too soon" : "It breaks";
  return new PlimsollError("bad_request", `The body is not valid JSON. ${what} at position ${position}.`, {
    details: { position },
    cause,
  });
}

/** The number of characters between two positions in bytes. */
export const lengthOf = (bytes: Buffer, from: number, to: number): number =>
  bytes.toString("utf8", from, to).length;

/** Where the text before `to` ends, without the white space behind it. */
export function withoutBlanks(bytes: Buffer, from: number, to: number): number {
  let end = to;
  while (end > from && BLANKS.has(bytes[end - 1]!)) end -= 1;
  return end;
}

/** White space of JSON. */
const BLANKS = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** Whether a key, in its quotes, is `events`. It may be written with escapes. */
function isEvents(bytes: Buffer, { from, to }: List): boolean {
  if (to - from > 64) return false;
  const text = bytes.toString("utf8", from, to);
  if (text === '"events"') return true;
  try {
    return text.includes("\\") && JSON.parse(text) === "events";
  } catch {
    return false;
  }
}
