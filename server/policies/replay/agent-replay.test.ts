import { isBoundary, normaliseUsage } from "@plimsoll/fold";
import { parseEvent } from "@plimsoll/protocol/events";
import type { Thresholds } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit as fitted } from "../../../packages/guard/src/fit.ts";
import { type PolicyInput, resolvePolicy } from "../../../packages/guard/src/policy/policy.ts";
import { counted, filler, testGuard, toolTurn } from "../../../packages/guard/src/testing/test-guard.ts";
import type { Message } from "../../../packages/guard/src/view/shape.ts";
import { type AgentFigures, AgentReplay, type ReplayItem, type ReplayPoint } from "./agent-replay.ts";
import { ASSUMED_EFFECTS, type ReplayEffects, type ReplayPolicy, replayPolicyOf } from "./replay-policy.ts";

const WINDOW = 10_000;
const OFF: Thresholds = { warning: null, ceiling: null, soft: null, hard: null, reserve: null };

const turn = (contextTokens: number | undefined, more: object = {}): ReplayItem => ({
  type: "turn",
  at: 0,
  model: "test-model",
  contextTokens,
  windowTokens: WINDOW,
  ...more,
});
const turns = (...levels: number[]) => levels.map((level) => turn(level));
const boundary = (
  type: "masked" | "compacted" | "subtick" | "restarted" | "cleared" | "unexplained",
  tokensBefore: number | undefined,
  tokensAfter: number | undefined,
  byPolicy = type !== "cleared" && type !== "unexplained",
): ReplayItem => ({ type: "boundary", at: 0, boundary: type, byPolicy, tokensBefore, tokensAfter });

interface Replayed extends AgentFigures {
  levels: number[];
  points: ReplayPoint[];
}

const policyOf = (input: PolicyInput, tickShare?: string): ReplayPolicy => ({
  guard: resolvePolicy(input),
  tickShare,
});
/** No response of any kind. */
const NOTHING = policyOf({ thresholds: OFF, overflow: "send_anyway" });

/** Replays a candidate beside a policy without thresholds. */
function replayed(
  items: readonly ReplayItem[],
  candidate: ReplayPolicy,
  more: { inLoop?: boolean; fromStart?: boolean; effects?: ReplayEffects } = {},
): Replayed {
  const points: ReplayPoint[] = [];
  const agent = new AgentReplay({
    policyOf: (run) => (run === "candidate" ? candidate : NOTHING),
    inForce: () => OFF,
    effects: ASSUMED_EFFECTS,
    inLoop: false,
    fromStart: true,
    onTurn: (point) => points.push(point),
    ...more,
  });
  for (const item of items) agent.add(item);
  return { ...agent.figures(), points, levels: points.map(({ candidate: level }) => level) };
}

/** Runs a guarded agent and returns what a server records of it. */
async function recordingOf(policy: PolicyInput, count: number): Promise<ReplayItem[]> {
  const { guard, events } = testGuard({ policy, window: WINDOW });
  const history: Message[] = [
    { role: "system", content: filler(100) },
    { role: "user", content: "read it all" },
  ];
  for (let at = 0; at < count; at++) {
    history.push(...toolTurn(200 + ((at * 137) % 500)));
    const { messages } = await fitted(guard, history, { summarize: "without_model" });
    guard.observe({ id: `t${at}`, usage: { prompt_tokens: counted(messages) } });
  }
  const items: ReplayItem[] = [];
  const waiting: Extract<ReplayItem, { type: "boundary" }>[] = [];
  let level: number | undefined;
  for (const sent of events) {
    const parsed = parseEvent(sent);
    if (!parsed.ok) throw new Error(JSON.stringify(sent));
    const { event } = parsed;
    if (event.type === "turn") {
      level = normaliseUsage(event.usage).contextTokens;
      for (const one of waiting.splice(0)) one.tokensAfter ??= level;
      items.push(turn(level, { at: event.at }));
    } else if (event.type === "threshold_crossed") {
      items.push({
        type: "crossing",
        at: event.at,
        threshold: event.threshold,
        up: event.direction === "up",
      });
    } else if (isBoundary(event.type)) {
      const told = event as { tokens_before?: number; tokens_after?: number };
      const before = told.tokens_before ?? waiting.at(-1)?.tokensAfter ?? level;
      waiting.push(boundary(event.type, before, told.tokens_after) as (typeof waiting)[number]);
      items.push(waiting.at(-1)!);
    }
  }
  return items;
}

/** The effects that a recording shows. */
function effectsOf(items: readonly ReplayItem[]): ReplayEffects {
  const left = (type: string) => {
    const found = items.flatMap((item) =>
      item.type === "boundary" && item.boundary === type && item.tokensAfter ? [item.tokensAfter] : [],
    );
    const tokens = found.sort((one, other) => one - other)[found.length >> 1];
    return tokens === undefined ? undefined : { tokens };
  };
  let [freed, added] = [0, 0];
  let last: Extract<ReplayItem, { type: "boundary" }> | undefined;
  for (const item of items) {
    if (item.type !== "boundary") continue;
    if (item.boundary === "masked" && last?.boundary === "masked") {
      freed += item.tokensBefore! - item.tokensAfter!;
      added += item.tokensBefore! - last.tokensAfter!;
    }
    last = item;
  }
  return {
    ...ASSUMED_EFFECTS,
    ...(added > 0 && { masked: Math.min(1, freed / added) }),
    ...(left("compacted") && { compacted: left("compacted")! }),
    ...(left("restarted") && { restarted: left("restarted")! }),
  };
}

const monotone = fc
  .array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 60 })
  .map((steps) => steps.map((_, at) => steps.slice(0, at + 1).reduce((sum, step) => sum + step, 0)));

describe("a replay of turns", () => {
  it("without thresholds grows as the record does", () => {
    const levels = fc.array(fc.integer({ min: 0, max: 50_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(levels, (recorded) => {
        const { runs, levels: candidate, differs } = replayed(turns(...recorded), NOTHING);
        expect(candidate).toEqual(recorded);
        expect(runs.candidate.keptOut).toBe(0);
        expect(differs).toBe(false);
      }),
    );
  });

  it("crosses a lower line at least as often while the level only rises", () => {
    const percent = fc.integer({ min: 1, max: 100 });
    const name = fc.constantFrom("warning", "ceiling", "soft", "hard");
    fc.assert(
      fc.property(monotone, percent, percent, name, (recorded, one, other, threshold) => {
        const crossingsAt = (share: number) => {
          const thresholds = { ...OFF, [threshold]: `${share}%` };
          const { runs } = replayed(turns(...recorded), policyOf({ thresholds, mode: "warn_only" }));
          return runs.candidate.crossings[threshold as "warning"];
        };
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        expect(crossingsAt(low)).toBeGreaterThanOrEqual(crossingsAt(high));
      }),
    );
  });

  it("never shows a level below nothing or above the sum of all growth", () => {
    const item = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 12_000 }).map((level) => turn(level)) },
      fc.constant(turn(undefined)),
      fc.constant(turn(9_000, { compaction: true })),
      fc
        .tuple(
          fc.constantFrom("masked", "compacted", "subtick", "restarted", "cleared", "unexplained"),
          fc.option(fc.integer({ min: 0, max: 12_000 }), { nil: undefined }),
          fc.option(fc.integer({ min: 0, max: 12_000 }), { nil: undefined }),
          fc.boolean(),
        )
        .map(([type, before, after, byPolicy]) => boundary(type, before, after, byPolicy)),
    );
    const share = fc.option(
      fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
      { nil: null },
    );
    const thresholds = fc.record({
      warning: share,
      ceiling: share,
      soft: share,
      hard: share,
      reserve: share,
    });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 60 }), thresholds, fc.boolean(), (items, own, inLoop) => {
        const { levels, runs, points } = replayed(items, policyOf({ thresholds: own }, "15%"), { inLoop });
        for (const level of levels) {
          expect(Number.isFinite(level)).toBe(true);
          expect(level).toBeGreaterThanOrEqual(0);
        }
        expect(runs.candidate.keptOut).toBe(
          points.reduce((sum, { happened, candidate }) => sum + happened - candidate, 0),
        );
        expect(runs.candidate.peak).toBe(Math.max(0, ...levels));
      }),
    );
  });

  it.each<[string, PolicyInput]>([
    ["masks", { thresholds: { ceiling: null, soft: "70%", hard: null } }],
    ["masks and restarts", { thresholds: { ceiling: null, soft: "70%", hard: "90%" } }],
    ["only restarts", { thresholds: { ceiling: null, soft: null, hard: "60%" }, mask: null, compact: null }],
    ["compacts", { thresholds: { ceiling: "50%", soft: null, hard: null }, mask: null }],
    [
      "continues in fresh sessions",
      {
        thresholds: { ceiling: "50%", soft: null, hard: null },
        mask: null,
        compact: { how: "fresh_session" },
      },
    ],
  ])("under the policy in force predicts what the live guard did within 10 %%: %s", async (_, policy) => {
    const items = await recordingOf(policy, 300);
    const { runs } = replayed(items, policyOf(policy), { effects: effectsOf(items) });
    const sum = ({ maskings, compactions, restarts }: AgentFigures["runs"]["current"]) =>
      maskings + compactions + restarts;
    const happened = sum(runs.happened);
    expect(happened).toBeGreaterThan(10);
    expect(Math.abs(sum(runs.candidate) - happened) / happened).toBeLessThanOrEqual(0.1);
  });

  it("keeps falls that no policy made, in every run", () => {
    const items = [
      ...turns(2_000, 6_000),
      boundary("unexplained", 6_000, 3_000),
      ...turns(3_000, 4_000),
      boundary("cleared", 4_000, 500),
      ...turns(500, 1_500),
    ];
    expect(replayed(items, NOTHING).levels).toEqual([2_000, 6_000, 3_000, 4_000, 500, 1_500]);
    // A run that stands lower falls to the recorded level, and not below it.
    const low = policyOf({ thresholds: { ...OFF, ceiling: "40%" }, mask: null });
    const { levels, runs } = replayed(items, low);
    expect(levels[1]).toBeLessThan(4_000);
    expect(levels[2]).toBeLessThanOrEqual(3_000);
    expect(levels.slice(-2)).toEqual([500, 1_500]);
    expect(runs.candidate.compactions).toBe(1);
  });

  it("keeps what a user compacted by hand, and counts it in every run", () => {
    const items = [...turns(1_000, 5_000), boundary("compacted", 5_000, 2_000, false), ...turns(2_100)];
    const { levels, runs } = replayed(items, NOTHING);
    expect(levels).toEqual([1_000, 5_000, 2_100]);
    for (const run of Object.values(runs)) expect(run.compactions).toBe(1);
  });

  it("goes on growing where the record was lowered by a policy", () => {
    const items = [
      ...turns(1_000, 4_000),
      // 1,000 tokens were added before the response, and 500 after it.
      boundary("compacted", 5_000, 1_500),
      ...turns(2_000, 3_000),
    ];
    const { levels, runs } = replayed(items, NOTHING);
    expect(levels).toEqual([1_000, 4_000, 5_500, 6_500]);
    expect(runs.happened.compactions).toBe(1);
    expect(runs.candidate).toMatchObject({ compactions: 0, keptOut: -7_000 });
  });

  it("takes the average growth where a fall hides what was added", () => {
    const items = [...turns(1_000, 2_000, 3_000), boundary("restarted", 3_000, 800), ...turns(800, 1_800)];
    expect(replayed(items, NOTHING).levels).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
  });

  it("does not take the prompt of a compaction call for growth", () => {
    const items = [...turns(1_000, 2_000), turn(9_000, { compaction: true }), ...turns(2_500)];
    const { levels, turns: count } = replayed(items, policyOf({ thresholds: { ...OFF, ceiling: "50%" } }));
    expect(levels).toEqual([1_000, 2_000, 2_500]);
    expect(count).toBe(3);
  });

  it("acts on nothing while the window is unknown, or the policy only warns", () => {
    const levels = [1_000, 9_000, 12_000];
    const unknown = levels.map((level) => turn(level, { windowTokens: undefined }));
    const none = { maskings: 0, compactions: 0, subticks: 0, restarts: 0 };
    const { runs, levels: same } = replayed(unknown, policyOf({}, "15%"), { inLoop: true });
    expect(runs.candidate).toMatchObject(none);
    expect(same).toEqual(levels);
    const warned = replayed(turns(...levels), policyOf({ mode: "warn_only" }, "15%"), { inLoop: true });
    expect(warned.runs.candidate).toMatchObject({ ...none, crossings: { warning: 1, ceiling: 1, hard: 1 } });
    expect(warned.levels).toEqual(levels);
  });

  it("shortens a new result that does not fit, and does not pace that", () => {
    const policy = policyOf({ compact: null, restart: null });
    const { runs, levels } = replayed(turns(1_000, 1_500, 13_000, 13_200), policy);
    // 30 % of the window is left of it.
    expect(levels[2]).toBeGreaterThan(4_000);
    expect(levels[2]).toBeLessThan(5_200);
    expect(levels[3]).toBe(levels[2]! + 200);
    expect(runs.candidate.maskings).toBe(1);
  });

  it("keeps the room of the longest answer so far free, and lowers the lines with it", () => {
    const policy = policyOf({ thresholds: { ...OFF, hard: "90%" }, restart: { graceTurns: 0 } });
    const answered = (outputTokens: number) =>
      replayed([turn(1_000, { outputTokens }), ...turns(5_000, 8_000, 8_200)], policy).runs.candidate;
    expect(answered(100)).toMatchObject({ windDowns: 0, restarts: 0 });
    expect(answered(4_000)).toMatchObject({ restarts: 1 });
    // An answer as long as the window leaves no room for any prompt, so it says nothing of the limit.
    expect(answered(WINDOW)).toMatchObject({ windDowns: 0, restarts: 0 });
  });

  it("takes a prompt for full as soon as its estimate may be too low", () => {
    const thresholds = { ...OFF, hard: "100%" };
    const policy = policyOf({ thresholds, mask: null, compact: null, overflow: "send_anyway" });
    expect(replayed(turns(1_000, 8_900, 8_950), policy).runs.candidate.restarts).toBe(1);
    expect(replayed(turns(1_000, 5_000, 8_900, 8_950), policy).runs.candidate.restarts).toBe(0);
  });

  it("makes sub-ticks in loops alone, before the call that would exceed the tick's share", () => {
    const policy = policyOf({ thresholds: OFF }, "20%");
    const recorded = turns(400, 900, 1_400, 1_900, 2_400, 2_900);
    const effects = { ...ASSUMED_EFFECTS, subtick: { share: 0.25 } };
    const loop = replayed(recorded, policy, { inLoop: true, effects });
    expect(loop.runs.candidate.subticks).toBe(1);
    expect(loop.levels).toEqual([400, 900, 1_400, 1_900, 975, 1_475]);
    expect(replayed(recorded, policy).runs.candidate.subticks).toBe(0);
  });

  it("waits for the grace turns before a restart, asks for it without one, and stops at the maximum", () => {
    const recorded = turns(1_000, 6_000, 6_100, 6_200, 6_300, 9_000);
    const hard = (restart: PolicyInput["restart"]) =>
      replayed(recorded, policyOf({ thresholds: { ...OFF, hard: "50%" }, restart })).runs.candidate;
    expect(hard({ graceTurns: 2 })).toMatchObject({ windDowns: 1, restarts: 1 });
    expect(hard({ graceTurns: 2, how: "ask" })).toMatchObject({ windDowns: 1, restarts: 0 });
    expect(hard({ graceTurns: 2, max: 0 })).toMatchObject({ windDowns: 1, restarts: 0 });
  });

  it("does not count lines that an agent stood above before the range", () => {
    const policy = policyOf({ thresholds: { ...OFF, warning: "50%" } });
    const begun = replayed(turns(8_000, 8_100), policy, { fromStart: false });
    expect(begun.runs.candidate.crossings.warning).toBe(0);
    expect(replayed(turns(8_000, 8_100), policy).runs.candidate.crossings.warning).toBe(1);
  });

  it("has figures for an agent without turns", () => {
    const { turns: count, runs } = replayed([boundary("masked", 5, 1), turn(undefined)], policyOf({}));
    expect(count).toBe(0);
    expect(runs.candidate.peak).toBe(0);
  });

  it("does not depend on how often its figures are read", () => {
    fc.assert(
      fc.property(monotone, fc.func(fc.boolean()), (recorded, read) => {
        const policy = policyOf({ thresholds: { ...OFF, soft: "40%", ceiling: "60%", hard: "80%" } });
        const agent = new AgentReplay({
          policyOf: () => policy,
          inForce: () => OFF,
          effects: ASSUMED_EFFECTS,
          inLoop: false,
          fromStart: true,
        });
        for (const [at, item] of turns(...recorded).entries()) {
          agent.add(item);
          if (read(at)) agent.figures();
        }
        expect(agent.figures().runs.candidate).toEqual(replayed(turns(...recorded), policy).runs.candidate);
      }),
    );
  });
});

describe("the policy of a replay", () => {
  const settings = { thresholds: { ...OFF, ceiling: "50%" } };

  it("leaves out responses that the harnesses never carry out, unless the settings name them", () => {
    const habits = { masks: false, compacts: true, restarts: false };
    expect(replayPolicyOf(settings, habits).guard).toMatchObject({ mask: null, restart: null });
    expect(replayPolicyOf(settings, habits).guard.compact).not.toBeNull();
    const named = { ...settings, masking: { enabled: true }, restart: { mode: "auto" as const } };
    expect(replayPolicyOf(named, habits).guard.mask).not.toBeNull();
    expect(replayPolicyOf(named, habits).guard.restart).not.toBeNull();
  });

  it("has every response of the guard for harnesses that nothing is known of", () => {
    const { guard, tickShare } = replayPolicyOf({ ...settings, loop: { max_context_pct: 15 } }, undefined);
    expect([guard.mask, guard.compact, guard.restart].includes(null)).toBe(false);
    expect(tickShare).toBe("15%");
  });
});
