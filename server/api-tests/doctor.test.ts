import type { DoctorCheck, DoctorReport } from "@plimsoll/protocol/api";
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

const examined = (input?: object) => server.trpc<DoctorReport>("doctor", input);

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

  it("finds a fault, names it, and leaves the stored rows alone", async () => {
    await database.query("UPDATE sessions SET peak_tokens = peak_tokens + 1 WHERE name = 'examined'");
    for (const _ of [1, 2]) {
      const { ok, checks } = await examined();
      expect(ok).toBe(false);
      expect(checks.filter((check) => !check.ok).map(({ message }) => message)).toEqual([
        expect.stringContaining("session examined of phantom@api (sessions.peak_tokens)"),
      ]);
    }
    await database.query("UPDATE sessions SET peak_tokens = peak_tokens - 1 WHERE name = 'examined'");
    await server.expectHealthy();
  });

  it("answers in parts, also to a full examination", async () => {
    const checks: DoctorCheck[] = [];
    let cursor: string | undefined;
    do {
      const part = await examined({ full: true, answer_within_ms: 100, ...(cursor && { cursor }) });
      checks.push(...part.checks);
      cursor = part.next ?? undefined;
    } while (cursor !== undefined);
    expect(checks.every(({ ok, complete }) => ok && complete)).toBe(true);
    const whole = await examined();
    expect(checks.map(({ name }) => name)).toEqual(whole.checks.map(({ name }) => name));
  });

  it("rejects a cursor that it did not give", async () => {
    const { status } = await server.get(
      `/api/trpc/doctor?input=${encodeURIComponent(JSON.stringify({ cursor: "x" }))}`,
    );
    expect(status).toBe(400);
  });
});
