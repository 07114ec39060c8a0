import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compactedTranscript } from "../testing/compacted-transcript.ts";
import { hasShownLine } from "./shown-line.ts";

const SINCE = Date.UTC(2026, 10, 20);
const LINE = 120_000;

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "shown-line-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (text: string) => {
  const path = join(folder, "s.jsonl");
  await writeFile(path, text);
  return path;
};
const ask = (paths: string[], line = LINE, since = SINCE, family = "claude-code") =>
  hasShownLine(family, paths, { line, since, folder: join(folder, "record") });

describe("a line is shown", () => {
  it.each([
    ["by a compaction just above it", compactedTranscript(121_000, SINCE + 1_000), true],
    [
      "by one just below it, whose next call would have crossed it",
      compactedTranscript(109_000, SINCE + 1),
      true,
    ],
    ["not by one far below it", compactedTranscript(90_000, SINCE + 1_000), false],
    ["not by one far above it", compactedTranscript(190_000, SINCE + 1_000), false],
    ["not by one that a person asked for", compactedTranscript(119_000, SINCE + 1_000, "manual"), false],
    ["not by one before the change", compactedTranscript(119_000, SINCE - 1_000), false],
    ["not by a damaged recording", `${"x".repeat(2_000_000)}\n{"type":`, false],
    ["behind more than is read", `${" ".repeat(900_000)}\n${compactedTranscript(119_000, SINCE + 1)}`, true],
  ])("%s", async (_, text, expected) => {
    expect(await ask([await write(text)])).toBe(expected);
  });

  it("once for all, until the line or the change is another", async () => {
    const path = await write(compactedTranscript(119_000, SINCE + 1_000));
    expect(await ask([path])).toBe(true);
    await rm(path);
    expect(await ask([path])).toBe(true);
    expect(await ask([path], 100_000)).toBe(false);
    expect(await ask([path], LINE, SINCE + 1)).toBe(false);
  });

  it("not by a harness whose recordings nothing reads", async () => {
    const path = await write(compactedTranscript(119_000, SINCE + 1_000));
    expect(await ask([path], LINE, SINCE, "goose")).toBe(false);
  });
});
