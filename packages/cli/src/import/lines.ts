import { createReadStream } from "node:fs";

/** Maximum line length in bytes. Lines with images have a few megabytes. */
const LONGEST = 64 << 20;
/** Bytes kept of a longer line, so that it is counted as a line that is not JSON. */
const KEPT = 1_024;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = "\ufeff";

/**
 * Splits chunks of bytes into lines. Only `\n` ends a line, because JSON can contain the other separators that readline
 * splits at. Memory is bounded by the maximum line length.
 */
export class Lines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isFirst = true;

  constructor(longest = LONGEST) {
    this.#longest = longest;
  }

  /** Returns the non-blank lines that end in this chunk. The caller may reuse the chunk afterwards. */
  push(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(LINE_FEED);
    const lines = last === -1 ? [] : this.#take(chunk.subarray(0, last));
    this.#keep(chunk.subarray(last + 1));
    return lines;
  }

  /** Returns the last line of a file that does not end with `\n`. */
  end(): string[] {
    return this.#take(Buffer.alloc(0));
  }

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#longest) this.#parts.push(Buffer.from(chunk));
    else this.#parts = [Buffer.from((this.#parts[0] ?? chunk).subarray(0, KEPT))];
  }

  #take(head: Buffer): string[] {
    const tooLong = this.#bytes > this.#longest;
    // Drop the end of a line that is too long: joined to its start, it could form valid JSON.
    const rest = tooLong ? head.subarray(firstLineEnd(head)) : head;
    const text = Buffer.concat([...this.#parts, rest]).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    if (!this.#isFirst) return linesIn(text);
    this.#isFirst = false;
    // Editors and PowerShell write a mark at the start of a file, which is not JSON.
    return linesIn(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  }
}

function linesIn(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function firstLineEnd(bytes: Buffer): number {
  const found = bytes.indexOf(LINE_FEED);
  return found === -1 ? bytes.length : found;
}

/** Yields the lines of a file with the number of bytes read. `step` is the chunk size in bytes. */
export async function* linesOf(
  path: string,
  step = 1 << 20,
): AsyncGenerator<{ lines: string[]; bytes: number }> {
  const lines = new Lines();
  for await (const chunk of createReadStream(path, { highWaterMark: step }) as AsyncIterable<Buffer>) {
    yield { lines: lines.push(chunk), bytes: chunk.length };
  }
  const last = lines.end();
  if (last.length > 0) yield { lines: last, bytes: 0 };
}
