import type { ReplayResult } from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queriesOf } from "../../db/sql.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import { EVENTS_START } from "../../testing/events.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { MeasuredEffects } from "./effects.ts";
import type { ReplayFilter } from "./read-agents.ts";
import { type ReplayRequest, runReplay } from "./run-replay.ts";
import { readReplaySession, thinnedPoints } from "./session-view.ts";

const WINDOW = 10_000;
const MINUTE = 60_000;
const EVERYTHING: ReplayFilter = { from: EVENTS_START - 1, to: EVENTS_START + 10_000 * MINUTE };
const NEVER = new AbortController().signal;

let path: TestIngest;
let serial = 0;

/** Events of one session, a minute apart: numbers are turns with so many context tokens. */
function eventsOf(harness: string, session: string, ...steps: (number | object)[]): object[] {
  return steps.map((step, minute) => ({
    id: `e${++serial}`,
    harness,
    session,
    at: EVENTS_START + minute * MINUTE,
    ...(typeof step === "number"
      ? {
          type: "turn",
          model: "model-a",
          context_window: WINDOW,
          usage: { input_tokens: step, output_tokens: 1 },
        }
      : step),
  }));
}

const masked = (before: number, after: number) => ({
  type: "masked",
  observations: 3,
  tokens_before: before,
  tokens_after: after,
});
const compacted = (before: number, after: number, trigger = "auto") => ({
  type: "compacted",
  trigger,
  tokens_before: before,
  tokens_after: after,
});

/** A compaction at 8,000 of 10,000 tokens, again and again. */
const CYCLE = Array.from({ length: 13 }, (_, step) => 2_000 + step * 500);
const compactions = Array.from({ length: 4 }, () => [...CYCLE, compacted(8_000, 2_000)]).flat();
/** The second masking frees nine tenths of what was added since the first. */
const maskings = [
  1_000,
  4_000,
  7_000,
  masked(7_000, 2_000),
  2_000,
  5_000,
  7_000,
  masked(7_000, 2_500),
  2_500,
];

beforeAll(async () => {
  path = await testIngest({ lines: false });
  await path.sendOnce([
    ...eventsOf("coder@1", "often", ...compactions),
    ...eventsOf("coder@2", "calm", 1_000, 1_500, 2_000),
    ...eventsOf(
      "masker@1",
      "masks",
      ...maskings,
      5_000,
      7_000,
      masked(7_000, 3_000),
      3_000,
      7_000,
      masked(7_000, 3_400),
    ),
    ...eventsOf("hand@1", "by-hand", 1_000, 5_000, compacted(5_000, 1_000, "manual"), 1_200),
    ...eventsOf("silent@1", "falls", 1_000, 3_000, 5_000, 7_000, 9_000, 1_500, 2_000),
    ...eventsOf("coder@1", "other-model", { type: "turn", model: "model-b", usage: { input_tokens: 9_000 } }),
  ]);
});
afterAll(() => path?.close());

const bodyOf = (thresholds: object, more: object = {}): PolicyBody => ({
  settings: {
    thresholds: { warning: null, ceiling: null, soft: null, hard: null, reserve: null, ...thresholds },
    ...more,
  },
  layers: [],
});

async function request(candidate: PolicyBody, filter: Partial<ReplayFilter> = {}): Promise<ReplayRequest> {
  return {
    databaseUrl: path.databaseUrl,
    projectId: 1,
    book: await PolicyBook.read(queriesOf(path), 1),
    candidate,
    filter: { ...EVERYTHING, ...filter },
  };
}

async function replayOf(candidate: PolicyBody, filter: Partial<ReplayFilter> = {}): Promise<ReplayResult> {
  return runReplay(await request(candidate, filter), { signal: NEVER, progress: () => {} });
}

const idOf = (harness: string, session: string) => sessionId(1, harness, session);

describe("a replay of stored turns", () => {
  it("shows what happened beside what a candidate would do, with the sessions of each number", async () => {
    const { runs, sessions, turns, affected_sessions, most_affected, names } = await replayOf(
      bodyOf({ ceiling: "50%" }),
      {
        harness: "coder@1",
        model: "model-a",
      },
    );
    expect({ sessions, turns, affected_sessions }).toEqual({ sessions: 1, turns: 52, affected_sessions: 1 });
    const id = idOf("coder@1", "often");
    expect(most_affected.map((session) => session.id)).toEqual([id]);
    expect(names).toEqual({ [id]: { name: "often", harness: "coder@1" } });
    expect(runs.happened.compactions).toEqual({ count: 4, sessions: 1, most: [{ id, count: 4 }] });
    expect(runs.candidate.compactions.count).toBeGreaterThan(4);
    expect(runs.candidate.kept_out_tokens).toBeGreaterThan(runs.current.kept_out_tokens);
    expect(runs.candidate.peak_tokens).toBeLessThan(runs.happened.peak_tokens);
  });

  it("predicts what happened under the policy in force", async () => {
    const { runs } = await replayOf(bodyOf({ ceiling: "75%" }), { harness: "coder@1", model: "model-a" });
    expect(Math.abs(runs.candidate.compactions.count - 4)).toBeLessThanOrEqual(1);
  });

  it("counts the crossings that were recorded", async () => {
    await path.sendOnce([
      ...eventsOf("told@1", "told", 1_000, 6_000, {
        type: "threshold_crossed",
        threshold: "ceiling",
        direction: "up",
        threshold_tokens: 5_000,
        context_tokens: 6_000,
      }),
    ]);
    const { runs } = await replayOf(bodyOf({ ceiling: "90%" }), { harness: "told@1" });
    expect(runs.happened.crossings.ceiling).toMatchObject({ count: 1, sessions: 1 });
    expect(runs.candidate.crossings.ceiling).toMatchObject({ count: 0, sessions: 0, most: [] });
  });

  it("keeps what a user compacted in every run", async () => {
    const { runs } = await replayOf(bodyOf({}), { harness: "hand@1" });
    for (const run of Object.values(runs)) expect(run.compactions.count).toBe(1);
    expect(runs.candidate.kept_out_tokens).toBe(0);
  });

  it.each<[string, Partial<ReplayFilter>, number]>([
    ["an instance", { harness: "coder@2" }, 3],
    ["a family, in any case", { family: "CODER" }, 56],
    ["a model", { model: "model-b" }, 1],
    [
      "a session",
      {
        get session() {
          return idOf("coder@2", "calm");
        },
      },
      3,
    ],
    ["a range", { harness: "coder@2", to: EVENTS_START + 2 * MINUTE }, 2],
    ["nobody", { harness: "nobody@1" }, 0],
    ["a time without turns", { from: EVENTS_START + 9_000 * MINUTE }, 0],
  ])("reads the turns of %s", async (_, filter, turns) => {
    expect((await replayOf(bodyOf({ ceiling: "50%" }), filter)).turns).toBe(turns);
  });

  it("says what it assumes, from how many responses, and does not mix families", async () => {
    const { assumptions } = await replayOf(bodyOf({ ceiling: "50%" }));
    const of = (family: string, response: string) =>
      assumptions.find((one) => one.family === family && one.response === response);
    expect(of("coder", "compacted")).toEqual({
      family: "coder",
      window_tokens: WINDOW,
      response: "compacted",
      unit: "tokens",
      value: 2_000,
      n: 4,
      source: "window",
    });
    expect(of("masker", "masked")).toMatchObject({ n: 3, unit: "added_share", source: "window" });
    // 4,500 of 5,000, 4,000 of 4,500 and 3,600 of 4,000 added tokens.
    expect(of("masker", "masked")!.value).toBeCloseTo(12_100 / 13_500, 5);
    expect(of("masker", "compacted")).toMatchObject({
      source: "project",
      n: 4,
      unit: "level_share",
      value: 0.25,
    });
    expect(of("hand", "subtick")).toMatchObject({ source: "assumed", unit: "level_share", n: 0 });
  });

  it("takes no habit from what a user did", async () => {
    const effects = await MeasuredEffects.read(queriesOf(path), 1);
    expect(effects.habitsOf("hand")).toBeUndefined();
    expect(effects.habitsOf("coder")).toEqual({ masks: false, compacts: true, restarts: false });
    expect(effects.habitsOf("masker")).toEqual({ masks: true, compacts: false, restarts: false });
  });

  it("applies the layer of each harness and model", async () => {
    const candidate: PolicyBody = {
      ...bodyOf({}),
      layers: [{ scope: { harness: "coder@1" }, settings: { thresholds: { ceiling: "30%" } } }],
    };
    const [own, other] = await Promise.all([
      replayOf(candidate, { harness: "coder@1" }),
      replayOf(candidate, { harness: "coder@2" }),
    ]);
    expect(own.runs.candidate.compactions.count).toBeGreaterThan(4);
    expect(other.runs.candidate.compactions.count).toBe(0);
  });

  it("reports its progress up to the last turn", async () => {
    const seen: [number, number][] = [];
    const { turns } = await runReplay(await request(bodyOf({}), { family: "coder" }), {
      signal: NEVER,
      progress: (done, total) => seen.push([done, total]),
    });
    expect(seen.at(-1)).toEqual([turns, turns]);
    expect(seen.map(([done]) => done)).toEqual(seen.map(([done]) => done).sort((a, b) => a - b));
  });

  it("leaves no connection behind when it is cancelled at any point", async () => {
    const asked = await request(bodyOf({ ceiling: "50%" }));
    for (const steps of [0, 1, 2]) {
      const stop = new AbortController();
      let left = steps;
      if (left === 0) stop.abort(new Error("enough"));
      const replay = runReplay(asked, {
        signal: stop.signal,
        progress: () => {
          if (--left <= 0) stop.abort(new Error("enough"));
        },
      });
      await expect(replay).rejects.toThrow("enough");
    }
    const [row] = await path.prisma.$queryRaw<{ open: number }[]>`
      SELECT count(*)::int4 AS open FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'plimsoll maintenance'`;
    expect(row!.open).toBe(0);
  });

  it("lets a fall that nobody explained lower every run once, and to no less than was recorded", async () => {
    const { agents } = await readReplaySession(
      await request(bodyOf({ ceiling: "40%" }), { harness: "silent@1" }),
      idOf("silent@1", "falls"),
      NEVER,
    );
    const levels = agents[0]!.points.map(({ happened, candidate }) => ({ happened, candidate }));
    expect(levels.map(({ happened }) => happened)).toEqual([1_000, 3_000, 5_000, 7_000, 9_000, 1_500, 2_000]);
    expect(levels.at(-2)!.candidate).toBe(1_500);
    expect(levels.at(-1)!.candidate).toBe(2_000);
    expect(levels[4]!.candidate).toBeLessThan(9_000);
  });

  it("gives the levels of one session in all runs", async () => {
    const { agents } = await readReplaySession(
      await request(bodyOf({ ceiling: "50%" })),
      idOf("coder@1", "often"),
      NEVER,
    );
    expect(agents).toHaveLength(1);
    expect(agents[0]).toMatchObject({ agent: "main", turns: 52 });
    expect(agents[0]!.points.map(({ happened }) => happened).slice(0, 14)).toEqual([...CYCLE, 2_000]);
    expect(Math.max(...agents[0]!.points.map(({ candidate }) => candidate))).toBeLessThan(8_000);
    const none = await readReplaySession(await request(bodyOf({})), idOf("coder@1", "nothing"), NEVER);
    expect(none.agents).toEqual([]);
  });

  it("counts a session once, also with more agents than one statement reads", async () => {
    const events = Array.from({ length: 1_200 }, (_, agent) =>
      eventsOf("crowd@1", "crowd", 9_000 + agent).map((event) => ({ ...event, agent: `worker-${agent}` })),
    ).flat();
    await path.sendOnce([...events, ...eventsOf("crowd@1", "alone", 1_000)]);
    const { sessions, agents, turns, runs } = await replayOf(bodyOf({ warning: "50%" }), {
      harness: "crowd@1",
    });
    expect({ sessions, agents, turns }).toEqual({ sessions: 2, agents: 1_201, turns: 1_201 });
    const crowd = { id: idOf("crowd@1", "crowd"), count: 1_200 };
    expect(runs.candidate.crossings.warning).toEqual({ count: 1_200, sessions: 1, most: [crowd] });
  });

  it("leaves out no peak of a long session's chart", () => {
    const points = Array.from({ length: 12_345 }, (_, at) => ({
      at,
      happened: at === 7_777 ? 9_999 : at % 100,
      current: 0,
      candidate: at === 4_321 ? 8_888 : 1,
    }));
    const kept = thinnedPoints(points);
    expect(kept.length).toBeLessThanOrEqual(1_001);
    expect(kept.map(({ at }) => at)).toEqual(expect.arrayContaining([4_321, 7_777, 12_344]));
  });
});

it("tells how far it is off, by the agents that ran a policy from their first turn on", async () => {
  const { ran: none } = await replayOf(bodyOf({ ceiling: "50%" }), { harness: "coder@1" });
  expect(none).toMatchObject({ agents: 0, happened: { compactions: 0 }, told: { compactions: 0 } });
  const HASH = "a".repeat(64);
  const row = { projectId: 1, generation: 1, createdAt: new Date(EVENTS_START - MINUTE) };
  await path.prisma.policyVersion.create({
    data: {
      ...row,
      hash: HASH,
      body: bodyOf({ ceiling: "75%" }) as object,
      reason: "a test",
      actor: "server",
    },
  });
  await path.prisma.policyStep.create({
    data: { ...row, revision: 1, at: row.createdAt, share: 1, harnesses: [] },
  });
  const ack = (harness: string, at: number, more: object = {}) => ({
    type: "policy_ack",
    id: `ack-${harness}`,
    harness,
    at,
    generation: 1,
    hash: HASH,
    status: "applied",
    ...more,
  });
  await path.sendOnce([
    ack("ran@1", EVENTS_START - 1_000),
    ...eventsOf("ran@1", "ran", ...compactions),
    ack("late@1", EVENTS_START + MINUTE),
    ...eventsOf("late@1", "late", ...compactions),
    ack("refused@1", EVENTS_START - 1_000, { status: "rejected", code: "invalid" }),
    ...eventsOf("refused@1", "refused", ...compactions),
    ack("other@1", EVENTS_START - 1_000, {
      status: "overridden",
      effective: { thresholds: { ceiling: "40%" } },
      differences: [{ path: "thresholds.ceiling", code: "local_override" }],
    }),
    ...eventsOf("other@1", "other", ...compactions),
    ack("mixed@1", EVENTS_START - 1_000),
    ...eventsOf("mixed@1", "tools", ...maskings),
    ...eventsOf("mixed@1", "talk", ...compactions),
  ]);
  // The error is that of the policy that ran, whatever the candidate.
  for (const ceiling of ["75%", "20%"]) {
    const { ran } = await replayOf(bodyOf({ ceiling }), { harness: "ran@1" });
    expect(ran).toMatchObject({ agents: 1, happened: { compactions: 4 } });
    expect(Math.abs(ran.told.compactions - 4)).toBeLessThanOrEqual(1);
  }
  for (const harness of ["late@1", "refused@1"])
    expect((await replayOf(bodyOf({ ceiling: "75%" }), { harness })).ran.agents).toBe(0);
  // It ran a lower line than the policy: replay tells many more than the four that happened.
  const { ran, runs } = await replayOf(bodyOf({ ceiling: "75%" }), { harness: "other@1" });
  expect(ran.told.compactions + ran.told.maskings).toBeGreaterThan(8);
  expect(runs.current.compactions.count).toBeLessThanOrEqual(5);
  // Its policy masks first, and yet it had to compact: it holds no results.
  const session = idOf("mixed@1", "talk");
  const { ran: talk } = await replayOf(bodyOf({ ceiling: "75%" }), { session });
  expect(talk).toMatchObject({ agents: 1, happened: { compactions: 4 }, told: { maskings: 0 } });
  expect(Math.abs(talk.told.compactions - 4)).toBeLessThanOrEqual(1);
});
