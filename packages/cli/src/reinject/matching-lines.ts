import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Which lines to read: those with one of some texts, and without another. */
export interface LineFilter {
  some: readonly string[];
  without: string;
}

const STEP = 1 << 20;
const LINE_FEED = 0x0a;

/**
 * Yields the lines of a file that pass a filter. The bytes of the other lines become no text: a harness waits, and a recording may have
 * hundreds of megabytes.
 * @param step bytes read at once
 */
export function* matchingLines(path: string, { some, without }: LineFilter, step = STEP): Generator<string> {
  // A pipe would be waited for.
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file.`);
  const file = openSync(path, "r");
  try {
    let bytes = Buffer.allocUnsafe(step);
    for (let kept = 0; ; ) {
      if (kept === bytes.length) bytes = Buffer.concat([bytes], 2 * kept);
      const length = readSync(file, bytes, kept, bytes.length - kept, null);
      const filled = bytes.subarray(0, kept + length);
      // The last line of a file need not end.
      const end = length === 0 ? kept : filled.lastIndexOf(LINE_FEED) + 1;
      for (const line of matches(filled.subarray(0, end), some))
        if (!line.includes(without)) yield line.toString("utf8");
      if (length === 0) return;
      bytes.copyWithin(0, end, kept + length);
      kept += length - end;
    }
  } finally {
    closeSync(file);
  }
}

/** The lines with one of the texts. */
function* matches(bytes: Buffer, some: readonly string[]): Generator<Buffer> {
  const next = some.map((text) => bytes.indexOf(text));
  for (;;) {
    const found = Math.min(...next.map((at) => (at < 0 ? bytes.length : at)));
    if (found === bytes.length) return;
    const end = bytes.indexOf(LINE_FEED, found);
    const stop = end < 0 ? bytes.length : end;
    yield bytes.subarray(bytes.lastIndexOf(LINE_FEED, found) + 1, stop);
    for (const [index, text] of some.entries())
      if (next[index]! >= 0 && next[index]! < stop) next[index] = bytes.indexOf(text, stop);
  }
}
