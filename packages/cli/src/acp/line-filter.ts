import { Transform } from "node:stream";

/** Longest line that is judged, in bytes. Prompts and files are longer; messages with usage or a summary are not. */
const LONGEST_LINE = 1024 * 1024;
const LINE_END = 0x0a;

/** What becomes of a line: it passes as it is, reaches nobody, or is replaced by a text without a line end. */
export type FilterVerdict = "pass" | "drop" | { replaceBy: string };

/**
 * Passes chunks, which may end anywhere, and judges each line that holds one of some texts. Keeps at most one line in memory. A line
 * that is longer than 1 MiB or has no end passes unjudged, byte by byte.
 * @param judge gets each such line, without its end
 */
export function lineFilter(texts: readonly string[], judge: (line: string) => FilterVerdict): Transform {
  let kept: Buffer[] = [];
  let length = 0;
  let isLong = false;
  const filter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
        keep(chunk.subarray(start, end + 1));
        if (!isLong) filter.push(judged(Buffer.concat(kept)));
        kept = [];
        length = 0;
        isLong = false;
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
      done();
    },
    flush(done) {
      done(null, Buffer.concat(kept));
    },
  });
  return filter;

  function keep(part: Buffer): void {
    length += part.length;
    if (!isLong && length <= LONGEST_LINE) {
      kept.push(part);
      return;
    }
    isLong = true;
    filter.push(Buffer.concat([...kept, part]));
    kept = [];
  }

  function judged(line: Buffer): Buffer {
    if (!texts.some((text) => line.includes(text))) return line;
    const verdict = judge(line.toString("utf8", 0, line.length - 1));
    if (verdict === "pass") return line;
    return Buffer.from(verdict === "drop" ? "" : `${verdict.replaceBy}\n`);
  }
}
