import { describe, expect, it } from "vitest";
import { type AgentRow, EMPTY_TALLY } from "../../db/tables/agents.ts";
import { SLOT_MS, slotOf } from "../../db/tables/buckets.ts";
import {
  type AgentChange,
  compareRank,
  type KnownSession,
  type MainRank,
  planSession,
  type SumReason,
} from "./plan-session.ts";

const SESSION = { id: "session", harness: "h", name: "s" };

function agent(id: string, rest: Partial<AgentRow> = {}): AgentRow {
  return {
    id,
    number: 1,
    version: 1,
    sessionId: "session",
    name: id,
    ownSession: undefined,
    parent: undefined,
    model: "m",
    firstAt: 10,
    lastAt: 20,
    lastReceivedAt: 30,
    firstReceivedAt: 25,
    turns: 2,
    windows: 1,
    ...EMPTY_TALLY,
    currentTokens: 500,
    currentWindow: 1_000,
    windowSource: 1,
    load: 0.5,
    peakTokens: 600,
    peakWindow: 1_000,
    peakUtilization: 0.6,
    peakAt: 15,
    stoppedAt: undefined,
    stopReason: undefined,
    state: undefined,
    hasState: true,
    uncounted: true,
    ...rest,
  };
}

const created = (after: AgentRow): AgentChange => ({ before: undefined, after, refolded: false });
const changed = (before: AgentRow, rest: Partial<AgentRow>, refolded = false): AgentChange => ({
  before,
  after: { ...before, ...rest },
  refolded,
});
const sessionOf = (...agents: AgentRow[]): KnownSession =>
  planSession(SESSION, undefined, agents.map(created)).after;

describe("a session is summed over all its agents", () => {
  const main = agent("main");
  const scout = agent("scout", { name: "scout", parent: "main" });
  const known = sessionOf(main, scout);

  it.each<[SumReason | undefined, string, KnownSession | undefined, AgentChange[]]>([
    [
      "agents_without_session",
      "its row is gone, but its agents are not",
      undefined,
      [changed(main, { turns: 3 })],
    ],
    ["refolded", "an agent was folded again", known, [changed(main, {}, true)]],
    ["peak_lowered", "an agent's peak fell", known, [changed(main, { peakTokens: 300 })]],
    ["peak_lowered", "an agent's share fell", known, [changed(main, { peakUtilization: 0.1 })]],
    ["peak_lowered", "an agent lost its peak", known, [changed(main, { peakTokens: undefined })]],
    [
      "peak_lowered",
      "an agent lost a share of 0",
      sessionOf(agent("main", { peakUtilization: 0 })),
      [changed(agent("main", { peakUtilization: 0 }), { peakUtilization: undefined })],
    ],
    [
      "main_agent_demoted",
      "the agent that stands for it ranks lower now",
      sessionOf(agent("a"), agent("b", { firstAt: 12 })),
      [changed(agent("a"), { parent: "b" })],
    ],
    [undefined, "never if an agent only grew", known, [changed(main, { turns: 9, peakTokens: 900 })]],
    [undefined, "never if an agent is new", known, [created(agent("third"))]],
    [undefined, "never if it is new with its agents", undefined, [created(main), created(scout)]],
    [
      undefined,
      "never if the agent that stands for it ranks higher now",
      known,
      [changed(main, { firstAt: 1 })],
    ],
    [undefined, "never if another agent's rank falls", known, [changed(scout, { firstAt: 19 })]],
  ])("as %s if %s", (reason, _, before, changes) => {
    expect(planSession(SESSION, before, changes).sum).toBe(reason);
  });
});

describe("a session", () => {
  it("adds what its agents gained", () => {
    const main = agent("main");
    const known = sessionOf(main);
    const { before, after } = planSession(SESSION, known, [
      changed(main, {
        turns: 5,
        masked: 1,
        reclaimed: 40,
        warnings: 2,
        lastAt: 90,
        lastReceivedAt: 95,
        peakTokens: 800,
      }),
      created(agent("scout", { turns: 1, firstAt: 5 })),
    ]);
    expect(before).toBe(known.row);
    expect(after.row).toMatchObject({
      version: 2,
      agents: 2,
      turns: 6,
      windows: 2,
      masked: 1,
      reclaimed: 40,
      warnings: 2,
      warned: true,
      firstAt: 5,
      lastAt: 90,
      lastReceivedAt: 95,
      peakTokens: 800,
    });
  });

  it("takes back what its agents lost", () => {
    const main = agent("main", { masked: 2, warnings: 1 });
    const { row } = planSession(SESSION, sessionOf(main), [changed(main, { masked: 1, warnings: 0 })]).after;
    expect(row).toMatchObject({ masked: 1, warnings: 0, warned: false });
  });

  it("shows the level of the agent that stands for it, and of no other", () => {
    const main = agent("main");
    const scout = agent("scout", { parent: "main", currentTokens: 900, model: "large" });
    const known = sessionOf(scout, main);
    expect(known.row).toMatchObject({ mainAgent: "main", currentTokens: 500, model: "m" });
    const moved = planSession(SESSION, known, [
      changed(scout, { currentTokens: 990 }),
      changed(main, { currentTokens: 510 }),
    ]);
    expect(moved.after.row).toMatchObject({ mainAgent: "main", currentTokens: 510 });
  });

  it.each<[string, number | undefined, number]>([
    ["while nothing ended it", undefined, slotOf(30)],
    ["again after an event later than its end", 15, slotOf(30)],
    ["no more once it has ended", 20, -1],
  ])("is open %s", (_, endedAt, slot) => {
    const main = agent("main");
    const { row } = planSession(SESSION, { ...sessionOf(main), endedAt }, [changed(main, {})]).after;
    expect(row.openSlot).toBe(slot);
  });

  it("is listed under coarse times and the bin of its peak", () => {
    const { row } = sessionOf(agent("main", { firstAt: SLOT_MS, lastAt: 3 * SLOT_MS, peakUtilization: 0.6 }));
    expect([row.firstSlot, row.lastSlot, row.peakBin]).toEqual([1, 3, 24]);
    expect(sessionOf(agent("main", { peakUtilization: undefined })).row.peakBin).toBe(-1);
    expect(sessionOf(agent("main", { peakUtilization: 1e6 })).row.peakBin).toBe(32_767);
  });
});

describe("the agent that stands for a session", () => {
  const rank = (id: string, rest: Partial<MainRank> = {}): MainRank => ({
    id,
    name: id,
    parent: undefined,
    firstAt: 10,
    ...rest,
  });
  it.each<[string, MainRank, MainRank]>([
    ["is main before an earlier one", rank("x", { name: "main", firstAt: 99 }), rank("a")],
    [
      "is one without a parent before an earlier child",
      rank("x", { firstAt: 99 }),
      rank("a", { parent: "p" }),
    ],
    ["is the earlier of two like it", rank("x", { firstAt: 9 }), rank("a")],
    ["is the smaller id at the same time", rank("a"), rank("x")],
  ])("%s", (_, first, second) => {
    expect(compareRank(first, second)).toBeLessThan(0);
    expect(compareRank(second, first)).toBeGreaterThan(0);
    expect(compareRank(first, first)).toBe(0);
  });
});
