import fc from "fast-check";
import { expect, it } from "vitest";
import { lineScanner } from "./line-scanner.ts";

function scan(chunks: readonly Buffer[], texts = ["usage"]): string[] {
  const lines: string[] = [];
  const read = lineScanner(texts, (line) => lines.push(line));
  for (const chunk of chunks) read(chunk);
  return lines;
}

it("finds the same lines wherever chunks end", () => {
  const line = fc
    .oneof(fc.string({ unit: "binary" }), fc.constant("usage é 漢"), fc.constant(""))
    .map((text) => text.replaceAll("\n", " "));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(200), { maxLength: 8 }), (lines, cuts) => {
      const whole = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const places = [...new Set([0, ...cuts.filter((cut) => cut < whole.length), whole.length])].sort(
        (a, b) => a - b,
      );
      const chunks = places.slice(1).map((end, index) => whole.subarray(places[index], end));
      const expected = whole
        .toString("utf8")
        .split("\n")
        .filter((text) => text.includes("usage"));
      expect(scan(chunks)).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

it("skips a line of 10 MB and reads the one after it", () => {
  const long = Buffer.from(`{"usage":"${"x".repeat(10 * 1024 * 1024)}"}\n`);
  const chunks = Array.from({ length: Math.ceil(long.length / 65_536) }, (_, index) =>
    long.subarray(index * 65_536, (index + 1) * 65_536),
  );
  expect(scan([...chunks, Buffer.from("usage\n")])).toEqual(["usage"]);
});

it("reads nothing of a line that has no end", () => {
  expect(scan([Buffer.from("usage")])).toEqual([]);
});
