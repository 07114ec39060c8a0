import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type FilterVerdict, lineFilter } from "./line-filter.ts";

async function filtered(chunks: readonly Buffer[], judge: (line: string) => FilterVerdict = () => "pass") {
  const lines: string[] = [];
  const filter = lineFilter(["usage"], (line) => {
    lines.push(line);
    return judge(line);
  });
  const passed = await buffer(Readable.from(chunks).pipe(filter));
  return { lines, passed };
}

const cutAt = (whole: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set([0, ...cuts.filter((cut) => cut < whole.length), whole.length])].sort(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, index) => whole.subarray(places[index], end));
};

const verdictOf = (line: string): FilterVerdict =>
  line.length % 3 === 0 ? "drop" : line.length % 3 === 1 ? { replaceBy: `${line}!` } : "pass";

function expected(whole: string): string {
  const lines = whole.split("\n");
  const rest = lines.pop()!;
  const kept = lines.flatMap((line) => {
    const verdict = line.includes("usage") ? verdictOf(line) : "pass";
    if (verdict === "drop") return [];
    return [verdict === "pass" ? line : verdict.replaceBy];
  });
  return [...kept, rest].join("\n");
}

it("judges the same lines wherever chunks end, and passes all else", async () => {
  const line = fc
    .oneof(fc.string({ unit: "binary" }), fc.constant("usage é 漢"), fc.constant(""))
    .map((text) => text.replaceAll("\n", " "));
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 8 }),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (lines, cuts) => {
        const whole = lines.join("\n");
        const { passed } = await filtered(cutAt(Buffer.from(whole), cuts), verdictOf);
        expect(passed.toString()).toBe(expected(whole));
      },
    ),
    { numRuns: 50 },
  );
});

it("passes a line of 10 MB as it comes, and judges the one after it", async () => {
  const long = Buffer.from(`{"usage":"${"x".repeat(10 * 1024 * 1024)}"}\n`);
  const chunks = Array.from({ length: Math.ceil(long.length / 65_536) }, (_, index) =>
    long.subarray(index * 65_536, (index + 1) * 65_536),
  );
  const { lines, passed } = await filtered([...chunks, Buffer.from("usage\n")], () => "drop");
  expect(lines).toEqual(["usage"]);
  expect(passed.equals(long)).toBe(true);
});

it("passes a line that has no end unjudged", async () => {
  const { lines, passed } = await filtered([Buffer.from("usage")], () => "drop");
  expect(lines).toEqual([]);
  expect(passed.toString()).toBe("usage");
});
