import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lines } from "./lines.ts";

function read(bytes: Buffer, step: number, longest?: number): string[] {
  const lines = new Lines(longest);
  const found: string[] = [];
  const chunk = Buffer.alloc(step);
  for (let at = 0; at < bytes.length; at += step) {
    // Reuse one buffer for all chunks, as a file reader does.
    const size = bytes.copy(chunk, 0, at, at + step);
    found.push(...lines.push(chunk.subarray(0, size)));
  }
  return [...found, ...lines.end()];
}

describe("Lines", () => {
  it("returns the same lines for any chunks, even if a chunk ends within a character", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" })),
        fc.integer({ min: 1, max: 40 }),
        (written, step) => {
          const whole = written.map((line) => line.replaceAll("\n", ""));
          const expected = whole.filter((line) => line.trim() !== "");
          expect(read(Buffer.from(`\ufeff${whole.join("\n")}`), step)).toEqual(expected);
        },
      ),
    );
  });

  it("drops a byte order mark at the start of a file, and only there", () => {
    for (const step of [1, 2, 64]) {
      expect(read(Buffer.from('\ufeff{"a":1}\n\ufeff{"b":2}'), step)).toEqual(['{"a":1}', '\ufeff{"b":2}']);
    }
  });

  it("cuts a line that is too long, so that it is not JSON, and keeps the other lines", () => {
    const long = JSON.stringify({ text: "x".repeat(10_000) });
    const short = JSON.stringify({ text: "y" });
    for (const step of [64, 4_000, 5_000]) {
      const found = read(Buffer.from([short, long, short, long].join("\n")), step, 5_000);
      expect(found).toHaveLength(4);
      expect([found[0], found[2]]).toEqual([short, short]);
      for (const cut of [found[1]!, found[3]!]) {
        expect(long.startsWith(cut)).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(1_024);
      }
    }
  });
});
