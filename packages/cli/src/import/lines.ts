import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";

/**
 * Lines of a file as they are read, with the bytes read so far. Only `\n` ends a line: JSON may hold the other
 * separators that readline would split at.
 */
export async function* linesOf(path: string): AsyncGenerator<{ lines: string[]; bytes: number }> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const parts = (rest + decoder.write(chunk)).split("\n");
    rest = parts.pop()!;
    yield { lines: parts.filter((line) => line.trim() !== ""), bytes: chunk.length };
  }
  rest += decoder.end();
  if (rest.trim() !== "") yield { lines: [rest], bytes: 0 };
}
