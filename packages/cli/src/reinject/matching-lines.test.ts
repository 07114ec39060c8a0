import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { matchingLines } from "./matching-lines.ts";

const FILTER = { some: ["aé", "bb"], without: "#" };

let folder = "";
let path = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-lines-"));
  path = join(folder, "recording.jsonl");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const passes = (line: string) =>
  FILTER.some.some((text) => line.includes(text)) && !line.includes(FILTER.without);

describe("matching lines", () => {
  it("are those of the whole file, in whatever steps it is read", async () => {
    const texts = fc.array(
      fc.constantFrom("a", "é", "aé", "b", "bb", "#", "\n", "\r", "\0", "x".repeat(40), "🜂"),
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 70 }), async (parts, step) => {
        await writeFile(path, parts.join(""));
        expect([...matchingLines(path, FILTER, step)]).toEqual(parts.join("").split("\n").filter(passes));
      }),
      { numRuns: 300 },
    );
  });

  it("may be longer than a step, and the last one need not end", async () => {
    await writeFile(path, `${"x".repeat(3 << 20)}bb\n#bb\nb`);
    await appendFile(path, "b");
    expect([...matchingLines(path, FILTER)].map(({ length }) => length)).toEqual([(3 << 20) + 2, 2]);
  });

  it("are not waited for from what is no file", async () => {
    const socket = createServer();
    const pipe = join(folder, "socket");
    await new Promise<void>((resolve) => socket.listen(pipe, resolve));
    for (const one of [folder, pipe, join(folder, "missing"), "/dev/zero"])
      expect(() => [...matchingLines(one, FILTER)]).toThrow();
    await new Promise((resolve) => socket.close(resolve));
  });
});
