import type { PlimsollEvent, Survived } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { preferredMark, type ReportedMark, sameMark } from "../../db/tables/boundaries.ts";
import { sessionId } from "../../db/tables/identity.ts";
import { EVENTS_START, parsedEvent } from "../../testing/events.ts";
import { groupEvents, readsTheSame, sameTurn } from "./group-events.ts";

const turn = (id: string, more: Record<string, unknown> = {}) =>
  parsedEvent({ id, type: "turn", model: "m", usage: { input_tokens: 100, output_tokens: 5 }, ...more });
const masked = (id: string, more: Record<string, unknown> = {}) =>
  parsedEvent({ id, type: "masked", observations: 1, ...more });
const received = (events: PlimsollEvent[], request = 0, receivedAt = 2_000) => ({
  events,
  request,
  receivedAt,
});
const one = <T>(values: Map<string, T>): T => {
  expect(values.size).toBe(1);
  return [...values.values()][0]!;
};

describe("events are grouped", () => {
  it("by agent, session and harness", () => {
    const { agents, sessions, harnesses } = groupEvents(1, [
      received([
        turn("a"),
        turn("a", { agent: "scout" }),
        turn("a", { session: "s2" }),
        turn("a", { harness: "h2" }),
      ]),
    ]);
    expect([agents.size, sessions.size, harnesses.size]).toEqual([4, 3, 2]);
  });

  it("by the project too: the same names are other agents", () => {
    const [first] = groupEvents(1, [received([turn("a")])]).agents.keys();
    const [second] = groupEvents(2, [received([turn("a")])]).agents.keys();
    expect(first).not.toBe(second);
  });

  it("with the marks of a harness under the harness, in no session", () => {
    const { agents, sessions } = groupEvents(1, [
      received([
        parsedEvent({
          id: "hi",
          type: "harness",
          status: "hello",
          name: "x",
          version: "1",
          capabilities: [],
        }),
      ]),
    ]);
    expect(sessions.size).toBe(0);
    expect(one(agents)).toMatchObject({ sessionId: undefined });
  });

  it("with quotas under the account, else under the person whose key sends it", () => {
    const quota = (id: string, more: object = {}) =>
      parsedEvent({
        ...{
          id,
          type: "quota",
          provider: "anthropic",
          limit: "five_hour",
          used_percent: 4,
          resets_at: EVENTS_START,
        },
        ...more,
      });
    const account = "0a".repeat(16);
    const events = [quota("a", { account }), quota("b")].map((event) => ({ ...event, person: "ada" }));
    const { quotas, agents, quotaRequests } = groupEvents(1, [received(events, 7)]);
    expect([...quotas.values()]).toMatchObject([
      { ownerKind: "account", owner: account },
      { ownerKind: "person", owner: "ada" },
    ]);
    expect([agents.size, quotaRequests]).toEqual([0, [7, 7]]);
  });

  it("with the widest times, the latest receipt and the smaller of two parents", () => {
    const events = [
      turn("a", { at: 50, parent_agent: "z" }),
      turn("b", { at: 10, parent_agent: "b" }),
      turn("c", { at: 90 }),
    ];
    const { agents } = groupEvents(1, [received(events.slice(0, 2), 0, 7), received(events.slice(2), 1, 5)]);
    expect(one(agents)).toMatchObject({
      firstAt: EVENTS_START + 10,
      lastAt: EVENTS_START + 90,
      receivedAt: 7,
      parent: "b",
    });
  });

  it("with a sub-agent and the session that its harness runs it as together, whichever comes first", () => {
    const ofSession = turn("a", { session: "own" });
    const ofAgent = turn("b", { agent: "scout", own_session: "own" });
    for (const events of [
      [ofSession, ofAgent],
      [ofAgent, ofSession],
    ]) {
      const agent = one(groupEvents(1, [received(events)]).agents);
      expect([agent.name, agent.sessionId, agent.turns.size]).toEqual(["scout", sessionId(1, "h", "s"), 2]);
    }
  });

  it.each([
    ["of a main agent", { own_session: "own" }],
    ["that is the session itself", { agent: "scout", own_session: "s" }],
  ])("without an own session %s", (_, fields) => {
    const { own_session: _own, ...plain } = fields as { own_session: string; agent?: string };
    const { agents } = groupEvents(1, [received([turn("a", fields), turn("b", plain)])]);
    expect(one(agents)).toMatchObject({ ownSession: undefined });
  });

  it("with a turn merged over its repeats, and what each repeat added", () => {
    const grown = turn("a", { usage: { input_tokens: 100, output_tokens: 9 } });
    const { turns } = one(groupEvents(1, [received([turn("a"), grown], 0), received([turn("a")], 1)]).agents);
    const { facts, arrivals } = one(turns);
    expect(facts.usage.output_tokens).toBe(9);
    expect(arrivals).toEqual([
      { request: 0, changed: true },
      { request: 0, changed: true },
      { request: 1, changed: false },
    ]);
  });

  it("with costs rounded to what is stored, so that a repeat adds nothing", () => {
    const { turns } = one(
      groupEvents(1, [received([turn("a", { cost_usd: 0.12345678 }), turn("a", { cost_usd: 0.12345699 })])])
        .agents,
    );
    expect(one(turns).facts.costUsd).toBe(0.123457);
    expect(one(turns).arrivals[1]).toEqual({ request: 0, changed: false });
  });
});

describe("of two marks with one id", () => {
  const mark = (
    at: number,
    type: "masked" | "compacted" | "phase",
    detail: Record<string, unknown>,
  ): ReportedMark => ({
    facts: {
      id: "m",
      at,
      type,
      sentWindow: undefined,
      tokensBefore: undefined,
      tokensAfter: undefined,
      crossing: undefined,
      survived: detail.survived as Survived | undefined,
    },
    detail,
  });

  it.each<[string, ReportedMark, ReportedMark]>([
    ["the earlier is kept", mark(1, "masked", { observations: 9 }), mark(2, "masked", { observations: 1 })],
    [
      "of one time, the smaller text is kept",
      mark(1, "masked", { observations: 1 }),
      mark(1, "masked", { observations: 2 }),
    ],
    [
      "of one time, the one that knows more of what survived is kept",
      mark(1, "compacted", { survived: { rule: { verbatim: 2, near: 0, absent: 1 } }, trigger: "manual" }),
      mark(1, "compacted", { survived: { file: { verbatim: 2, near: 0, absent: 0 } }, trigger: "auto" }),
    ],
    ["of one time, the smaller type is kept", mark(1, "masked", {}), mark(1, "phase", {})],
  ])("%s, whichever came first", (_, kept, dropped) => {
    expect(preferredMark(kept, dropped)).toBe(kept);
    expect(preferredMark(dropped, kept)).toBe(kept);
  });

  it("both say the same whatever the order of their keys", () => {
    const a = mark(1, "masked", { observations: 1, tools: ["x", "y"], nested: { a: 1, b: 2 } });
    const b = mark(1, "masked", {
      nested: { b: 2, a: 1 },
      tools: ["x", "y"],
      observations: 1,
      gone: undefined,
    });
    expect(sameMark(a, b)).toBe(true);
    expect(
      sameMark(a, mark(1, "masked", { observations: 1, tools: ["y", "x"], nested: { a: 1, b: 2 } })),
    ).toBe(false);
    expect(sameMark(a, { ...a, facts: { ...a.facts, at: 2 } })).toBe(false);
    expect(sameMark(a, { ...a, facts: { ...a.facts, sentWindow: 1 } })).toBe(false);
  });

  it("any number in any order leaves the same one", () => {
    const marks = fc.array(
      fc
        .record({ at: fc.nat(2), observations: fc.nat(2) })
        .map(({ at, observations }) => masked("m", { at: 1 + at, observations })),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(
        marks.chain((given) =>
          fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
        ),
        ([given, shuffled]) => {
          const kept = (events: PlimsollEvent[]) => {
            const { facts, detail } = one(one(groupEvents(1, [received(events)]).agents).marks);
            return { facts, detail };
          };
          expect(kept(shuffled)).toEqual(kept(given));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("a repeat of a turn", () => {
  const facts = (more: Record<string, unknown> = {}) =>
    one(one(groupEvents(1, [received([turn("a", more)])]).agents).turns).facts;
  const usage = (more: Record<string, number | string>) => ({
    usage: { input_tokens: 100, output_tokens: 5, ...more },
  });

  it.each<[string, Record<string, unknown>, { same: boolean; reads: boolean }]>([
    ["without a difference adds nothing", {}, { same: true, reads: true }],
    [
      "with more output is new, and reads the same",
      usage({ output_tokens: 6 }),
      { same: false, reads: true },
    ],
    [
      "with reasoning tokens is new, and reads the same",
      usage({ reasoning_tokens: 6 }),
      { same: false, reads: true },
    ],
    ["with a duration is new, and reads the same", { duration_ms: 5 }, { same: false, reads: true }],
    ["with a cost is new, and reads the same", { cost_usd: 0.5 }, { same: false, reads: true }],
    [
      "with a composition is new, and reads the same",
      { composition: { system: 1 } },
      { same: false, reads: true },
    ],
    ["with another prompt reads differently", usage({ input_tokens: 101 }), { same: false, reads: false }],
    ["with cached tokens reads differently", usage({ cache_read_tokens: 1 }), { same: false, reads: false }],
    [
      "with the life of what was written reads differently",
      usage({ cache_write_1h_tokens: 0 }),
      { same: false, reads: false },
    ],
    ["with a basis reads differently", usage({ basis: "exclusive" }), { same: false, reads: false }],
    ["at another time reads differently", { at: 1_001 }, { same: false, reads: false }],
    ["with a sequence number reads differently", { seq: 1 }, { same: false, reads: false }],
    ["with a window index reads differently", { window: 1 }, { same: false, reads: false }],
    ["with a window size reads differently", { context_window: 9_000 }, { same: false, reads: false }],
    ["of another model reads differently", { model: "n" }, { same: false, reads: false }],
    ["as an estimate reads differently", { estimated: true }, { same: false, reads: false }],
    ["for compaction reads differently", { purpose: "compaction" }, { same: false, reads: false }],
  ])("%s", (_, more, { same, reads }) => {
    expect(sameTurn(facts(), facts(more))).toBe(same);
    expect(readsTheSame(facts(), facts(more))).toBe(reads);
  });

  it.each(Object.keys(facts()).filter((field) => field !== "key"))(
    "with another %s is new, as every field that is stored",
    (field) => {
      const given = facts();
      const other = { usage: { input_tokens: 7 }, outcome: { calls: 7 } }[field] ?? "another";
      expect(sameTurn(given, { ...given, [field]: other })).toBe(false);
    },
  );
});
