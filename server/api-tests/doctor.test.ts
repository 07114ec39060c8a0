import type { DoctorReport } from "@plimsoll/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { START, turn, unique } from "./support.ts";

let server: TestServer;
let database: pg.Client;

beforeAll(async () => {
  server = await startTestServer();
  database = new pg.Client({ connectionString: server.databaseUrl });
  await database.connect();
  await server.send([
    turn("examined", 90_000),
    turn("examined", 20_000),
    {
      id: "m",
      type: "masked",
      at: START + 9e6,
      harness: "phantom@api",
      session: "examined",
      observations: 1,
    },
  ]);
});
afterAll(async () => {
  await database?.end();
  await server?.stop();
});

const examined = () => server.trpc<DoctorReport>("doctor");

describe("the doctor", () => {
  it("raises no false alarm while events stream in", async () => {
    let running = true;
    const load = Promise.all(
      [0, 1, 2].map(async (sender) => {
        for (let n = 0; running; n++) {
          const at = START + 2e6 + (n % 7) * 60_000 + sender;
          const id = unique("t");
          await server.send([turn(`busy-${n % 3}`, 1_000 * (n % 90), { id, at, estimated: n % 4 === 0 })]);
          // An estimate that was too high takes the peak of its minute with it.
          if (n % 4 === 0) await server.send([turn(`busy-${n % 3}`, 10 * (n % 90), { id, at })]);
        }
      }),
    );
    try {
      for (let round = 0; round < 8; round++)
        expect((await examined()).checks.filter(({ ok }) => !ok)).toEqual([]);
    } finally {
      running = false;
      await load;
    }
    await server.expectHealthy();
  });

  // A check that never fails proves nothing: each fault is made by hand, found, and undone.
  it.each([
    [
      "a lost turn",
      "DELETE FROM turns WHERE key = (SELECT key FROM turns ORDER BY at LIMIT 1)",
      "acknowledged turns",
    ],
    ["a lost boundary", "DELETE FROM boundaries WHERE id = 'm'", "acknowledged boundaries"],
    ["a miscounted agent", "UPDATE agents SET turns = turns + 1 WHERE turns = 2", "agents count"],
    ["a lowered peak", "UPDATE agents SET peak_tokens = 1 WHERE turns = 2", "agents count"],
    ["a lowered share", "UPDATE agents SET peak_utilization = 0.001 WHERE turns = 2", "agents count"],
    ["a miscounted session", "UPDATE sessions SET turns = turns + 1 WHERE name = 'examined'", "sessions are"],
    ["a session's lowered share", "UPDATE sessions SET peak_utilization = 0.001", "sessions are"],
    ["a session thought ended", "UPDATE sessions SET open_slot = -1 WHERE name = 'examined'", "sessions are"],
    ["a session found too late", "UPDATE sessions SET first_slot = first_slot + 1", "sessions are"],
    ["an inflated rollup", "UPDATE rollups SET turns = turns + 1 WHERE grain = 60", "rollups equal"],
    ["a missing minute", "DELETE FROM rollups WHERE grain = 1", "minutes add up"],
    ["a quarter of an hour gone", "DELETE FROM rollups WHERE grain = 15", "minutes add up"],
    ["an emptied bin", "UPDATE rollups SET bins = '{}' WHERE grain = 360", "minutes add up"],
    ["six hours of falls gone", "DELETE FROM boundary_rollups WHERE grain = 360", "minutes add up"],
    [
      "a fleet's hour miscounted",
      "UPDATE rollups SET turns = 9 WHERE grain = 60 AND harness = ''",
      "rollups equal",
    ],
    ["a fleet's minute gone", "DELETE FROM rollups WHERE grain = 1 AND harness = ''", "minutes add up"],
    [
      "a fleet's falls gone",
      "DELETE FROM boundary_rollups WHERE grain = 60 AND harness = ''",
      "boundary rollups",
    ],
    ["a boundary rollup gone", "DELETE FROM boundary_rollups WHERE grain = 60", "boundary rollups"],
    [
      "a wrong current level",
      "UPDATE agents SET state = jsonb_set(state::jsonb, '{9}', '7')::text WHERE turns = 2",
      "current, peak",
    ],
    ["a level that is not shown", "UPDATE agents SET current_tokens = 7 WHERE turns = 2", "current, peak"],
    [
      "a window too many",
      `INSERT INTO windows (project_id, agent_id, index, first_at, last_at, turns)
       SELECT project_id, id, 9, first_at, last_at, 1 FROM agents WHERE turns = 2`,
      "current, peak",
    ],
  ])("finds %s", async (_what, sql, check) => {
    const tables = ["turns", "boundaries", "agents", "sessions", "windows", "rollups", "boundary_rollups"];
    for (const table of tables) await database.query(`CREATE TABLE "kept_${table}" AS TABLE "${table}"`);
    try {
      const { rowCount } = await database.query(sql);
      expect(rowCount).toBeGreaterThan(0);
      const report = await examined();
      expect(report.ok).toBe(false);
      expect(report.checks.some(({ name, ok }) => !ok && name.startsWith(check))).toBe(true);
    } finally {
      for (const table of tables) {
        await database.query(`TRUNCATE "${table}"`);
        await database.query(`INSERT INTO "${table}" SELECT * FROM "kept_${table}"`);
        await database.query(`DROP TABLE "kept_${table}"`);
      }
    }
    await server.expectHealthy();
  });
});
