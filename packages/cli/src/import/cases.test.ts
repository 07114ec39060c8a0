import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { FoldResult } from "@plimsoll/fold";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { FIXTURES, foldEvents } from "../../../harnesses/src/testing/fold.ts";
import { readerFor } from "./import.ts";
import { planImport } from "./plan.ts";
import { sourceLines } from "./source.ts";

/** Inputs with the right answers, outside the repository. Tests that need them are skipped without them. */
const CASES = join(FIXTURES, "cases");

/** What an import of a case reads. */
async function readCase(folder: string): Promise<PlimsollEventInput[]> {
  const { groups } = await planImport([folder]);
  const events: PlimsollEventInput[] = [];
  for (const { format, files } of groups) {
    const reader = readerFor(format, { titles: true });
    for (const file of files)
      for await (const { lines } of sourceLines(file.location))
        for (const line of lines) reader.read(line, file);
    events.push(...reader.take(true).events);
  }
  return events;
}

/** The levels of an agent: its calls without those that compact. */
const levelsOf = ({ turns }: FoldResult) =>
  turns.filter(({ turn }) => !turn.compaction).map(({ contextTokens }) => contextTokens);

const fallsOf = ({ marks, inferred }: FoldResult) =>
  [...marks.values(), ...inferred.values()].map(
    ({ type, tokensBefore, tokensAfter }) => `${type} ${tokensBefore} -> ${tokensAfter}`,
  );

type Answer = Record<string, { levels: number[]; falls: string[] }>;
const RIGHT: Record<string, Answer> = {
  "01-claude-midstream-fallback": {
    "00000001-1111-4111-8111-111111111111 main": { levels: [141_503, 152_505, 153_404], falls: [] },
  },
  "03-codex-child-replay-original-times": {
    "019f0000-0000-7000-8000-000000000004 main": {
      levels: [20_000, 45_000, 80_000, 120_000, 150_000],
      falls: [],
    },
    "019f0000-0000-7000-8000-000000000004 agent-019f0000-0000-7000-8000-000000000044": {
      levels: [31_000, 36_000, 42_000],
      falls: [],
    },
  },
  "05-codex-replay-restamped-started-at": {
    "019f0000-0000-7000-8000-000000000043 main": { levels: [31_000], falls: [] },
  },
  "08-codex-compaction-record": {
    "019f0000-0000-7000-8000-000000000009 main": {
      levels: [100_000, 180_000, 225_000, 31_000],
      falls: ["compacted 225000 -> 31000"],
    },
  },
  "11-claude-context-editing": {
    "00000002-1111-4111-8111-111111111111 main": {
      levels: [80_003, 100_003, 120_003, 140_003, 160_003, 95_003],
      falls: ["masked 160003 -> 95003"],
    },
  },
  "13-claude-compact-summary-only": {
    "00000003-1111-4111-8111-111111111111 main": {
      levels: [154_003, 25_003],
      falls: ["compacted 154003 -> 25003"],
    },
  },
  "14-claude-nested-subagents": {
    "00000013-1111-4111-8111-111111111111 main": { levels: [21_003, 22_003], falls: [] },
    "00000013-1111-4111-8111-111111111111 agent-a000l1": { levels: [12_003, 14_003], falls: [] },
    "00000013-1111-4111-8111-111111111111 agent-a000l2": { levels: [10_003, 12_003], falls: [] },
  },
  "16-kimi-compaction-levels": {
    "session_17 main": {
      levels: [24_279, 121_000, 191_000, 212_000, 36_023, 36_700],
      falls: ["compacted 212000 -> 36023"],
    },
  },
};

describe.skipIf(!existsSync(CASES))("recordings of which public reports show wrong numbers", () => {
  it.each(Object.entries(RIGHT))("%s", async (name, right) => {
    const folds = foldEvents(await readCase(join(CASES, name, "input")));
    const found = [...folds].map(([agent, fold]) => [
      agent,
      { levels: levelsOf(fold), falls: fallsOf(fold) },
    ]);
    expect(Object.fromEntries(found)).toEqual(right);
  });

  it("name the parent of a nested sub-agent", async () => {
    const events = await readCase(join(CASES, "14-claude-nested-subagents/input"));
    const parents = events.flatMap(({ agent, parent_agent }) =>
      agent ? [`${agent} < ${parent_agent}`] : [],
    );
    expect(new Set(parents)).toEqual(new Set(["agent-a000l1 < main", "agent-a000l2 < agent-a000l1"]));
  });

  it("have a line of 70 MB", async () => {
    const folder = await mkdtemp(join(tmpdir(), "long-line-"));
    try {
      await cp(join(CASES, "28-gemini-line-over-64-mib/gen.py"), join(folder, "gen.py"));
      await promisify(execFile)("python3", ["gen.py"], { cwd: folder });
      const [fold] = foldEvents(await readCase(join(folder, "tmp"))).values();
      expect(levelsOf(fold!)).toEqual([20_000, 400_000, 910_000, 930_000]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
