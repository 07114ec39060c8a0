import type { Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { LIMITS } from "@plimsoll/protocol/events";
import pLimit from "p-limit";
import { PlimsollError } from "../errors.ts";
import { BODY_LIMITS, type BodyBudget, overLimit } from "./body-budget.ts";

const DECODERS = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Bytes decompressed at a time. */
const CHUNK = 64 * 1024;

/** As many as Node has threads for it. A Brotli decoder may hold 16 MiB, so others wait without one. */
const atOnce = pLimit(4);

/**
 * Decompresses a body as it was encoded. Memory is reserved before each step.
 * @param contentEncoding the header; undefined, empty and `identity` give the same bytes
 * @throws PlimsollError `too_large`, `bad_request`, `unsupported_media_type`, or `overloaded` without memory for it
 */
export async function inflateBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  budget: BodyBudget,
): Promise<Buffer> {
  const encoding = (contentEncoding ?? "").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return bytes;
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    throw new PlimsollError(
      "unsupported_media_type",
      `Content-Encoding ${encoding.slice(0, 64)} is not understood: send gzip, deflate, br or none.`,
    );
  }
  return atOnce(() => inflate(bytes, encoding, decoder, budget));
}

async function inflate(
  bytes: Buffer,
  encoding: string,
  decoder: (options: { chunkSize: number }) => Duplex,
  budget: BodyBudget,
): Promise<Buffer> {
  const { memory } = budget;
  const most = Math.min(LIMITS.decompressedBytes, bytes.length * BODY_LIMITS.expansion);
  const chunks: Buffer[] = [];
  let size = 0;
  memory.take(CHUNK);
  const stream = decoder({ chunkSize: CHUNK });
  stream.end(bytes);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw expandsTooMuch(bytes.length, most);
      memory.take(chunk.length);
      budget.addBytes(chunk.length);
      chunks.push(chunk);
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).errno === undefined) throw cause;
    throw new PlimsollError("bad_request", `The body is not valid ${encoding}.`, { cause });
  }
  if (chunks.length === 1) return chunks[0]!;
  // Joining them needs their size once more, until it is done.
  memory.take(size);
  const all = Buffer.concat(chunks, size);
  memory.give(size);
  return all;
}

function expandsTooMuch(compressed: number, most: number): PlimsollError {
  if (most === LIMITS.decompressedBytes)
    return overLimit(`The body is larger than ${most} bytes once decompressed.`, most, "bytes");
  const { expansion } = BODY_LIMITS;
  return new PlimsollError(
    "too_large",
    `The body of ${compressed} bytes becomes more than ${expansion} times as large once decompressed. Send it uncompressed or in smaller batches.`,
    { details: { limit: expansion, unit: "times" } },
  );
}
