import { readSync } from "node:fs";

/** Largest input, in bytes. What harnesses send has some kilobytes, and a prompt of the largest window 4 MB. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Lists and objects within one another. */
const MOST_LEVELS = 256;

/**
 * Standard input as text; empty if it is larger or nested deeper than what a harness sends. Streams take longer to load than a
 * file takes to read.
 */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const add = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    return size <= MOST_BYTES;
  };
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafe(64 * 1024);
      const length = readSync(0, buffer);
      if (length === 0) break;
      if (!add(buffer.subarray(0, length))) return "";
    }
  } catch {
    // A terminal, or a pipe that does not wait.
    if (!process.stdin.isTTY)
      for await (const chunk of process.stdin) if (!add(Buffer.from(chunk as Buffer))) return "";
  }
  const bytes = Buffer.concat(chunks, size);
  return nestsTooDeep(bytes) ? "" : bytes.toString("utf8");
}

function nestsTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === QUOTE) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at += 1;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) depth += 1;
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
    if (depth > MOST_LEVELS) return true;
  }
  return false;
}

const QUOTE = 0x22;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
