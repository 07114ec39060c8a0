import type { BeforeAfter, FleetMarks, FleetStatus, WholePolicy } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { caughtUp, rangeQuery, sendAndWait, turn, unique } from "./support.ts";

const HOUR = 3_600_000;
/** A whole minute an hour ago. */
const AT = Math.floor(Date.now() / 60_000) * 60_000 - HOUR;
const iso = (at: number) => new Date(at).toISOString();

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const session = unique("session");
  const fall = (id: string, at: number, type: string, more = {}) => ({
    id,
    type,
    at,
    harness: "phantom@api",
    session,
    tokens_before: 90_000,
    tokens_after: 20_000,
    ...more,
  });
  const turns = (from: number, count: number, input: number) =>
    Array.from({ length: count }, (_, n) => turn(session, input, { at: from + n * 1_000 }));
  await sendAndWait(server, [
    // Beyond the period before: as long as the range after, which is half an hour.
    ...turns(AT - 50 * 60_000, 7, 10_000),
    ...turns(AT - 20 * 60_000, 10, 180_000),
    fall("m1", AT - 10 * 60_000, "masked", { observations: 2 }),
    fall("r1", AT - 9 * 60_000, "restarted", {
      number: 2,
      previous_turns: 3,
      carryover_turns: 1,
      reason: "a",
    }),
    ...turns(AT + 60_000, 20, 40_000),
    fall("m2", AT + 2 * 60_000, "masked", { observations: 2 }),
  ]);
  await caughtUp(server);
});
afterAll(() => server?.stop());

const range = { from: iso(AT - HOUR), to: iso(AT + HOUR / 2) };
const read = (at: number, more = {}) =>
  server.trpc<BeforeAfter>("beforeAfter", { ...range, at: iso(at), ...more });

describe("before and after", () => {
  it("compares two periods of one length", async () => {
    const answer = await read(AT);
    expect(answer).toMatchObject({
      at: iso(AT),
      length_ms: HOUR / 2,
      before: { turns: 10, sessions: 1, falls: 2, restarts: 1 },
      after: { turns: 20, sessions: 1, falls: 1, restarts: 0 },
    });
    expect(answer.before.p95_utilization).toBeCloseTo(0.9, 1);
    expect(answer.after.p95_utilization).toBeCloseTo(0.2, 1);
  });

  it("has nothing to compare at the ends of the range and beyond", async () => {
    for (const at of [AT - HOUR, AT + HOUR / 2, AT - 2 * HOUR, AT + 5 * HOUR]) {
      const { length_ms, before, after } = await read(at);
      expect([length_ms, before.turns, after.turns, after.p95_utilization]).toEqual([0, 0, 0, null]);
    }
  });

  it("counts one harness alone", async () => {
    expect((await read(AT, { harness: "nobody@nowhere" })).after.turns).toBe(0);
    expect((await read(AT, { harness: "phantom@api" })).after.turns).toBe(20);
  });
});

describe("the marks of charts", () => {
  it("are the policies and alerts that began in the range", async () => {
    const { generation } = (await server.get<WholePolicy>("/api/v1/policy")).body;
    await server.mutate("policies.save", {
      policy: { settings: { thresholds: { ceiling: "16%" } } },
      expected: generation,
      reason: "a test",
    });
    const now = Date.now();
    const { marks } = await server.trpc<FleetMarks>("marks", {
      from: iso(now - HOUR),
      to: iso(now + 60_000),
    });
    expect(marks.filter(({ kind }) => kind === "policy").map(({ label }) => label)).toEqual([
      `v${generation + 1}`,
    ]);
    const earlier = await server.trpc<FleetMarks>("marks", { from: iso(AT - HOUR), to: iso(AT) });
    expect(earlier.marks).toEqual([]);
  });
});

describe("a wrong window size", () => {
  const suspects = async () =>
    (await server.get<FleetStatus>(`/api/v1/status?${rangeQuery}`)).body.suspects.sessions;

  it("is mended by one that a person sets, although the harness reports it", async () => {
    const session = unique("wrong");
    const model = unique("house-model");
    const levels = [90_000, 150_000, 60_000];
    await sendAndWait(
      server,
      levels.map((input) => turn(session, input, { model, context_window: 128_000 })),
    );
    await caughtUp(server);
    const [wrong] = (await suspects()).filter((one) => one.model === model);
    expect(wrong).toMatchObject({
      window_tokens: 128_000,
      window_source: "reported",
      offer: { tokens: 200_000, from: "common" },
    });
    await server.mutate("windows.set", { model, tokens: wrong!.offer!.tokens });
    await expect.poll(async () => (await suspects()).filter((one) => one.model === model)).toEqual([]);
    await server.mutate("windows.remove", { model });
    await expect.poll(async () => (await suspects()).filter((one) => one.model === model)).toHaveLength(1);
    await server.expectHealthy();
  });
});
