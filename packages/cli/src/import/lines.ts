import { createReadStream } from "node:fs";
import { TOO_LONG_LINE } from "@plimsoll/harnesses/recordings";
import { LongStrings } from "./long-strings.ts";

/** Longest line that is read as it is, in bytes. Lines with images have a few megabytes. */
const LONGEST = 64 << 20;
const LINE_FEED = 0x0a;

/**
 * Splits chunks of bytes into lines. Only `\n` ends a line, because JSON can contain the other separators that readline
 * splits at. Memory is bounded by the maximum line length: a longer line is read without its long strings, and named as too long if
 * that is not enough. UTF-16 is read as PowerShell writes it.
 */
export class Lines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #cut: LongStrings | undefined;
  /** Bytes of the start of a file, until its encoding is known. */
  #start: Buffer | undefined = Buffer.alloc(0);
  #decoder: TextDecoder | undefined;

  constructor(longest = LONGEST) {
    this.#longest = longest;
  }

  /** Returns the non-blank lines that end in this chunk. The caller may reuse the chunk afterwards. */
  push(bytes: Buffer): string[] {
    const chunk = this.#decoded(bytes);
    const last = chunk.lastIndexOf(LINE_FEED);
    const lines = last === -1 ? [] : this.#take(chunk.subarray(0, last));
    this.#keep(chunk.subarray(last + 1));
    return lines;
  }

  /** Returns the last line of a file that does not end with `\n`. */
  end(): string[] {
    const rest = this.#start ?? Buffer.alloc(0);
    this.#start = undefined;
    return this.#take(rest);
  }

  #decoded(bytes: Buffer): Buffer {
    let chunk = bytes;
    if (this.#start !== undefined) {
      chunk = Buffer.concat([this.#start, bytes]);
      this.#start = chunk.length < 2 ? chunk : undefined;
      if (chunk.length < 2) return Buffer.alloc(0);
      const encoding = encodingOf(chunk);
      if (encoding !== "utf-8") this.#decoder = new TextDecoder(encoding);
    }
    return this.#decoder === undefined ? chunk : Buffer.from(this.#decoder.decode(chunk, { stream: true }));
  }

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // Once the rest is too long as well, it only has to be counted.
    if (this.#bytes > this.#longest && this.#cut !== undefined) return;
    const part = this.#cut === undefined ? Buffer.from(chunk) : this.#cut.without(chunk);
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= this.#longest) return;
    if (this.#cut === undefined) {
      const cut = new LongStrings();
      this.#cut = cut;
      this.#parts = this.#parts.map((one) => cut.without(one));
      this.#bytes = this.#parts.reduce((sum, { length }) => sum + length, 0);
    }
    if (this.#bytes > this.#longest) this.#parts = [];
  }

  #take(head: Buffer): string[] {
    const end = this.#cut === undefined ? 0 : firstLineEnd(head);
    if (this.#cut !== undefined) this.#keep(head.subarray(0, end));
    const isTooLong = this.#bytes > this.#longest;
    const lines = [
      ...(isTooLong ? [TOO_LONG_LINE] : []),
      ...linesIn(Buffer.concat([...this.#parts, head.subarray(end)])),
    ];
    this.#parts = [];
    this.#bytes = 0;
    this.#cut = undefined;
    return lines;
  }
}

/** The encoding of a file by its first two bytes. The text of a recording begins with a mark or in ASCII. */
export function encodingOf([first, second]: Buffer): "utf-8" | "utf-16le" | "utf-16be" {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return "utf-16be";
  return "utf-8";
}

/**
 * What is no JSON: bytes that a file system had not written at a crash are zero, and editors and PowerShell write a mark at the start
 * of a file, which may have been joined with others.
 */
const NO_TEXT = /\0+|^\ufeff/g;

/** Each line is decoded by itself: one letter beyond ASCII would make all others twice as large, and slower to parse. */
function linesIn(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = from + firstLineEnd(bytes.subarray(from));
    const text = bytes.toString("utf8", from, end);
    const line = text.includes("\0") || text.includes("\ufeff") ? text.replace(NO_TEXT, "") : text;
    if (line.trim() !== "") lines.push(line);
    from = end + 1;
  }
  return lines;
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
