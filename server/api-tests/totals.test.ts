import type { FleetStatus, SessionPage } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { rangeQuery, START, turn } from "./support.ts";

const MINUTE = 60_000;
const LOW = 10_000;
const HIGH = 60_000;
const HARNESSES = ["phantom@0", "phantom@1"];

interface Told {
  harness: string;
  /** Epoch ms, in order. */
  turns: { at: number; high: boolean }[];
}

let server: TestServer;
let sessions: Told[];

/** Short and long ones, thick about the whole five minutes the database keeps times in. */
const told: fc.Arbitrary<Told> = fc
  .record({
    harness: fc.constantFrom(...HARNESSES),
    first: fc.integer({ min: 0, max: 60 }),
    turns: fc.array(
      fc.record({ gap: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(40)), high: fc.boolean() }),
      { minLength: 1, maxLength: 5 },
    ),
    offset: fc.constantFrom(0, 1, 30_000, MINUTE - 1),
  })
  .map(({ harness, first, turns, offset }) => {
    let at = START + first * MINUTE + offset;
    const placed = turns.map(({ gap, high }) => {
      at += gap * MINUTE;
      return { at, high };
    });
    return { harness, turns: placed };
  });

beforeAll(async () => {
  server = await startTestServer();
  sessions = fc.sample(told, { numRuns: 150, seed: 3 });
  const events = sessions.flatMap(({ harness, turns }, session) =>
    turns.map(({ at, high }, n) =>
      turn(`told-${session}`, high ? HIGH : LOW, { at, harness, seq: n, id: `t${n}` }),
    ),
  );
  expect((await server.send(events)).body.rejected).toEqual([]);
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

/** Each passage from below the warning to above it. */
function warnings({ turns }: Told): number[] {
  return turns.filter(({ high }, n) => high && turns[n - 1]?.high !== true).map(({ at }) => at);
}

function counted(from: number, to: number, harness: string | undefined) {
  const active = sessions.filter(
    (session) =>
      (harness === undefined || session.harness === harness) &&
      session.turns.at(-1)!.at >= from &&
      session.turns[0]!.at < to,
  );
  const warned = active.filter((session) => warnings(session).some((at) => at >= from && at < to));
  return { sessions: active.length, sessions_past_warning: warned.length };
}

async function status(from: number, to: number, harness?: string): Promise<FleetStatus> {
  const query = new URLSearchParams({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(harness === undefined ? {} : { harness }),
  });
  const answer = await server.get<FleetStatus>(`/api/v1/status?${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

describe("the totals of a range", () => {
  it("count the sessions active in it, and those that crossed their warning in it", async () => {
    const instant = fc
      .tuple(fc.integer({ min: -20, max: 300 }), fc.constantFrom(0, 0, 1, MINUTE - 1))
      .map(([minute, offset]) => START + minute * MINUTE + offset);
    await fc.assert(
      fc.asyncProperty(
        instant,
        fc.oneof(fc.integer({ min: 1, max: 6 * MINUTE }), fc.integer({ min: 1, max: 200 * MINUTE })),
        fc.option(fc.constantFrom(...HARNESSES), { nil: undefined }),
        async (from, length, harness) => {
          const { totals, previous } = await status(from, from + length, harness);
          expect(totals).toMatchObject(counted(from, from + length, harness));
          expect(previous).toMatchObject(counted(from - length, from, harness));
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 50) },
    );
  });
});

describe("a session that ended", () => {
  const live = async (session: string) => {
    const { items } = (await server.get<SessionPage>(`/api/v1/sessions?${rangeQuery}&q=${session}`)).body;
    const fleet = (await server.get<{ agents: { session: string }[] }>("/api/v1/fleet?limit=500")).body;
    const inFleet = fleet.agents.some((agent) => agent.session === session);
    expect(items[0]?.status === "live").toBe(inFleet);
    return inFleet;
  };
  const ended = (session: string, at: number) => ({
    id: `end-${at}`,
    type: "session",
    at,
    harness: "h-0",
    session,
    status: "ended",
  });

  it("leaves the fleet, whatever older turns still come in, and is back with a later one", async () => {
    const now = Date.now();
    await server.send([turn("ending", LOW, { at: now - 5_000, harness: "h-0" })]);
    expect(await live("ending")).toBe(true);
    await server.send([ended("ending", now - 3_000)]);
    expect(await live("ending")).toBe(false);
    await server.send([turn("ending", LOW, { at: now - 4_000, harness: "h-0" })]);
    expect(await live("ending")).toBe(false);
    await server.send([turn("ending", LOW, { at: now - 1_000, harness: "h-0" })]);
    expect(await live("ending")).toBe(true);
    await server.send([ended("ending", now)]);
    expect(await live("ending")).toBe(false);
  });

  it("is live when its end came first and a later turn with it", async () => {
    const now = Date.now();
    await server.send([ended("late", now - 3_000), turn("late", LOW, { at: now - 2_000, harness: "h-0" })]);
    expect(await live("late")).toBe(true);
  });
});

describe("the place of an agent", () => {
  it("is the latest it was said to be at, whatever came in when", async () => {
    const base = { harness: "h-0", session: "placed" };
    const begin = Date.now() - 10_000;
    const said = [
      { type: "restarted", number: 2, previous_turns: 9, carryover_turns: 0, reason: "context", minute: 1 },
      { type: "phase", phase: "20a", status: "running", minute: 4 },
      {
        type: "subtick",
        loop: "l",
        tick: 4,
        sub: 2,
        handoff_tokens: 1,
        reason: "",
        visible: true,
        minute: 3,
      },
      { type: "masked", observations: 3, minute: 5 },
    ].map(({ minute, ...more }) => ({
      id: `place-${minute}`,
      at: begin + minute * 1_000,
      tokens_before: 9_000,
      tokens_after: 5_000,
      ...base,
      ...more,
    }));
    const place = async () => {
      const { agents } = (
        await server.get<{ agents: { session: string; place: string | null }[] }>("/api/v1/fleet?limit=500")
      ).body;
      return agents.find((agent) => agent.session === "placed")?.place;
    };
    await server.send([turn("placed", LOW, { at: begin, harness: "h-0" })]);
    expect(await place()).toBeNull();
    for (const [event, expected] of [
      [said[2], "tick 4.2"],
      [said[3], "tick 4.2"],
      [said[0], "tick 4.2"],
      [said[1], "phase 20a"],
    ] as const) {
      expect((await server.send([event!])).body.rejected).toEqual([]);
      expect(await place()).toBe(expected);
    }
  });
});
