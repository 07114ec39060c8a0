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
  const text = (await decompress(body)).toString("utf8");
  const events = lines ? parseLines(text) : parseJson(text);
  if (events.length > LIMITS.events) {
    throw new PlimsollError(
      "too_large",
      `${events.length} events in one request; the limit is ${LIMITS.events}. Send smaller batches.`,
      { details: { limit: LIMITS.events, unit: "events" } },
    );
  }
  return events;
}

async function decompress({ bytes, contentEncoding }: EncodedBody): Promise<Buffer> {
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
  try {
    return await decode(bytes, { maxOutputLength: LIMITS.decompressedBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new PlimsollError(
        "too_large",
        `The body is larger than ${LIMITS.decompressedBytes} bytes once decompressed. Send smaller batches.`,
        { details: { limit: LIMITS.decompressedBytes, unit: "bytes" } },
      );
    }
    throw new PlimsollError("bad_request", `The body is not valid ${encoding}.`, { cause });
  }
}

export function tooManyBytes(bytes: number | undefined): PlimsollError {
  const size = bytes === undefined ? "" : ` of ${bytes} bytes`;
  return new PlimsollError(
    "too_large",
    `The body${size} is over the limit of ${LIMITS.compressedBytes} bytes. Compress it or send smaller batches.`,
    { details: { limit: LIMITS.compressedBytes, unit: "bytes" } },
  );
}

function parseJson(text: string): RawEvent[] {
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
  if (Array.isArray(value)) return value.map((event) => ({ value: event }));
  if (typeof value === "object" && value !== null) {
    const { events } = value as { events?: unknown };
    if (events === undefined) return [{ value }];
    if (Array.isArray(events)) return events.map((event) => ({ value: event }));
    throw new PlimsollError("bad_request", '"events" must be an array of events.');
  }
  throw new PlimsollError(
    "bad_request",
    'The body must be an event, an array of events or {"events": [...]}.',
  );
}

function parseLines(text: string): RawEvent[] {
  const events: RawEvent[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    try {
      events.push({ value: JSON.parse(line) });
    } catch {
      events.push({ unreadable: `is not valid JSON at position ${jsonErrorPosition(line)} of its line` });
    }
  }
  return events;
}
