import { LIMITS } from "@plimsoll/protocol/events";
import type { BodyBudget } from "../../bodies/body-budget.ts";
import { jsonErrorPosition } from "../../bodies/json-position.ts";
import { type JsonRange, type JsonScan, scanJson } from "../../bodies/scan-json.ts";
import { PlimsollError } from "../../errors.ts";

/**
 * Finds the events in a body of JSON without parsing it as a whole: millions of tiny values in one text would stop the
 * process for seconds, and take thirty times its size. The body is an array of events, or an object with `events`.
 * Yields undefined where the work may be paused.
 * @param bytes valid UTF-8
 * @param found gets the text of each element of the list, its position in bytes, its number of values, and whether
 * the body ends within it; may throw
 * @returns what is left of the body without the elements, such as `{"events":[]}`, parsed
 * @throws PlimsollError `bad_request` if the body is not JSON, and what `scanJson` throws
 */
export function* splitJson(
  bytes: Buffer,
  budget: BodyBudget,
  found: (from: number, to: number, values: number, isCut: boolean) => void,
): Generator<undefined, unknown> {
  /** Where the list of events lies: behind its `[`, and at its `]` or the end of the body. */
  let list: JsonRange | undefined;
  let root: "list" | "object" | undefined;
  /** The depth inside the list of events, while in it. */
  let listDepth = -1;
  let elementFrom = 0;
  let valuesBefore = 0;

  const endElement = ({ at, end, values }: JsonScan, place: "before_comma" | "last" | "cut"): void => {
    const to = Math.max(end, elementFrom);
    // An empty list has one empty element; any other empty element is a mistake, which parsing it will report.
    if (place === "before_comma" || elementFrom !== list!.from || to !== elementFrom)
      found(elementFrom, to, values - valuesBefore, place === "cut");
    elementFrom = at + 1;
    valuesBefore = values;
  };

  const whole = yield* scanJson(bytes, budget, {
    depth: 2,
    open({ at, depth, values, name }, isList) {
      root ??= isList ? "list" : "object";
      if (!isList || (depth === 2 && (root === "list" || !isEvents(bytes, name)))) return;
      if (list !== undefined) throw new PlimsollError("bad_request", 'The body has "events" twice.');
      list = { from: at + 1, to: bytes.length };
      listDepth = depth;
      elementFrom = at + 1;
      valuesBefore = values;
    },
    comma(scan) {
      if (scan.depth === listDepth) endElement(scan, "before_comma");
    },
    close(scan) {
      if (scan.depth !== listDepth) return;
      endElement(scan, "last");
      list!.to = scan.at;
      listDepth = -1;
    },
  });
  if (listDepth >= 0) endElement(whole, "cut");
  return parseRest(bytes.subarray(0, whole.end), list);
}

function parseRest(bytes: Buffer, list: JsonRange | undefined): unknown {
  const from = Math.min(list?.from ?? bytes.length, bytes.length);
  const to = Math.min(list?.to ?? bytes.length, bytes.length);
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
export function lengthOf(bytes: Buffer, from: number, to: number): number {
  let length = 0;
  // In pieces of whole characters: one text of a large body would take twice its size.
  for (let at = from, end: number; at < to; at = end) {
    end = Math.min(at + PIECE, to);
    while (end < to && (bytes[end]! & 0xc0) === 0x80) end += 1;
    length += bytes.toString("utf8", at, end).length;
  }
  return length;
}

const PIECE = 64 * 1024;

/** Whether a key, in its quotes, is `events`. It may be written with escapes. */
function isEvents(bytes: Buffer, { from, to }: JsonRange): boolean {
  if (to - from > 64) return false;
  const text = bytes.toString("utf8", from, to);
  if (text === '"events"') return true;
  try {
    return text.includes("\\") && JSON.parse(text) === "events";
  } catch {
    return false;
  }
}
