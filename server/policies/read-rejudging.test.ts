import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { readRejudging } from "./read-rejudging.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.close());

it("agents that wait for any reason are still to be judged again, those that cannot be folded are not", async () => {
  const { prisma } = database;
  const row = (reason: string, projectId = 1) => ({ projectId, agentId: randomUUID(), reason });
  await prisma.refold.createMany({ data: [row("failed"), row("policy", 2)] });
  expect(await readRejudging({ prisma, projectId: 1 })).toEqual({ agents_left: 0 });
  await prisma.refold.createMany({ data: [row("policy"), row("window_size"), row("late_event")] });
  expect(await readRejudging({ prisma, projectId: 1 })).toEqual({ agents_left: 3 });
});
