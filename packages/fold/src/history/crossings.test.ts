import {
  DEFAULT_THRESHOLDS,
  THRESHOLD_NAMES,
  type ThresholdName,
  type Thresholds,
  thresholdTokens,
} from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyLevel,
  applyReport,
  type Crossing,
  type CrossingChanges,
  type CrossingReport,
  crossingsOf,
  type Level,
  type ReportState,
} from "./crossings.ts";
import { thresholds } from "./testing/agent-history.ts";

const level = (
  turnKey: string,
  contextTokens: number,
  at = 0,
  windowTokens: number | undefined = 1_000,
): Level => ({
  turnKey,
  at,
  contextTokens,
  windowTokens,
});

function walk(levels: readonly Level[], chosen: Thresholds): Crossing[] {
  let above: readonly ThresholdName[] = [];
  return levels.flatMap((each) => {
    const step = crossingsOf(above, each, chosen);
    above = step.above;
    return step.crossings;
  });
}

/** One threshold at a time: up at or over it, down below 95 % of it, nothing while it has no tokens. */
function modelWalk(levels: readonly Level[], chosen: Thresholds): string[] {
  const ids: string[] = [];
  for (const name of THRESHOLD_NAMES) {
    let isAbove = false;
    for (const { turnKey, contextTokens, windowTokens } of levels) {
      const limit = thresholdTokens(name, chosen[name], windowTokens);
      if (limit === undefined) continue;
      if (!isAbove && contextTokens >= limit) {
        isAbove = true;
        ids.push(`${name}/up/${turnKey}`);
      } else if (isAbove && contextTokens < 0.95 * limit) {
        isAbove = false;
        ids.push(`${name}/down/${turnKey}`);
      }
    }
  }
  return ids.sort();
}

const levels = fc
  .array(fc.tuple(fc.nat(1_200), fc.constantFrom(1_000, 1_000, 2_000, undefined)), { maxLength: 30 })
  .map((steps) =>
    steps.map(([tokens, window], index) => ({ ...level(`t${index}`, tokens, index), windowTokens: window })),
  );

test("crossings agree with a plain reading of the rule", () => {
  fc.assert(
    fc.property(levels, thresholds, (given, chosen) => {
      expect(
        walk(given, chosen)
          .map((crossing) => crossing.id)
          .sort(),
      ).toEqual(modelWalk(given, chosen));
    }),
    { numRuns: 1_000 },
  );
});

test("up and down of one threshold take turns", () => {
  fc.assert(
    fc.property(levels, thresholds, (given, chosen) => {
      for (const name of THRESHOLD_NAMES) {
        const directions = walk(given, chosen).filter((crossing) => crossing.threshold === name);
        for (const [index, crossing] of directions.entries()) expect(crossing.up).toBe(index % 2 === 0);
      }
    }),
  );
});

describe("hysteresis", () => {
  const only: Thresholds = { ...DEFAULT_THRESHOLDS, warning: null, ceiling: null, soft: null, hard: 800 };
  test.each<[string, number[], string[]]>([
    ["the threshold itself is crossed", [799, 800], ["hard/up/t1"]],
    ["swaying on the edge is one crossing", [800, 790, 805, 799, 801], ["hard/up/t0"]],
    ["5 % below is not yet left", [800, 760], ["hard/up/t0"]],
    [
      "a level below 95 % leaves the threshold, which may be crossed again",
      [800, 759, 800],
      ["hard/up/t0", "hard/down/t1", "hard/up/t2"],
    ],
  ])("%s", (_, given, ids) => {
    expect(
      walk(
        given.map((tokens, index) => level(`t${index}`, tokens, index)),
        only,
      ).map((each) => each.id),
    ).toEqual(ids);
  });
  test("a leap crosses every threshold on its way", () => {
    expect(walk([level("t", 950)], DEFAULT_THRESHOLDS).map((each) => each.threshold)).toEqual([
      "warning",
      "ceiling",
      "soft",
      "hard",
    ]);
  });
  test("an unknown window crosses no share", () => {
    expect(walk([{ ...level("t", 10_000_000), windowTokens: undefined }], DEFAULT_THRESHOLDS)).toEqual([]);
  });
});

/** One step of an agent: a level with its derived crossings, or a report. */
type Step = Level | CrossingReport;

const said = (reportId: string, threshold: string, up: boolean, contextTokens: number): CrossingReport => ({
  reportId,
  threshold,
  up,
  contextTokens,
  thresholdTokens: contextTokens,
  at: 50,
});

/** Id and origin of each crossing after some steps, as storage holds them. */
function afterSteps(steps: readonly Step[], persistAfterEach = false): string[] {
  const kept = new Map<string, Crossing>();
  let state: ReportState = { levels: [], unmatched: [] };
  let above: readonly ThresholdName[] = [];
  let changes = noChanges();
  const persist = () => {
    for (const id of changes.withdrawn.keys()) kept.delete(id);
    for (const [id, origin] of changes.origins) kept.set(id, { ...kept.get(id)!, origin });
    for (const [id, crossing] of changes.crossings) kept.set(id, crossing);
    changes = noChanges();
  };
  for (const step of steps) {
    if ("reportId" in step) state = applyReport(state, step, changes);
    else {
      const crossed = crossingsOf(above, step, DEFAULT_THRESHOLDS);
      above = crossed.above;
      state = applyLevel(state, step, crossed.crossings, changes);
    }
    if (persistAfterEach) persist();
  }
  persist();
  return [...kept.values()].map(({ id, origin }) => `${id} ${origin}`).sort();
}

const noChanges = (): CrossingChanges => ({ crossings: new Map(), origins: new Map(), withdrawn: new Map() });

const fewTokens = fc.constantFrom(100, 160, 170, 700, 900);

const anySteps = fc
  .array(
    fc.record({
      isLevel: fc.boolean(),
      tokens: fewTokens,
      threshold: fc.constantFrom("warning", "budget"),
      up: fc.boolean(),
    }),
    { maxLength: 14 },
  )
  .map((steps) =>
    steps.map(
      ({ isLevel, tokens, threshold, up }, n): Step =>
        isLevel ? level(`t${n}`, tokens, n) : said(`r${n}`, threshold, up, tokens),
    ),
  );

/** Each report finds its level among all steps, without a state. */
function modelOf(steps: readonly Step[]): string[] {
  const levels = steps.filter((step): step is Level => !("reportId" in step));
  const said = new Map<string, boolean>(walk(levels, DEFAULT_THRESHOLDS).map(({ id }) => [id, false]));
  const derived = new Set(said.keys());
  for (const [index, step] of steps.entries()) {
    if (!("reportId" in step)) continue;
    const before = steps.slice(0, index).filter((one): one is Level => !("reportId" in one));
    const next = levels[before.length];
    const isExact = (one: Level | undefined) => one?.contextTokens === step.contextTokens;
    const own = before.slice(-3).findLast(isExact) ?? (isExact(next) ? next : before.at(-1));
    said.set(
      own === undefined
        ? `reported/${step.reportId}`
        : `${step.threshold}/${step.up ? "up" : "down"}/${own.turnKey}`,
      true,
    );
  }
  return [...said]
    .map(([id, reported]) => `${id} ${derived.has(id) ? (reported ? "both" : "derived") : "reported"}`)
    .sort();
}

describe("a report", () => {
  const [low, high, higher] = [level("t1", 100), level("t2", 160), level("t3", 170)];

  test.each<[string, Step[], string[]]>([
    [
      "after its level joins the derived crossing",
      [low, high, said("r", "warning", true, 160)],
      ["warning/up/t2 both"],
    ],
    [
      "before its level joins it when the level comes",
      [low, said("r", "warning", true, 160), high],
      ["warning/up/t2 both"],
    ],
    ["before any level waits for its level", [said("r", "warning", true, 160), high], ["warning/up/t2 both"]],
    [
      "two levels late still joins by its tokens",
      [low, high, higher, said("r", "warning", true, 160)],
      ["warning/up/t2 both"],
    ],
    [
      "whose tokens no level has belongs to the latest",
      [low, high, said("r", "warning", true, 163)],
      ["warning/up/t2 both"],
    ],
    [
      "that was joined to the latest level moves to the next if that has its tokens",
      [low, high, said("r", "warning", true, 165), level("t3", 165)],
      ["warning/up/t2 derived", "warning/up/t3 reported"],
    ],
    [
      "that stays unmatched keeps its crossing",
      [low, high, said("r", "budget", true, 163), higher],
      ["budget/up/t2 reported", "warning/up/t2 derived"],
    ],
    [
      "of a threshold the server does not know is a crossing of its own",
      [low, high, said("r", "budget", true, 160)],
      ["budget/up/t2 reported", "warning/up/t2 derived"],
    ],
    [
      "in the other direction is a crossing of its own",
      [low, high, said("r", "warning", false, 160)],
      ["warning/down/t2 reported", "warning/up/t2 derived"],
    ],
    [
      "sent twice is one crossing",
      [high, said("r1", "budget", true, 160), said("r2", "budget", true, 160)],
      ["budget/up/t2 reported", "warning/up/t2 derived"],
    ],
    [
      "leaves a crossing that another report tells of",
      [low, said("r1", "warning", true, 170), said("r2", "warning", true, 100), level("t3", 170)],
      ["warning/up/t1 reported", "warning/up/t3 both"],
    ],
    [
      "leaves a derived crossing that another report tells of as well",
      [high, said("r1", "warning", true, 170), said("r2", "warning", true, 160), level("t3", 170)],
      ["warning/up/t2 both", "warning/up/t3 reported"],
    ],
    ["before any level is kept under its own id", [said("r", "warning", true, 999)], ["reported/r reported"]],
    [
      "before any level stays there if the first level has other tokens",
      [said("r", "warning", true, 999), low],
      ["reported/r reported"],
    ],
    [
      "of the older of two equal levels joins the latest of them",
      [high, level("t3", 160), said("r", "budget", true, 160)],
      ["budget/up/t3 reported", "warning/up/t2 derived"],
    ],
    [
      "more than three levels late belongs to the latest level",
      [high, ...[1, 2, 3].map((n) => level(`u${n}`, 170 + n)), said("r", "warning", true, 160)],
      ["warning/up/t2 derived", "warning/up/u3 reported"],
    ],
  ])("%s", (_, steps, expected) => {
    expect(afterSteps(steps)).toEqual(expected);
    expect(afterSteps(steps, true)).toEqual(expected);
  });
  test("that moves away leaves the crossing as the report that stays tells it", () => {
    const changes = noChanges();
    let state: ReportState = { levels: [], unmatched: [] };
    state = applyLevel(state, low, [], changes);
    state = applyReport(state, { ...said("r1", "budget", true, 170), at: 3 }, changes);
    state = applyReport(state, { ...said("r2", "budget", true, 100), at: 5 }, changes);
    applyLevel(state, higher, [], changes);
    expect(changes.crossings.get("budget/up/t1")).toMatchObject({ contextTokens: 100, at: 5 });
    expect(changes.crossings.get("budget/up/t3")).toMatchObject({ contextTokens: 170, at: 3 });
  });

  test("of any history ends where a plain reading of the rules puts it, stored at once or after each step", () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const expected = modelOf(steps);
        expect(afterSteps(steps)).toEqual(expected);
        expect(afterSteps(steps, true)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test("keeps three levels and no report that a level has passed", () => {
    const changes = noChanges();
    let state: ReportState = { levels: [], unmatched: [] };
    for (let n = 0; n < 10; n++) {
      state = applyReport(state, said(`r${n}`, "budget", true, 9_999), changes);
      state = applyLevel(state, level(`t${n}`, n), [], changes);
    }
    expect(state.levels.map(({ turnKey }) => turnKey)).toEqual(["t7", "t8", "t9"]);
    expect(state.unmatched).toEqual([]);
  });

  test("keeps no more reports than may still leave the latest level, and one of each crossing", () => {
    let state: ReportState = applyLevel({ levels: [], unmatched: [] }, low, [], noChanges());
    for (let name = 0; name < 16; name++) {
      for (let n = 0; n < 16; n++) {
        state = applyReport(state, said(`r${name}-${n}`, `own-${name}`, true, 9_999), noChanges());
      }
    }
    const [latest] = state.levels;
    expect(latest!.crossed.map(({ reports }) => reports.length)).toEqual([...Array(15).fill(1), 16]);
  });
});
