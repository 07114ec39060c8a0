import { TOO_LONG_LINE } from "@plimsoll/harnesses/recordings";
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
          const whole = written.map((line) => line.replaceAll("\n", "").replace(/^\ufeff/, ""));
          const expected = whole.filter((line) => line.trim() !== "");
          expect(read(Buffer.from(`\ufeff${whole.join("\n")}`), step)).toEqual(expected);
        },
      ),
    );
  });

  it("drops a byte order mark at the start of a file, and where files were joined", () => {
    for (const step of [1, 2, 64]) {
      expect(read(Buffer.from('\ufeff{"a":1}\n\ufeff{"b":"\ufeff"}'), step)).toEqual([
        '{"a":1}',
        '{"b":"\ufeff"}',
      ]);
    }
  });

  it("reads a line that is too long without its long strings, and keeps the other lines", () => {
    const text = 'x\\u00e9\\\\\\"'.repeat(40_000);
    const long = `{"a":"${text}","usage":{"input":7},"b":"${text}","c":"short"}`;
    const short = JSON.stringify({ text: "y" });
    for (const step of [4_001, 70_000, 190_000]) {
      const found = read(Buffer.from([short, long, short, long].join("\n")), step, 200_000);
      expect(found).toHaveLength(4);
      expect([found[0], found[2]]).toEqual([short, short]);
      for (const cut of [found[1]!, found[3]!]) {
        expect(JSON.parse(cut)).toMatchObject({ usage: { input: 7 }, c: "short" });
        expect(cut.length).toBeLessThan(140_000);
      }
    }
  });

  it("names a line that is too long also without them, once", () => {
    const long = JSON.stringify(Array.from({ length: 3_000 }, (_, index) => index));
    const short = JSON.stringify({ text: "y" });
    for (const step of [64, 4_000, 5_000]) {
      const found = read(Buffer.from([short, long, short, long].join("\n")), step, 5_000);
      expect(found).toEqual([short, TOO_LONG_LINE, short, TOO_LONG_LINE]);
    }
  });

  it("leaves as valid what it shortens", () => {
    const any = fc.jsonValue().map((value) => JSON.stringify({ value, long: "\\é\u0007".repeat(20_000) }));
    fc.assert(
      fc.property(any, fc.integer({ min: 1_000, max: 90_000 }), (line, step) => {
        const [found] = read(Buffer.from(`${line}\n`), step, 100_000);
        const { value } = JSON.parse(line);
        expect(JSON.parse(found!).value).toEqual(value);
      }),
      { numRuns: 30 },
    );
  });

  it.each(["utf-16le", "utf-16be"] as const)("reads %s with and without a mark", (encoding) => {
    const lines = ['{"a":"é漢😀"}', '{"b":2}'];
    for (const mark of ["\ufeff", ""]) {
      const bytes = Buffer.from(`${mark}${lines.join("\r\n")}`, "utf16le");
      const written = encoding === "utf-16le" ? bytes : bytes.swap16();
      for (const step of [1, 3, 64]) {
        expect(read(written, step).map((line) => JSON.parse(line))).toEqual([{ a: "é漢😀" }, { b: 2 }]);
      }
    }
  });

  it("reads lines with invalid bytes in a text, and with zeros of a crash around them", () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.from([0xff, 0xc3, 0x28]),
      Buffer.from('"}\n'),
      Buffer.alloc(40),
      Buffer.from('{"b":1}\n{"c":2}'),
      Buffer.alloc(9),
    ]);
    expect(read(bytes, 7).map((line) => Object.keys(JSON.parse(line))[0])).toEqual(["a", "b", "c"]);
  });

  it("reads a file of one byte", () => {
    expect(read(Buffer.from("7"), 1)).toEqual(["7"]);
  });
});
