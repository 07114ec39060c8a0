import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { clearestSplit, type FoldResult, OutcomeCells, qualityOf, signalCells } from "@plimsoll/fold";
import { describe, expect, it } from "vitest";
import { foldEvents, levels } from "../testing/fold.ts";
import { miniSweAgentRecordings } from "./recordings.ts";

/**
 * A folder with `swebench_results` of github.com/gruckion/mini-swe-agent at d12a71a: 500 runs of SWE-bench Verified with 20,163 calls. Its
 * figures were published before Plimsoll read it.
 */
const FOLDER = process.env.VITEST_PLIMSOLL_MINI_SWE_AGENT;

const BANDS = [5_000, 10_000, 20_000, 30_000, 50_000, Number.POSITIVE_INFINITY];
const bandOf = (tokens: number) => BANDS.findIndex((end) => tokens < end);

describe.skipIf(FOLDER === undefined)("500 public runs, if VITEST_PLIMSOLL_MINI_SWE_AGENT is set", () => {
  const files = (FOLDER === undefined ? [] : readdirSync(FOLDER, { recursive: true, encoding: "utf8" }))
    .filter((path) => path.endsWith(".traj.json"))
    .map((path) => join(FOLDER!, path));
  const runs = files.map((path): FoldResult => {
    const reader = miniSweAgentRecordings.reader({ harness: "mini-swe-agent@host", titles: false });
    reader.read(readFileSync(path, "utf8"), { path });
    const [result] = foldEvents(reader.take(true).events).values();
    return result!;
  });

  /** Shares in percent of the calls of each band of context, those of some positions in a run alone if given. */
  function shares(of: "failed" | "repeated", first = 1, last = Number.POSITIVE_INFINITY) {
    const counts = BANDS.map(() => ({ calls: 0, found: 0 }));
    for (const { turns } of runs) {
      for (const [index, { contextTokens, turn }] of turns.entries()) {
        if (index + 1 < first || index + 1 > last) continue;
        const band = counts[bandOf(contextTokens!)]!;
        band.calls += 1;
        band.found += turn.outcome?.[of] ?? 0;
      }
    }
    return counts.map(({ calls, found }) => Math.round((1_000 * found) / calls) / 10);
  }

  it("has every call", () => {
    expect(runs).toHaveLength(500);
    expect(runs.flatMap(({ turns }) => turns)).toHaveLength(20_163);
  });

  it("fails and repeats commands as often as was published, by context", () => {
    expect(shares("failed")).toEqual([5.6, 6.2, 6.7, 7.4, 10.5, 14.4]);
    expect(shares("repeated")).toEqual([2.5, 9.2, 13.4, 17.7, 24.6, 28.7]);
  });

  it("does so at the same position in a run, too", () => {
    expect(shares("failed", 20, 39).slice(1, 5)).toEqual([5.1, 7, 7.7, 13.2]);
    expect(shares("repeated", 20, 39).slice(1, 5)).toEqual([10.2, 13.5, 18.6, 30]);
  });

  it("has no fall: of 230 turns below the one before, nearly all of another provider, at most one is called one", () => {
    const below = runs.flatMap((run) => {
      const all = levels(run);
      return all.filter((level, index) => index > 0 && level! < all[index - 1]!);
    });
    const falls = runs.reduce((sum, { inferred }) => sum + inferred.size, 0);
    expect(below).toHaveLength(230);
    expect(falls).toBeLessThanOrEqual(1);
  });

  it("fails no more often within a run where its context is longer, and repeats more calls from 20k tokens on", () => {
    const sessions = runs.map(({ turns }) => {
      const cells = new OutcomeCells();
      for (const [index, { contextTokens, turn }] of turns.entries()) {
        if (turn.outcome === undefined) continue;
        const { outcome } = turn;
        cells.add({ number: index + 1, level: contextTokens!, share: undefined, outcome });
      }
      return cells.cells();
    });
    const failed = qualityOf(signalCells(sessions, "failed"));
    // As published: the raw figure more than doubles.
    expect(failed.levels[2]!.rate! / failed.levels[0]!.rate!).toBeGreaterThan(2);
    expect(clearestSplit(failed.levelSplits)).toBeUndefined();
    const repeated = clearestSplit(qualityOf(signalCells(sessions, "repeated")).levelSplits)!;
    expect(repeated).toMatchObject({ at: 20_000, sessions: 306 });
    expect(repeated.low).toBeGreaterThan(0.02);
    expect(repeated.high).toBeLessThan(0.08);
  });
});
