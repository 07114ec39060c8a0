/** Longest line that is read, in bytes. Prompts and files are longer, messages with usage are not. */
const LONGEST_LINE = 256 * 1024;
const LINE_END = 0x0a;

/**
 * Finds lines that hold one of some texts in a stream of chunks, which may end anywhere. Keeps at most one line in memory, and
 * none that is longer than 256 KiB.
 * @param onLine gets each such line, without its end
 */
export function lineScanner(
  texts: readonly string[],
  onLine: (line: string) => void,
): (chunk: Buffer) => void {
  let kept: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length > LONGEST_LINE) kept = [];
    else kept.push(part);
  };
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      add(chunk.subarray(start, end));
      const line = Buffer.concat(kept);
      kept = [];
      length = 0;
      start = end + 1;
      if (texts.some((text) => line.includes(text))) onLine(line.toString("utf8"));
    }
    // A copy: the rest of a chunk would keep all of it in memory.
    if (start < chunk.length) add(Buffer.from(chunk.subarray(start)));
  };
}
