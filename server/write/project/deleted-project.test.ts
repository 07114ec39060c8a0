import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DatabaseClock } from "../../db/database-clock.ts";
import { LeaseLost, LeaseSeeker } from "../../db/lease.ts";
import { openWriters, type Writers } from "../../db/sql.ts";
import { deleteProjectStep, PROJECT_TABLES } from "../../tenants/projects/delete-step.ts";
import { offer, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { sqlOfClient } from "../../testing/sql.ts";
import { until, untilPasses } from "../../testing/until.ts";
import { HeldProject } from "./held-project.ts";

let test: TestIngest;
let server: TestPipeline;
let writers: Writers;
let doomed = 1;
let sweeps = 0;

beforeAll(async () => {
  test = await testIngest();
  server = await test.start({ swept: () => (sweeps += 1) });
  writers = openWriters({ url: test.databaseUrl, size: 2, log: pino({ level: "silent" }) });
});
afterAll(async () => {
  await writers.end();
  await test.close();
});
beforeEach(async () => {
  doomed += 1;
  await test.prisma.project.create({ data: { id: doomed, name: randomUUID(), createdAt: new Date() } });
});

const mark = () => test.prisma.project.update({ where: { id: doomed }, data: { deletingAt: new Date() } });

async function deleteRows(): Promise<void> {
  while (await test.prisma.$transaction((tx) => deleteProjectStep(sqlOfClient(tx), doomed)));
}

async function tablesWithRows(): Promise<string[]> {
  const found: string[] = [];
  for (const table of Object.keys(PROJECT_TABLES)) {
    const rows = await test.prisma.$queryRawUnsafe<unknown[]>(
      `SELECT 1 FROM ${table} WHERE project_id = $1 LIMIT 1`,
      doomed,
    );
    if (rows.length > 0) found.push(table);
  }
  return found;
}

const turn = () => ({
  type: "turn",
  id: randomUUID(),
  at: Date.now(),
  harness: "h",
  session: "s",
  model: "model-a",
  usage: { input_tokens: 100 },
});

const send = () => offer(server.ingest, doomed, [turn()], { wait: true });

describe("the projector of a deleted project", () => {
  it("stops once the project is marked, and leaves no row behind", async () => {
    expect(await send()).toMatchObject({ accepted: 1, rejected: [] });
    expect(await tablesWithRows()).toEqual(expect.arrayContaining(["projectors", "agents", "turn_blocks"]));
    await mark();
    await deleteRows();
    expect(await tablesWithRows()).toEqual([]);
    // A sweep that began after the deletion is over once the next one begins.
    const from = sweeps;
    await until(() => sweeps >= from + 2);
    expect(await tablesWithRows()).toEqual([]);
  });

  it("is fenced: without the lease row nothing is written, and no new lease is left", async () => {
    const open = async () => {
      const options = {
        projectId: doomed,
        writers,
        holder: randomUUID(),
        clock: new DatabaseClock(Date.now),
        settings: () => ({ segmentTurns: 256, refoldEvents: 4_096, namesPerDay: 500 }),
        log: pino({ level: "silent" }),
      };
      const seeker = new LeaseSeeker({ ...options, table: "projectors", now: Date.now });
      return HeldProject.open(options, (await seeker.acquire())!);
    };
    const project = (await open())!;
    await mark();
    await deleteRows();
    await expect(project.transaction(async () => {})).rejects.toThrow(LeaseLost);
    expect(await open()).toBeUndefined();
    expect(await tablesWithRows()).toEqual([]);
  });

  it("drops an event that a paused process journals after the deletion", async () => {
    await mark();
    await deleteRows();
    await send();
    await untilPasses(async () => expect(await tablesWithRows()).toEqual([]));
  });
});
