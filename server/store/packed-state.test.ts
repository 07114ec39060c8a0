import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentState, EMPTY_STATE, THRESHOLD_NAMES } from "@plimsoll/protocol";
import fc from "fast-check";
import pg from "pg";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { migrate } from "../db/migrate.ts";
import { projectRoot } from "../root.ts";
import { emptyDatabase } from "../testing/database.ts";
import { packState, unpackState } from "./packed-state.ts";

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const count = fc.nat(2_000_000);
const time = fc.integer({ min: 0, max: 4e12 });
const index = fc.nat(900);
const share = fc.double({ min: 0, max: 3, noNaN: true });
const name = fc
  .string({ unit: "binary", minLength: 1, maxLength: 12 })
  .filter((text) => !text.includes("\0"));

const anyState: fc.Arbitrary<AgentState> = fc.record({
  tail: maybe(fc.record({ window: index, seq: count, at: time, key: name })),
  lastTurnAt: maybe(time),
  lastMark: maybe(fc.record({ window: index, at: time, id: name })),
  numbering: fc.record({
    openers: index,
    anchor: maybe(fc.record({ at: time, offset: fc.integer({ min: -900, max: 900 }) })),
    countedAt: maybe(time),
  }),
  turns: count,
  reported: fc.array(fc.record({ model: name, tokens: count }), { maxLength: 3 }),
  model: maybe(name),
  current: maybe(count),
  currentAt: maybe(time),
  currentEstimated: fc.boolean(),
  currentWindow: maybe(index),
  windowTokens: maybe(count),
  windowSource: fc.constantFrom("reported", "configured", "catalog", "unknown"),
  uncounted: index,
  recent: fc.array(count, { maxLength: 12 }),
  above: fc.uniqueArray(fc.constantFrom(...THRESHOLD_NAMES)),
  pending: fc.array(
    fc.record({
      id: name,
      type: name,
      at: time,
      window: index,
      tokensBefore: maybe(count),
      tokensAfter: maybe(count),
    }),
    { maxLength: 3 },
  ),
  window: maybe(
    fc.record({
      index,
      firstAt: time,
      lastAt: time,
      turns: count,
      firstTokens: maybe(count),
      lastTokens: maybe(count),
      peakTokens: maybe(count),
      peakUtilization: maybe(share),
      windowTokens: maybe(count),
    }),
  ),
  windows: index,
  peak: maybe(fc.record({ tokens: count, windowTokens: maybe(count), at: time })),
  peakUtilization: maybe(share),
  reports: maybe(fc.record({ openUntil: maybe(time) })),
});

describe("a packed state", () => {
  it("says all that the state did", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        expect(unpackState(packState(state))).toEqual(state);
      }),
    );
    expect(unpackState(packState(EMPTY_STATE))).toEqual(EMPTY_STATE);
  });

  it("is made of what was stored before states were packed", async () => {
    const states = [EMPTY_STATE, ...fc.sample(anyState, { numRuns: 60, seed: 8 })];
    const database = await emptyDatabase();
    const before = await mkdtemp(join(tmpdir(), "plimsoll-migrations-"));
    const client = new pg.Client({ connectionString: database.url });
    const log = pino({ level: "silent" });
    try {
      await cp(join(projectRoot(), "prisma"), join(before, "prisma"), {
        recursive: true,
        filter: (path) => !/migrations\/(?!000[1-7]_)\d/.test(path),
      });
      expect((await migrate({ url: database.url, log, root: before })).at(-1)).toMatch(/^0007/);
      await client.connect();
      for (const [place, state] of states.entries()) {
        await client.query(
          `INSERT INTO agents (project_id, id, session_id, name, first_at, last_at, last_received_at, turns, state)
           VALUES (1, gen_random_uuid(), gen_random_uuid(), 'main', now(), now(), now(), $1, $2)`,
          [place, JSON.stringify(state)],
        );
        if (state.window === undefined) continue;
        await client.query(
          `INSERT INTO windows (project_id, agent_id, index, first_at, last_at, turns)
           SELECT 1, id, unnest($2::int4[]), now(), now(), 1 FROM agents WHERE turns = $1`,
          [place, [state.window.index, state.window.index + 1]],
        );
      }
      await migrate({ url: database.url, log });
      const { rows } = await client.query("SELECT state FROM agents ORDER BY turns");
      expect(rows.map((row) => unpackState(row.state))).toEqual(states);
      const windows = await client.query(
        "SELECT a.turns AS place, array_agg(w.index) AS indexes FROM agents a JOIN windows w ON w.agent_id = a.id GROUP BY 1",
      );
      for (const { place, indexes } of windows.rows)
        expect(indexes).toEqual([states[place]!.window!.index + 1]);
      expect(windows.rowCount).toBe(states.filter(({ window }) => window !== undefined).length);
    } finally {
      await client.end();
      await database.close();
      await rm(before, { recursive: true });
    }
  });
});
