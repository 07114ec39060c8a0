import {
  BODY_LIMITS,
  type BodyBudget,
  overLimit,
  PAUSE_BYTES,
  tooDeep,
  tooManyFields,
} from "./body-budget.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A text in a body: its first byte, and the one behind its last. */
export interface JsonRange {
  from: number;
  to: number;
}

/** What a scan has reached. Kept by the scan, so read it at once. */
export interface JsonScan {
  /** Position of the bracket or comma; the end of the body. */
  at: number;
  /** Containers around it, or around what is inside of a bracket. */
  depth: number;
  /** Where the text before it ends, without white space. */
  end: number;
  /** Values so far. */
  values: number;
  /** The latest text at a reported depth, with its quotes: the name of what an opening bracket begins, in an object. */
  name: JsonRange;
}

/** Calls about the outer containers of a body. */
export interface JsonListener {
  /** Containers inside this many others are not reported. */
  depth: number;
  open(scan: JsonScan, isList: boolean): void;
  comma(scan: JsonScan): void;
  close(scan: JsonScan): void;
}

const NOBODY: JsonListener = { depth: 0, open() {}, comma() {}, close() {} };

/**
 * Passes over a body of JSON without parsing it, and holds it to the limits of every body. Yields undefined where the work
 * may be paused. The parser of the body, or of its parts, finds out whether it is JSON.
 * @returns the end of the scan; `values` is right for JSON
 * @throws PlimsollError `bad_request` for too much nesting, `too_large` for too many values or fields
 */
export function* scanJson(
  bytes: Buffer,
  budget: BodyBudget,
  listener: JsonListener = NOBODY,
): Generator<undefined, JsonScan> {
  const scan: JsonScan = { at: 0, depth: 0, end: 0, values: 1, name: { from: 0, to: 0 } };
  const isObject = [false];
  const commas = [0];
  const reported = listener.depth;
  let depth = 0;
  let values = 1;
  let counted = 0;
  let inString = false;
  let stringFrom = 0;
  let end = 0;
  let at = 0;

  const reach = (): JsonScan => {
    scan.at = at;
    scan.depth = depth;
    scan.end = end;
    scan.values = values;
    return scan;
  };

  while (at < bytes.length) {
    const pauseAt = Math.min(at + PAUSE_BYTES, bytes.length);
    const last = pauseAt - 1;
    for (; at < pauseAt; at++) {
      let code = bytes[at]!;
      if (inString) {
        while (code !== QUOTE && code !== BACKSLASH && at < last) code = bytes[++at]!;
        if (code === BACKSLASH) at += 1;
        else if (code === QUOTE) {
          inString = false;
          end = at + 1;
          if (depth <= reported) {
            scan.name.from = stringFrom;
            scan.name.to = end;
          }
        }
        continue;
      }
      // Digits, the colon and capitals first: they are most of what is outside of texts.
      if (code > COMMA && code < OPEN_LIST) {
        end = at + 1;
        continue;
      }
      if (code <= 0x20) {
        if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) end = at + 1;
        continue;
      }
      if (code === QUOTE) {
        inString = true;
        stringFrom = at;
      } else if (code === COMMA) {
        values += 1;
        if (++commas[depth]! >= BODY_LIMITS.fields && isObject[depth])
          throw overLimit(tooManyFields("object"), BODY_LIMITS.fields, "fields");
        if (depth <= reported) listener.comma(reach());
      } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        depth += 1;
        if (depth > BODY_LIMITS.depth) throw tooDeep(at);
        values += 1;
        commas[depth] = 0;
        isObject[depth] = code === OPEN_OBJECT;
        if (depth <= reported) listener.open(reach(), code === OPEN_LIST);
      } else if ((code === CLOSE_LIST || code === CLOSE_OBJECT) && depth > 0) {
        if (depth <= reported) listener.close(reach());
        depth -= 1;
      }
      end = at + 1;
    }
    budget.addValues(values - counted);
    counted = values;
    yield;
  }
  if (inString) end = bytes.length;
  return reach();
}
