import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { LIMITS } from "@plimsoll/protocol";
import { PlimsollError } from "../errors.ts";
import { jsonErrorPosition } from "./json-position.ts";

const DECODERS = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

const JSON_TYPES = new Set(["", "application/json", "text/json"]);
const NDJSON_TYPES = new Set(["application/x-ndjson", "application/ndjson", "application/jsonl"]);

/** An event still to be checked, or the reason a line of NDJSON is none. */
export type RawEvent = { value: unknown } | { unreadable: string };

export interface EncodedBody {
  bytes: Buffer;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** Told how many bytes there are once decompressed; what it throws refuses the request. */
  decompressed: (bytes: number) => void;
}

/**
 * Turns a request body into events to check one by one.
 * @throws PlimsollError `bad_request`, `too_large` or `unsupported_media_type`, which refuse the whole request.
 */
export async function decodeBody(body: EncodedBody): Promise<RawEvent[]> {
  const type = (body.contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const lines = NDJSON_TYPES.has(type);
  if (!lines && !JSON_TYPES.has(type)) {
    throw new PlimsollError(
      "unsupported_media_type",
      `Content-Type ${type} is not understood: send application/json or application/x-ndjson.`,
    );
  }
  const bytes = withoutByteOrderMark(await decompress(body));
  return lines ? parseLines(bytes) : parseJson(bytes);
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

async function decompress({ bytes, contentEncoding, decompressed }: EncodedBody): Promise<Buffer> {
  if (bytes.length > LIMITS.compressedBytes && contentEncoding !== undefined)
    throw tooManyBytes(bytes.length);
  const encoding = (contentEncoding ?? "identity").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") {
    if (bytes.length > LIMITS.compressedBytes) throw tooManyBytes(bytes.length);
    return bytes;
  }
  const decode = DECODERS[encoding as keyof typeof DECODERS];
  if (decode === undefined) {
    throw new PlimsollError(
      "unsupported_media_type",
      `Content-Encoding ${encoding} is not understood: send gzip, deflate, br or none.`,
    );
  }
  const plain = await decode(bytes, { maxOutputLength: LIMITS.decompressedBytes }).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new PlimsollError(
        "too_large",
        `The body is larger than ${LIMITS.decompressedBytes} bytes once decompressed. Send smaller batches.`,
        { details: { limit: LIMITS.decompressedBytes, unit: "bytes" } },
      );
    }
    throw new PlimsollError("bad_request", `The body is not valid ${encoding}.`, { cause });
  });
  decompressed(plain.length);
  return plain;
}

export function tooManyBytes(bytes: number | undefined): PlimsollError {
  const size = bytes === undefined ? "" : ` of ${bytes} bytes`;
  return new PlimsollError(
    "too_large",
    `The body${size} is over the limit of ${LIMITS.compressedBytes} bytes. Compress it or send smaller batches.`,
    { details: { limit: LIMITS.compressedBytes, unit: "bytes" } },
  );
}

function parseJson(bytes: Buffer): RawEvent[] {
  // Decoding would put the same character for every byte it cannot read, and names that differ would become one.
  if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // Not the engine's words: they quote the body, and this message is logged.
    const position = jsonErrorPosition(text);
    const what = position >= text.length ? "It ends too soon" : "It breaks";
    throw new PlimsollError("bad_request", `The body is not valid JSON. ${what} at position ${position}.`, {
      details: { position },
      cause,
    });
  }
  if (Array.isArray(value)) return rawEvents(value);
  if (typeof value === "object" && value !== null) {
    const { events } = value as { events?: unknown };
    if (events === undefined) return [{ value }];
    if (Array.isArray(events)) return rawEvents(events);
    throw new PlimsollError("bad_request", '"events" must be an array of events.');
  }
  throw new PlimsollError(
    "bad_request",
    'The body must be an event, an array of events or {"events": [...]}.',
  );
}

function rawEvents(values: readonly unknown[]): RawEvent[] {
  checkCount(values.length);
  return values.map((value) => ({ value }));
}

const LINE_FEED = 0x0a;

function parseLines(bytes: Buffer): RawEvent[] {
  const readable = isUtf8(bytes);
  const events: RawEvent[] = [];
  let next = 0;
  while (next < bytes.length) {
    const found = bytes.indexOf(LINE_FEED, next);
    const line = bytes.subarray(next, found === -1 ? bytes.length : found);
    next += line.length + 1;
    if (line.length === 0) continue;
    const event = readable || isUtf8(line) ? parseLine(line.toString("utf8")) : NOT_UTF8;
    if (event === undefined) continue;
    events.push(event);
    checkCount(events.length, " or more");
  }
  return events;
}

const NOT_UTF8: RawEvent = { unreadable: "is not valid UTF-8" };

/** @returns undefined for a blank line */
function parseLine(line: string): RawEvent | undefined {
  if (line.trim() === "") return undefined;
  try {
    return { value: JSON.parse(line) };
  } catch {
    return { unreadable: `is not valid JSON at position ${jsonErrorPosition(line)} of its line` };
  }
}
