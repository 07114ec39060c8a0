import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Sql } from "../../db/sql.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { sqlOfClient } from "../../testing/sql.ts";
import { untilPasses } from "../../testing/until.ts";
import { type Deletion, startDeletion } from "./deletion.ts";

const MINUTE = 60_000;
let database: TestDatabase;
const started: Deletion[] = [];

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(() => database.prisma.project.deleteMany());
afterEach(async () => {
  await Promise.all(started.splice(0).map((deletion) => deletion.stop()));
});

/** Marked `ageMs` ago, with harnesses to delete. */
async function markedProject(ageMs: number, harnesses = 0): Promise<number> {
  const { id } = await database.prisma.project.create({
    data: { name: `p${Math.random()}`, createdAt: new Date(), deletingAt: new Date(Date.now() - ageMs) },
  });
  await database.prisma.$executeRaw`
    INSERT INTO harnesses (project_id, id, instance, status, first_at, last_at, last_received_at, added_at)
    SELECT ${id}::int, gen_random_uuid(), n::text, 'hello', now(), now(), now(), now()
    FROM generate_series(1, ${harnesses}::int) n`;
  return id;
}

const transaction = <T>(work: (sql: Sql) => Promise<T>) =>
  database.prisma.$transaction((tx) => work(sqlOfClient(tx)));

/** Waits by itself never: a test says when the next look comes. */
function start(run = transaction) {
  const looks: (() => void)[] = [];
  const deletion = startDeletion({
    prisma: database.prisma,
    transaction: run,
    log: pino({ level: "silent" }),
    sleep: (ms, signal) =>
      ms < 1_000
        ? Promise.resolve()
        : new Promise((resolve) => {
            looks.push(resolve);
            signal.addEventListener("abort", () => resolve());
          }),
  });
  started.push(deletion);
  return { deletion, looks };
}

const left = async () => (await database.prisma.project.findMany()).map(({ id }) => id);

describe("the job that deletes projects", () => {
  it("resumes at start what an earlier process left, and leaves unmarked projects alone", async () => {
    await markedProject(2 * MINUTE, 3);
    const { id } = await database.prisma.project.create({ data: { name: "kept", createdAt: new Date() } });
    const { looks } = start();
    await untilPasses(() => expect(looks).toHaveLength(1));
    expect(await left()).toEqual([id]);
    expect(await database.prisma.harness.count()).toBe(0);
  });

  it("waits until no process can still write to the project", async () => {
    const id = await markedProject(MINUTE - 10_000);
    const { looks } = start();
    await untilPasses(() => expect(looks).toHaveLength(1));
    expect(await left()).toEqual([id]);
    await database.prisma.project.update({
      where: { id },
      data: { deletingAt: new Date(Date.now() - MINUTE - 1_000) },
    });
    looks[0]!();
    await untilPasses(() => expect(looks).toHaveLength(2));
    expect(await left()).toEqual([]);
  });

  it("goes on after a failure at the next look", async () => {
    await markedProject(2 * MINUTE, 2);
    let failures = 1;
    const { looks } = start(async (work) => {
      if (failures-- > 0) throw new Error("connection lost");
      return transaction(work);
    });
    await untilPasses(() => expect(looks).toHaveLength(1));
    expect(await left()).toHaveLength(1);
    looks[0]!();
    await untilPasses(() => expect(looks).toHaveLength(2));
    expect(await left()).toEqual([]);
  });

  it("stops between two steps, and another process finishes", async () => {
    const id = await markedProject(2 * MINUTE, 12_000);
    let steps = 0;
    let stopped: Promise<void> | undefined;
    const first = start(async (work) => {
      const more = await transaction(work);
      steps += 1;
      if (steps === 1) stopped = first.deletion.stop();
      return more;
    });
    await untilPasses(() => expect(stopped).toBeDefined());
    await stopped;
    expect(steps).toBe(1);
    expect(await left()).toEqual([id]);
    expect(await database.prisma.harness.count()).toBe(7_000);
    const second = start();
    await untilPasses(() => expect(second.looks).toHaveLength(1));
    expect(await left()).toEqual([]);
    expect(await database.prisma.harness.count()).toBe(0);
  });
});
