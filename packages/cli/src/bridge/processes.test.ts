import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { describe, expect, it } from "vitest";
import { isOf, parseProcesses } from "./processes.ts";

const NOW = 1_000_000_000_000;

describe("the processes of a harness", () => {
  it("are read with their age", () => {
    const text =
      "    1 1-02:03:04 /sbin/init\n  42    00:05 node /usr/bin/codex exec\n  43 01:00:00 codex\nnonsense\n";
    expect(parseProcesses(text, NOW)).toEqual([
      { pid: 1, words: ["/sbin/init"], startedAt: NOW - 93_784_000 },
      { pid: 42, words: ["node", "/usr/bin/codex", "exec"], startedAt: NOW - 5_000 },
      { pid: 43, words: ["codex"], startedAt: NOW - 3_600_000 },
    ]);
  });

  it.each([
    [["codex"], true],
    [["/opt/bin/codex", "exec"], true],
    [["node", "/usr/lib/codex.js"], true],
    [["C:\\bin\\codex.exe"], true],
    [["vim", "notes", "codex"], false],
    [["grep", "-codex"], false],
    [["/home/codex/editor"], false],
  ])("are known by their program: %j is %s", (words, isCodex) => {
    expect(isOf(ADAPTERS.find(({ family }) => family === "codex")!, { words })).toBe(isCodex);
  });
});
