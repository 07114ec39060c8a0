import { createReadStream } from "node:fs";

/** Bytes of the longest line that is read: pictures make lines of some megabytes, nothing makes longer ones. */
const LONGEST = 64 << 20;
/** Bytes of a longer one that stand for it: enough to be counted as a line that is no JSON. */
const KEPT = 1_024;
const LINE_FEED = 0x0a;

/**
 * Puts lines together from chunks of bytes. Only `\n` ends a line: JSON may hold the other separators that readline
 * would split at. A file that is one endless line, or none at all, takes no more memory than its longest line may.
 */
export class Lines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(longest = LONGEST) {
    this.#longest = longest;
  }

  /** The lines that end in this chunk, which may be used again after; blank ones are left out. */
  push(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(LINE_FEED);
    const lines = last === -1 ? [] : this.#take(chunk.subarray(0, last));
    this.#keep(chunk.subarray(last + 1));
    return lines;
  }

  /** What is left when nothing follows. */
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
    // The end of such a line is dropped: behind its beginning it could read as JSON that nobody wrote.
    const rest = tooLong ? head.subarray(firstLineEnd(head)) : head;
    const text = Buffer.concat([...this.#parts, rest]).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return text.split("\n").filter((line) => line.trim() !== "");
  }
}

function firstLineEnd(bytes: Buffer): number {
  const found = bytes.indexOf(LINE_FEED);
  return found === -1 ? bytes.length : found;
}

/** Lines of a file as they are read, with the bytes read so far. `step` is how many bytes are read at once. */
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
