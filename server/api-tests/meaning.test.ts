import type {
  ErrorBody,
  FleetAgent,
  FleetView,
  SessionChart,
  SessionDetail,
  SessionPage,
  TurnPage,
} from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sendable, startTestServer, type TestServer } from "../testing/server.ts";
import {
  countsOf,
  dayRange,
  KNOWN_MODEL,
  KNOWN_WINDOW,
  START,
  sendAndWait,
  turn,
  UNKNOWN_MODEL,
  unique,
} from "./support.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

const HARNESS = "phantom@api";

async function sent(...events: Sendable[]): Promise<Required<IngestAnswer>> {
  const { status, body } = await sendAndWait(server, events);
  expect(status, server.output()).toBe(200);
  return body;
}

async function sessionNamed(session: string): Promise<SessionDetail> {
  const { items } = await server.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  expect(items.map((item) => item.session)).toEqual([session]);
  return server.trpc("sessions.get", { id: items[0]!.id });
}

async function turnsOf(session: string) {
  const { items } = await server.trpc<TurnPage>("sessions.turns", {
    id: (await sessionNamed(session)).session.id,
  });
  return items.reverse();
}

async function agentOf(session: string, name = "main"): Promise<SessionDetail["agents"][number]> {
  const { agents } = await sessionNamed(session);
  return agents.find((agent) => agent.name === name)!;
}

const mark = (session: string, type: string, at: number, rest: Record<string, unknown> = {}) => ({
  id: unique("mark"),
  type,
  at,
  harness: HARNESS,
  session,
  ...rest,
});

describe("answers", () => {
  it("names every rejected event by index, id, code and path, and stores its neighbours", async () => {
    const session = unique("session");
    const good = turn(session, 1_000);
    const before = await countsOf(server);
    const answer = await sent(
      good,
      { ...turn(session, 1), id: "bad-count", usage: { input_tokens: -1 } },
      { ...turn(session, 1), id: "bad-type", type: "thought" },
      { ...turn(session, 1), id: "no-session", session: undefined },
      { ...turn(session, 1), id: "x".repeat(200) },
      { ...turn(session, 1), id: "seconds", at: Math.floor(START / 1_000) },
      { ...turn(session, 1), id: "half", model: "\ud800" },
      { ...turn(session, 1), id: "nul", session: "a\u0000b" },
      { ...mark(session, "masked", START), id: "no-observations" },
      [] as unknown as Sendable,
      null as unknown as Sendable,
      turn(session, 2_000),
    );
    expect(answer.accepted).toBe(2);
    expect(answer.duplicates).toBe(0);
    expect(answer.rejected.map(({ index, id, code, path }) => [index, id, code, path])).toEqual([
      [1, "bad-count", "invalid_field", "usage.input_tokens"],
      [2, "bad-type", "unknown_type", "type"],
      [3, "no-session", "missing_field", "session"],
      [4, "x".repeat(128), "invalid_field", "id"],
      [5, "seconds", "invalid_field", "at"],
      [6, "half", "invalid_field", "model"],
      [7, "nul", "invalid_field", "session"],
      [8, "no-observations", "missing_field", "observations"],
      [9, undefined, "not_an_object", ""],
      [10, undefined, "not_an_object", ""],
    ]);
    for (const { message } of answer.rejected) expect(message).not.toBe("");
    expect(answer.rejected[4]?.message).toContain("milliseconds");
    expect((await sessionNamed(session)).session.turns).toBe(2);
    const after = await countsOf(server);
    const grown = (outcome: string) => (after[outcome] ?? 0) - (before[outcome] ?? 0);
    expect(grown("turn")).toBe(2);
  });

  it("drops fields it does not know, wherever they are", async () => {
    const session = unique("session");
    const secret = unique("unknown");
    const event = { ...turn(session, 1_000), secret, usage: { input_tokens: 1_000, secret } };
    const boundary = { ...mark(session, "masked", START + 9e6, { observations: 2 }), secret };
    expect(await sent(event, boundary)).toEqual({ accepted: 2, duplicates: 0, rejected: [] });
    const detail = await sessionNamed(session);
    expect(JSON.stringify(detail)).not.toContain(secret);
    expect(detail.boundaries[0]?.detail).toEqual({ observations: 2 });
  });

  it("takes text that databases find hard", async () => {
    const session = `${unique("session")} '"; DROP TABLE turns; -- \u{1f6a2} %_\\`;
    const prose = "a NUL \u0000 and half a pair \ud83d and a tab \t";
    const events = [
      turn(session, 10, { agent: "{,}\"'\\", model: "modèle/\u{1f916}" }),
      mark(session, "session", START, { status: "started", kind: "loop", title: prose }),
      mark(session, "restarted", START + 9e6, {
        number: 1,
        previous_turns: 1,
        carryover_turns: 0,
        reason: prose,
      }),
      mark(session, "masked", START + 9e6, { observations: 1, tools: ["bash", "{}", '"'] }),
    ];
    expect(await sent(...events)).toEqual({ accepted: 4, duplicates: 0, rejected: [] });
    expect(await sent(...events)).toEqual({ accepted: 0, duplicates: 4, rejected: [] });
    const { items } = await server.trpc<SessionPage>("sessions.list", { ...dayRange, q: "DROP TABLE" });
    expect(items).toMatchObject([{ session, title: "a NUL  and half a pair  and a tab \t" }]);
  });

  it("takes the largest figures there are", async () => {
    const session = unique("session");
    const most = 700_000_000;
    const answer = await sent(
      ...[1, 2, 3].map(() =>
        turn(session, most, {
          usage: {
            input_tokens: most,
            cache_read_tokens: most,
            cache_write_tokens: most,
            output_tokens: most,
            reasoning_tokens: most,
            basis: "exclusive",
          },
          context_window: 1,
          cost_usd: 2_000,
          duration_ms: 2_147_483_647,
          seq: 2_147_483_647,
          window: 1_000_000,
        }),
      ),
      mark(session, "subtick", START + 9e6, {
        loop: "l",
        tick: 2_147_483_647,
        sub: 1,
        tokens_before: most,
        handoff_tokens: 0,
        reason: "",
        visible: false,
      }),
    );
    expect(answer).toMatchObject({ accepted: 4, rejected: [] });
    expect(await agentOf(session)).toMatchObject({ context_tokens: 3 * most, window_suspect: true });
    await server.trpc("status", dayRange);
  });
});

describe("sending again", () => {
  it("changes nothing and says duplicate", async () => {
    const session = unique("session");
    const events = [
      turn(session, 1_000, { cost_usd: 0.0012344, duration_ms: 12.6, composition: { system: 5 } }),
      turn(session, 2_000, { at: new Date(START + 1.5).toISOString() }),
      turn(session, undefined),
      mark(session, "compacted", START + 9e6, { trigger: "auto", tokens_before: 2_000, tokens_after: 100 }),
      mark(session, "session", START + 9e6, { status: "started", title: "A title" }),
      { ...mark(session, "harness", START, { status: "hello", name: "Phantom" }) },
    ];
    expect(await sent(...events)).toEqual({ accepted: 6, duplicates: 0, rejected: [] });
    const before = await sessionNamed(session);
    expect(await sent(...events)).toEqual({ accepted: 0, duplicates: 6, rejected: [] });
    expect(await sent(...events.toReversed(), ...events)).toEqual({
      accepted: 0,
      duplicates: 12,
      rejected: [],
    });
    expect(await sessionNamed(session)).toEqual(before);
  });

  it.each([
    ["in order", ["before", "hook", "log", "transcript", "after"]],
    ["after the turn that shows the level", ["before", "after", "transcript", "hook", "log"]],
    ["backwards", ["after", "transcript", "log", "hook", "before"]],
  ])("counts a compaction once that a hook, a log and a transcript report, %s", async (_, order) => {
    const session = unique("session");
    const compacted = (at: number, rest: Record<string, unknown> = {}) =>
      mark(session, "compacted", START + at, { trigger: "manual", ...rest });
    const events: Record<string, Sendable> = {
      before: turn(session, 9_000, { at: START }),
      hook: compacted(20_000),
      log: compacted(20_500, { tokens_before: 9_500 }),
      transcript: compacted(21_000, { tokens_before: 9_500 }),
      after: turn(session, 2_000, { at: START + 60_000 }),
    };
    for (const name of order) await sent(events[name]!);
    for (const name of order) expect(await sent(events[name]!)).toMatchObject({ duplicates: 1 });
    const detail = await sessionNamed(session);
    expect(detail.session).toMatchObject({ compacted: 1, unexplained: 0, reclaimed_tokens: 7_500 });
    expect(detail.boundaries).toMatchObject([
      { id: events.hook!.id, type: "compacted", tokens_before: 9_500, tokens_after: 2_000 },
    ]);
  });

  it("merges a turn that is reported again field by field", async () => {
    const session = unique("session");
    const first = turn(session, 3_000, { usage: { input_tokens: 3_000, output_tokens: 1 } });
    const later = {
      ...first,
      at: (first.at as number) + 60_000,
      usage: { output_tokens: 400, cache_read_tokens: 1_000 },
      duration_ms: 900,
    };
    const smaller = { ...first, usage: { input_tokens: 7, output_tokens: 2 } };
    expect(await sent(first)).toMatchObject({ accepted: 1 });
    expect(await sent(later)).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(await sent(smaller)).toMatchObject({ accepted: 0, duplicates: 1 });
    expect(await turnsOf(session)).toMatchObject([
      {
        at: new Date(first.at).toISOString(),
        context_tokens: 3_000,
        output_tokens: 400,
        cache_read_tokens: 1_000,
        duration_ms: 900,
      },
    ]);
  });

  it("merges a turn whose later report names another model", async () => {
    const session = unique("session");
    const first = turn(session, 3_000, { model: "gpt-4o" });
    await sent(first, turn(session, 4_000, { model: "gpt-4o" }));
    expect(await sent({ ...first, model: "gpt-4o-mini" })).toMatchObject({ accepted: 1 });
    expect(await turnsOf(session)).toMatchObject([{ model: "gpt-4o-mini" }, { model: "gpt-4o" }]);
  });

  it("gives the same in any order and any grouping", async () => {
    const [a, b] = [unique("session"), unique("session")];
    const story = (session: string): Sendable[] => [
      turn(session, 10_000, { id: "t1", at: START + 1_000 }),
      turn(session, 60_000, { id: "t2", at: START + 2_000 }),
      { ...mark(session, "masked", START + 2_500, { observations: 9, tokens_before: 60_000 }), id: "m1" },
      turn(session, 20_000, { id: "t3", at: START + 3_000 }),
      {
        ...mark(session, "restarted", START + 3_500, {
          number: 1,
          previous_turns: 3,
          carryover_turns: 0,
          reason: "soft",
        }),
        id: "m2",
      },
      turn(session, 5_000, { id: "t4", at: START + 4_000 }),
      turn(session, 3_000, { id: "t5", at: START + 5_000, agent: "child", parent_agent: "main" }),
    ];
    await sent(...story(a));
    for (const event of story(b).toReversed()) await sent(event);
    await sent(...story(b));
    // Ids follow from the session's name, and some lists are ordered by them.
    const normal = ({ windows, ...detail }: SessionDetail) => {
      const names = new Map(detail.agents.map(({ id, name }) => [id, name]));
      const spans = windows.map((window) => `${names.get(window.agent_id)} ${JSON.stringify(window)}`).sort();
      const text = JSON.stringify({ ...detail, session: { ...detail.session, session: "" }, spans });
      return JSON.parse(text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id"));
    };
    const [first, second] = [await sessionNamed(a), await sessionNamed(b)];
    expect(normal(second)).toEqual(normal(first));
    expect(first.session).toMatchObject({ turns: 5, agents: 2, windows: 3, masked: 1, restarts: 1 });
  });
});

describe("levels", () => {
  it("takes the latest turn in order, not in arrival, for current", async () => {
    const session = unique("session");
    await sent(turn(session, 90_000, { at: START + 9_000 }));
    await sent(turn(session, 20_000, { at: START + 1_000 }));
    expect(await agentOf(session)).toMatchObject({ context_tokens: 90_000, turns: 2 });
    await sent(turn(session, 30_000, { at: START + 10_000 }));
    expect(await agentOf(session)).toMatchObject({ context_tokens: 30_000, peak: { tokens: 90_000 } });
  });

  it("keeps when it heard beside when it happened, for clocks that are wrong", async () => {
    const session = unique("session");
    const past = Date.now() - 20 * 3_600_000;
    const future = Date.now() + 4 * 60_000;
    const before = Date.now();
    await sent(turn(session, 1_000, { at: past }), turn(session, 2_000, { at: future }));
    for (const row of await turnsOf(session)) {
      expect(Date.parse(row.received_at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(row.received_at)).toBeLessThanOrEqual(Date.now());
    }
    expect((await sessionNamed(session)).session.status).toBe("live");
    const history = unique("session");
    await sent(turn(history, 1_000, { at: past }), turn(history, 2_000, { at: past + 60_000 }));
    expect((await sessionNamed(history)).session.status).toBe("idle");
  });

  it("keeps two agents with one turn id apart, and a sub-agent off its parent's meter", async () => {
    const session = unique("session");
    const parent = turn(session, 50_000, { id: "msg_1" });
    const child = { ...turn(session, 900, { id: "msg_1" }), agent: "researcher", parent_agent: "main" };
    const later = { ...turn(session, 120_000), agent: "researcher", parent_agent: "main" };
    expect(await sent(parent, child, later)).toMatchObject({ accepted: 3 });
    const detail = await sessionNamed(session);
    expect(detail.agents.map(({ name, parent: p, context_tokens }) => [name, p, context_tokens])).toEqual([
      ["main", null, 50_000],
      ["researcher", "main", 120_000],
    ]);
    expect(detail.session).toMatchObject({ context_tokens: 50_000, peak_tokens: 120_000, agents: 2 });
  });

  it("shows a sub-agent that is a session itself in the session of its parent, and says so of the other", async () => {
    const [session, own] = [unique("session"), unique("own")];
    await sent(turn(session, 50_000), turn(own, 900));
    const before = await sessionNamed(own);
    await sent(turn(session, 1_200, { agent: "researcher", parent_agent: "main", own_session: own }));
    const { session: parent, agents } = await sessionNamed(session);
    expect(agents.map(({ name, parent: p, turns }) => [name, p, turns])).toEqual([
      ["main", null, 1],
      ["researcher", "main", 2],
    ]);
    const { status, body } = await server.request<ErrorBody>(`/api/v1/sessions/${before.session.id}`);
    expect(status).toBe(404);
    expect(body.error).toMatchObject({
      code: "not_found",
      details: { session_id: parent.id, agent_id: before.agents[0]!.id },
    });
  });

  it("shows a turn over 100 % as it is and suspects the window", async () => {
    const session = unique("session");
    await sent(turn(session, 30_000, { context_window: 10_000 }));
    expect(await agentOf(session)).toMatchObject({
      utilization: 3,
      window_suspect: true,
      window_source: "reported",
    });
  });

  it("takes a missing count for unknown, never for zero", async () => {
    const session = unique("session");
    await sent(turn(session, 40_000), turn(session, undefined));
    expect(await agentOf(session)).toMatchObject({ context_tokens: 40_000, uncounted_turns: 1, turns: 2 });
    expect((await turnsOf(session)).map((row) => row.context_tokens)).toEqual([40_000, null]);
  });

  it("shows tokens and no percentage for a window nobody knows", async () => {
    const session = unique("session");
    await sent(turn(session, 40_000, { model: UNKNOWN_MODEL, at: Date.now() }));
    expect(await agentOf(session)).toMatchObject({
      context_tokens: 40_000,
      window_tokens: null,
      window_source: "unknown",
      utilization: null,
      load: null,
    });
    const { agents } = await server.trpc<FleetView>("fleet", {});
    const row = agents.find((agent: FleetAgent) => agent.session === session);
    expect(row).toMatchObject({ utilization: null, line: null });
  });

  it("does not let a compaction's own prompt move the level", async () => {
    const session = unique("session");
    await sent(turn(session, 40_000), turn(session, 150_000, { purpose: "compaction" }));
    expect(await agentOf(session)).toMatchObject({
      context_tokens: 40_000,
      peak: { tokens: 40_000 },
      turns: 2,
    });
    const { session: row } = await sessionNamed(session);
    const { agents } = await server.trpc<SessionChart>("sessions.chart", { id: row.id });
    // Nothing was thinned: all that can be drawn is.
    expect(agents).toMatchObject([{ turns: 1, points: [{ number: 1, context_tokens: 40_000 }] }]);
  });

  it("keeps a restart that was due and not done as a sign that moves no level", async () => {
    const session = unique("session");
    const said = { response: "restart", reason: "max_restarts", context_tokens: 190_000 };
    await sent(
      turn(session, 40_000, { at: START }),
      mark(session, "withheld", START + 1, said),
      turn(session, 41_000, { at: START + 2 }),
    );
    const detail = await sessionNamed(session);
    expect(detail.boundaries).toMatchObject([{ type: "withheld", explains_fall: false, detail: said }]);
    expect(detail.session).toMatchObject({ context_tokens: 41_000, peak_tokens: 41_000, windows: 1 });
  });

  it("keeps the sizes of a note and of what came back after a fall, once, and no text of it", async () => {
    const session = unique("session");
    const size = { characters: 1_240, tokens: 310, context_tokens: 40_100, line_tokens: 52_100 };
    const back = { tokens: 420, checkpoint: true, rules: 3, lines: 0, left_out: 1 };
    const kept = mark(session, "checkpoint", START + 1, { ...size, note: "Next: the keel" });
    await sent(turn(session, 40_000, { at: START }), kept);
    await sent(
      kept,
      mark(session, "compacted", START + 2, { trigger: "auto" }),
      mark(session, "reinjected", START + 3, { ...back, text: "Next: the keel" }),
      turn(session, 9_000, { at: START + 4 }),
    );
    const detail = await sessionNamed(session);
    expect(detail.boundaries.sort((a, b) => a.at.localeCompare(b.at))).toMatchObject([
      { type: "checkpoint", explains_fall: false, detail: size },
      { type: "compacted", explains_fall: true, reclaimed_tokens: 31_000 },
      { type: "reinjected", explains_fall: false, detail: back },
    ]);
    expect(detail.session).toMatchObject({ context_tokens: 9_000, windows: 1, compacted: 1 });
    expect(JSON.stringify(detail)).not.toContain("keel");
  });

  it("derives a crossing, and takes one that is reported too for the same", async () => {
    const session = unique("session");
    const under = turn(session, 1_000);
    const over = turn(session, 0.16 * KNOWN_WINDOW);
    await sent(under, over);
    const crossed = mark(session, "threshold_crossed", over.at as number, {
      threshold: "warning",
      direction: "up",
      threshold_tokens: 0.15 * KNOWN_WINDOW,
      context_tokens: 0.16 * KNOWN_WINDOW,
    });
    await sent(crossed);
    const { crossings, session: row } = await sessionNamed(session);
    expect(crossings.map(({ threshold, direction, origin }) => [threshold, direction, origin])).toEqual([
      ["warning", "up", "both"],
    ]);
    expect(row).toMatchObject({ warnings: 1, model: KNOWN_MODEL });
  });
});
