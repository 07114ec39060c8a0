import type { FleetStatus, HarnessView, IngestCounts } from "@plimsoll/protocol";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { SETTLE_LOCK } from "../ingest/settle.ts";
import { emptyDatabase } from "../testing/database.ts";
import { startTestServer } from "../testing/server.ts";
import { rangeQuery, turn, until } from "./support.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

describe("totals that a killed server could not settle", () => {
  it("are settled by the next one, once", async () => {
    const database = await emptyDatabase();
    cleanUps.push(() => database.close());
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    cleanUps.push(() => client.end());
    const count = async (table: string) =>
      Number((await client.query(`SELECT count(*) FROM ${table}`)).rows[0].count);

    const killed = await startTestServer({ databaseUrl: database.url });
    cleanUps.push(() => killed.stop());
    await client.query("SELECT pg_advisory_lock($1)", [SETTLE_LOCK]);
    for (let n = 0; n < 5; n++) {
      const { status, text } = await killed.send([turn("left", 1_000), turn("left", 2_000)]);
      expect(status, text).toBe(200);
    }
    await killed.kill9();
    await client.query("SELECT pg_advisory_unlock($1)", [SETTLE_LOCK]);
    // The database may not have heard of its end yet; what it was about to settle comes back then.
    await until(async () => {
      const { rows } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'plimsoll%'",
      );
      return rows.length === 0;
    });
    expect(await count("pending_totals")).toBe(5);
    expect(await count("rollups")).toBe(0);
    expect(await count("turns")).toBe(10);

    const next = await startTestServer({ databaseUrl: database.url });
    cleanUps.push(() => next.stop());
    await until(async () => (await count("pending_totals")) === 0);
    const status = await next.get<FleetStatus>(`/api/v1/status?${rangeQuery}`);
    expect(status.body.totals).toMatchObject({ turns: 10, peak_tokens: 2_000 });
    const counts = await next.get<IngestCounts>(`/api/v1/ingest/counts?${rangeQuery}`);
    expect(counts.body.counts).toEqual([{ outcome: "turn", count: 10 }]);
    const seen = await next.get<{ harnesses: HarnessView[] }>("/api/v1/harnesses");
    expect(seen.body.harnesses).toMatchObject([{ instance: "phantom@api" }]);
    await next.expectHealthy();
  });
});
