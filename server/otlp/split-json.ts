import { isUtf8 } from "node:buffer";
import { PlimsollError } from "../errors.ts";
import { MOST_RECORDS, tooManyRecords } from "./record-limit.ts";

/** Bytes looked at between two pauses: about half a millisecond. */
const PAUSE = 256 * 1024;
/** Largest body without its records, in bytes. */
const MOST_REST = 4 * 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Containers around a record: {"resourceSpans": [{"scopeSpans": [{"spans": [ … */
const AROUND_RECORD = [OPEN_OBJECT, OPEN_LIST, OPEN_OBJECT, OPEN_LIST, OPEN_OBJECT, OPEN_LIST];

/** A body in which each list of records is replaced by its index in `lists`. */
export interface SplitBody {
  rest: unknown;
  /** Positions of the records of each list: first byte, byte behind the last. */
  lists: readonly (readonly number[])[];
}

/**
 * Finds the records in a body of OTLP/JSON without parsing it as a whole, which could stop the process for seconds. Yields
 * where the work may pause.
 * @throws PlimsollError `bad_request` if what is left is not JSON, `too_large` if there are too many records
 */
export function* splitOtlpJson(bytes: Buffer): Generator<undefined, SplitBody> {
  // Decoding would put the same character for every byte it cannot read, and names that differ would become one.
  if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
  const lists: number[][] = [];
  const rest: Buffer[] = [];
  const containers: number[] = [];
  let restFrom = 0;
  let records = 0;
  let list: number[] | undefined;
  let recordFrom = 0;
  let inString = false;

  const endRecord = (end: number): void => {
    if (list === undefined || isBlank(bytes, recordFrom, end)) return;
    list.push(recordFrom, end);
    records += 1;
    if (records > MOST_RECORDS) throw tooManyRecords();
  };

  let at = 0;
  while (at < bytes.length) {
    const pauseAt = Math.min(at + PAUSE, bytes.length);
    for (; at < pauseAt; at++) {
      const code = bytes[at]!;
      if (inString) {
        if (code === BACKSLASH) at += 1;
        else if (code === QUOTE) inString = false;
      } else if (code === QUOTE) inString = true;
      else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        containers.push(code);
        if (list === undefined && holdsRecords(containers)) {
          list = [];
          recordFrom = at + 1;
          rest.push(bytes.subarray(restFrom, at + 1), Buffer.from(String(lists.length)));
          lists.push(list);
        }
      } else if (code === COMMA) {
        if (list !== undefined && containers.length === AROUND_RECORD.length) {
          endRecord(at);
          recordFrom = at + 1;
        }
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
        if (list !== undefined && containers.length === AROUND_RECORD.length) {
          endRecord(at);
          list = undefined;
          restFrom = at;
        }
        containers.pop();
      }
    }
    yield;
  }
  rest.push(bytes.subarray(restFrom));
  const size = rest.reduce((sum, part) => sum + part.length, 0);
  if (size > MOST_REST) {
    throw new PlimsollError(
      "too_large",
      `The body has ${size} bytes besides its records; the limit is ${MOST_REST}. Send smaller batches.`,
    );
  }
  return { rest: parseJson(Buffer.concat(rest)), lists };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new PlimsollError("bad_request", "The body is not an OTLP export request in JSON.", { cause });
  }
}

function holdsRecords(containers: readonly number[]): boolean {
  return (
    containers.length === AROUND_RECORD.length &&
    AROUND_RECORD.every((code, depth) => containers[depth] === code)
  );
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at]! > 0x20) return false;
  return true;
}
