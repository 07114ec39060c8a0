import { constantTimeline, finish } from "@plimsoll/fold";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/policy";
import { describe, expect, it } from "vitest";
import { reportedRow } from "../../db/tables/boundaries.ts";
import { parsedEvent } from "../../testing/events.ts";
import type { AgentChanges, AgentOptions, KnownAgent } from "./agent-changes.ts";
import { type AgentNews, NOTHING_STORED, newsOf, type StoredEvents } from "./agent-news.ts";
import { extendKnownAgent, type RefoldReason } from "./extend-agent.ts";
import { type ArrivedAgent, groupEvents } from "./group-events.ts";

const OPTIONS: AgentOptions = {
  fold: {
    thresholds: constantTimeline(DEFAULT_THRESHOLDS),
    lookups: { configured: () => undefined, catalog: (model) => (model === "m" ? 1_000 : undefined) },
  },
  modelId: (name) => name.length,
  segmentTurns: 4,
  refoldEvents: 99,
  nextNumber: () => 7,
};

const turn = (id: string, at: number, input: number, more: Record<string, unknown> = {}) =>
  parsedEvent({
    id,
    type: "turn",
    at,
    model: "m",
    usage: { input_tokens: input, output_tokens: 1 },
    ...more,
  });
const masked = (id: string, at: number, observations = 1) =>
  parsedEvent({ id, type: "masked", at, observations });

type Agent = ArrivedAgent & { sessionId: string };
type Event = ReturnType<typeof parsedEvent>;

function arrived(...events: Event[]): Agent {
  const agents = groupEvents(1, [{ events, request: 0, receivedAt: 5_000 }]).agents;
  return [...agents.values()][0] as Agent;
}

function extend(
  known: KnownAgent | undefined,
  events: Event[],
  stored: StoredEvents = NOTHING_STORED,
  options = OPTIONS,
) {
  const agent = arrived(...events);
  return finish(extendKnownAgent(agent, known, newsOf(agent, stored), options));
}

/** The block of all turns. */
function blockOf({ turns }: StoredEvents) {
  const blocks = new Set([...turns.values()].map(({ block }) => block));
  expect(blocks.size).toBe(1);
  return [...blocks][0]!;
}

function expectChanges(result: AgentChanges | RefoldReason): AgentChanges {
  if (typeof result === "string") throw new Error(`folded again: ${result}`);
  return result;
}

/** An agent after some events, and what the database holds of them. */
function historyOf(...events: Event[]): { known: KnownAgent; stored: StoredEvents } {
  const changes = expectChanges(extend(undefined, events));
  const place = { agentId: changes.after.row.id, sessionId: changes.after.row.sessionId, receivedAt: 5_000 };
  const readings = new Map(changes.rows.turns.added.map((reading) => [reading.turn.key, reading]));
  const turns = changes.rows.blocks.inserts.flatMap((block) =>
    block.rows.map((row) => ({ row, reading: readings.get(row.key)!, block })),
  );
  const { marks } = arrived(...events);
  const rows = changes.rows.boundaries.inserts.filter(({ id }) => marks.has(id));
  return {
    known: changes.after,
    stored: {
      turns: new Map(turns.map((one) => [one.row.key, one])),
      marks: new Map(
        rows.map(({ id, type, at, windowIndex: window, tokensBefore, tokensAfter }) => [
          id,
          reportedRow(marks.get(id)!, { id, type, at, window, tokensBefore, tokensAfter }, place),
        ]),
      ),
    },
  };
}

describe("an agent's history is folded again", () => {
  const { known, stored } = historyOf(turn("a", 10, 100), masked("m", 20), turn("b", 30, 120));

  it.each<[RefoldReason, string, Event[], KnownAgent]>([
    ["state_dropped", "its state was dropped", [turn("c", 40, 130)], { ...known, stored: undefined }],
    ["turn_changed", "a known turn has a larger prompt", [turn("b", 30, 900)], known],
    ["turn_changed", "a known turn moves to an earlier time", [turn("b", 25, 120)], known],
    ["mark_replaced", "an earlier mark has the id of a known one", [masked("m", 15)], known],
    ["out_of_order", "a turn is late", [turn("c", 5, 90)], known],
    ["out_of_order", "a mark is late", [masked("n", 5)], known],
    [
      "out_of_order",
      "a turn counts into an earlier window",
      [turn("c", 40, 90, { window: 0 }), turn("d", 5, 90)],
      known,
    ],
  ])("as %s if %s", (reason, _, events, agent) => {
    expect(extend(agent, events, stored)).toBe(reason);
  });

  it.each<[string, Event[]]>([
    ["a turn follows", [turn("c", 40, 130)]],
    ["a mark follows", [masked("n", 40)]],
    [
      "a known turn has more output",
      [turn("b", 30, 120, { usage: { input_tokens: 120, output_tokens: 9 } })],
    ],
    ["everything is known", [turn("a", 10, 100), masked("m", 20)]],
  ])("not if %s", (_, events) => {
    expectChanges(extend(known, events, stored));
  });

  it("if an event falls on the last cut, whatever its key", () => {
    const cut = historyOf(turn("a", 10, 100), turn("b", 20, 110), turn("c", 30, 120), turn("d", 40, 130));
    expect(cut.known.stored?.open.turns).toBe(0);
    for (const id of ["e", "f", "g", "h", "i", "j"])
      expect(extend(cut.known, [turn(id, 40, 140)], cut.stored)).toBe("out_of_order");
    expectChanges(extend(cut.known, [turn("e", 41, 140)], cut.stored));
  });

  it("if an event with a later sequence number is from before the last cut", () => {
    const ids = ["a", "b", "c", "d", "e"];
    const cut = historyOf(...ids.map((id, n) => turn(id, 10 * n, 100 + n, { seq: n })));
    expect(cut.known.stored?.open.turns).toBe(1);
    expect(extend(cut.known, [turn("f", 25, 140, { seq: 9 })], cut.stored)).toBe("out_of_order");
  });

  it("never for an agent that is new, whatever the order of its events", () => {
    const changes = expectChanges(
      extend(undefined, [turn("b", 30, 120), masked("m", 20), turn("a", 10, 100)]),
    );
    expect(changes.after.row).toMatchObject({ turns: 2, currentTokens: 120, number: 7, version: 1 });
  });
});

describe("an extension", () => {
  it("inserts the turns and boundaries that are new, and counts them", () => {
    const { known, stored } = historyOf(turn("a", 10, 900), masked("m", 20));
    const changes = expectChanges(extend(known, [turn("b", 30, 300)], stored));
    expect(
      changes.rows.blocks.inserts.map(({ rows }) => rows.map(({ contextTokens }) => contextTokens)),
    ).toEqual([[300]]);
    expect(changes.rows.boundaries.settled).toMatchObject([{ id: "m", tokensBefore: 900, tokensAfter: 300 }]);
    expect(changes.rows.boundaryCounts.map(({ count, reading }) => [count, reading.tokensAfter])).toEqual([
      [-1, undefined],
      [1, 300],
    ]);
    expect(changes.after.row).toMatchObject({
      version: 2,
      turns: 2,
      masked: 1,
      reclaimed: 600,
      peakTokens: 900,
    });
  });

  it("only rewrites the block of a known turn that grew", () => {
    const { known, stored } = historyOf(turn("a", 10, 100), turn("b", 20, 110));
    const grown = turn("a", 10, 100, { usage: { input_tokens: 100, output_tokens: 50 } });
    const changes = expectChanges(extend(known, [grown], stored));
    expect(changes.rows.blocks.deletes).toEqual([blockOf(stored)]);
    expect(changes.rows.blocks.inserts).toMatchObject([
      { firstKey: blockOf(stored).firstKey, rows: [{ outputTokens: 50 }, { outputTokens: 1 }] },
    ]);
    expect(changes.rows.turns.added).toEqual([]);
    expect(changes.rows.turns.replaced).toHaveLength(1);
    expect(changes.after.row).toMatchObject({ turns: 2, version: 2, currentTokens: 110 });
  });

  it("cuts the history after as many turns as a segment has", () => {
    const { known, stored } = historyOf(turn("a", 10, 100), turn("b", 20, 110), turn("c", 30, 120));
    expect(known.stored?.open.turns).toBe(3);
    const changes = expectChanges(extend(known, [turn("d", 40, 130), turn("e", 50, 140)], stored));
    expect(changes.rows.segments.upserts).toHaveLength(1);
    expect(changes.rows.segments.upserts[0]!.endsAt).toBe(arrived(turn("d", 40, 1)).firstAt);
    expect(changes.after.stored?.open.turns).toBe(1);
    expect(changes.after.row.turns).toBe(5);
    expect(changes.rows.blocks.inserts.map(({ rows }) => rows.length)).toEqual([1, 1]);
    const [first, last] = [arrived(turn("a", 10, 1)).firstAt, arrived(turn("d", 40, 1)).firstAt];
    expect(changes.rows.blocks.joins).toEqual([{ agent: 7, from: first, to: last }]);
  });

  it("writes a window once the agent has left it", () => {
    const { known, stored } = historyOf(turn("a", 10, 100));
    const restarted = parsedEvent({
      id: "r",
      type: "restarted",
      at: 20,
      number: 1,
      previous_turns: 1,
      carryover_turns: 0,
      reason: "full",
    });
    const stayed = expectChanges(extend(known, [turn("b", 15, 130)], stored));
    expect(stayed.rows.windows.upserts).toEqual([]);
    const left = expectChanges(extend(known, [restarted, turn("b", 30, 50)], stored));
    expect(left.rows.windows.upserts).toMatchObject([{ index: 0, turns: 1, peakTokens: 100 }]);
    expect(left.after.row).toMatchObject({ windows: 2, restarts: 1, currentTokens: 50 });
  });

  it("counts warnings, and takes back one whose report moved to the next turn", () => {
    const report = parsedEvent({
      id: "x",
      type: "threshold_crossed",
      at: 15,
      threshold: "warning",
      direction: "up",
      threshold_tokens: 150,
      context_tokens: 160,
    });
    const { known, stored } = historyOf(turn("a", 10, 100), report);
    expect(known.row.warnings).toBe(1);
    const changes = expectChanges(extend(known, [turn("b", 20, 160)], stored));
    expect(changes.rows.crossings.deletes).toHaveLength(1);
    expect(changes.rows.crossings.upserts).toMatchObject([
      { threshold: "warning", up: true, contextTokens: 160 },
    ]);
    expect(changes.after.row.warnings).toBe(1);
  });
});

it("news without events change nothing but the times", () => {
  const { known, stored } = historyOf(turn("a", 10, 100));
  const changes = expectChanges(extend(known, [turn("a", 10, 100)], stored));
  const { version: _v, ...row } = changes.after.row;
  const { version: _w, ...before } = known.row;
  expect(row).toEqual(before);
  const empty: Partial<Record<keyof AgentChanges, unknown>> = changes;
  for (const [field, value] of Object.entries(empty))
    if (Array.isArray(value)) expect(value, field).toEqual([]);
  const none: AgentNews = newsOf(arrived(turn("a", 10, 100)), stored);
  expect(none.newTurns).toEqual([]);
});
