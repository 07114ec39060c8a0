import type { Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { LIMITS } from "@plimsoll/protocol";
import pLimit from "p-limit";
import { PlimsollError } from "../errors.ts";

const DECODERS = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Bytes decompressed at a time. */
const CHUNK = 64 * 1024;
/** Turns that repeat everything but an id compress 70 times with gzip and 150 times with Brotli. */
const MOST_EXPANSION = 250;
/** Below this size a body may expand without bound. */
const SMALL = 4 * 1024 * 1024;

/** As many as Node has threads for it. A Brotli decoder may hold 16 MiB, so others wait without one. */
const atOnce = pLimit(4);

/**
 * Decompresses a body. Memory is reserved before each step.
 * @param reserve told how many bytes more are needed; what it throws ends the work
 * @throws PlimsollError `too_large`, `bad_request` or `unsupported_media_type`
 */
export async function inflateBody(
  bytes: Buffer,
  encoding: string,
  reserve: (bytes: number) => void,
): Promise<Buffer> {
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    throw new PlimsollError(
      "unsupported_media_type",
      `Content-Encoding ${encoding.slice(0, 64)} is not understood: send gzip, deflate, br or none.`,
    );
  }
  return atOnce(() => inflate(bytes, encoding, decoder, reserve));
}

async function inflate(
  bytes: Buffer,
  encoding: string,
  decoder: (options: { chunkSize: number }) => Duplex,
  reserve: (bytes: number) => void,
): Promise<Buffer> {
  const most = Math.min(LIMITS.decompressedBytes, Math.max(SMALL, bytes.length * MOST_EXPANSION));
  const chunks: Buffer[] = [];
  let size = 0;
  reserve(CHUNK);
  const stream = decoder({ chunkSize: CHUNK });
  stream.end(bytes);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw expandsTooMuch(bytes.length, most);
      reserve(chunk.length);
      chunks.push(chunk);
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).errno === undefined) throw cause;
    throw new PlimsollError("bad_request", `The body is not valid ${encoding}.`, { cause });
  }
  if (chunks.length === 1) return chunks[0]!;
  // Joining them needs their size once more.
  reserve(size);
  return Buffer.concat(chunks, size);
}

function expandsTooMuch(compressed: number, most: number): PlimsollError {
  if (most === LIMITS.decompressedBytes) {
    return new PlimsollError(
      "too_large",
      `The body is larger than ${most} bytes once decompressed. Send smaller batches.`,
      { details: { limit: most, unit: "bytes" } },
    );
  }
  return new PlimsollError(
    "too_large",
    `The body of ${compressed} bytes becomes more than ${MOST_EXPANSION} times as large once decompressed. Send it uncompressed or in smaller batches.`,
    { details: { limit: MOST_EXPANSION, unit: "times" } },
  );
}
