import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { parseJson } from "@plimsoll/harnesses/recordings";
import { encodingOf, Lines, linesOf } from "./lines.ts";

/** How a file holds what a reader reads: lines, compressed lines, one JSON value, or a SQLite database. */
export const SOURCE_KINDS = ["lines", "compressed", "document", "database"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Largest JSON document in bytes. */
export const LARGEST_DOCUMENT = 256 << 20;

export function sourceKind(path: string): SourceKind {
  if (/\.zstd?$/.test(path)) return "compressed";
  if (path.endsWith(".json")) return "document";
  return /\.(db|sqlite3?)$/.test(path) ? "database" : "lines";
}

/**
 * Yields what a reader reads of a file, with the number of bytes read. `step` is the chunk size in bytes.
 * @throws if the file cannot be read, or is not what its name says
 */
export async function* sourceLines(
  location: string,
  step?: number,
): AsyncGenerator<{ lines: string[]; bytes: number }> {
  switch (sourceKind(location)) {
    case "lines":
      yield* linesOf(location, step);
      return;
    case "compressed":
      yield* decompressedLines(location, step);
      return;
    case "document": {
      const bytes = await readFile(location);
      yield { lines: documentLines(bytes), bytes: bytes.length };
      return;
    }
    case "database": {
      // SQLite is a megabyte of WebAssembly, which only these files need.
      const { databaseRows } = await import("./database.ts");
      yield* databaseRows(location);
    }
  }
}

/** The whole text of a JSON document; the lines of a file that is none. */
export function documentLines(bytes: Buffer): string[] {
  const lines = new Lines();
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes);
  if (parseJson(text) !== undefined) return [text];
  return [...lines.push(bytes), ...lines.end()];
}

/** A file that is cut off yields the lines before the cut. */
async function* decompressedLines(
  location: string,
  step = 1 << 16,
): AsyncGenerator<{ lines: string[]; bytes: number }> {
  const { Decompress } = await import("fzstd");
  const lines = new Lines();
  const found: string[] = [];
  const stream = new Decompress((chunk) => {
    for (const line of lines.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)))
      found.push(line);
  });
  let read = 0;
  try {
    for await (const chunk of createReadStream(location, { highWaterMark: step }) as AsyncIterable<Buffer>) {
      read += chunk.length;
      stream.push(new Uint8Array(chunk));
      yield { lines: found.splice(0), bytes: chunk.length };
    }
    stream.push(new Uint8Array(0), true);
  } catch (error) {
    if (read === 0 || found.length === 0) throw error;
  }
  yield { lines: [...found, ...lines.end()], bytes: 0 };
}
