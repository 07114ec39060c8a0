import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { readModelWindows } from "./windows.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

it("counts agents that wait to be recomputed, without those set aside and those of other projects", async () => {
  const refold = (projectId: number, reason: string) => ({ projectId, agentId: randomUUID(), reason });
  await database.prisma.refold.createMany({
    data: [refold(1, "window_size"), refold(1, "window_size"), refold(1, "failed"), refold(2, "window_size")],
  });
  const reader = { prisma: database.prisma, projectId: 1, policy: PolicyBook.empty, now: 0 };
  expect(await readModelWindows(reader)).toEqual({
    windows: [],
    more_windows: 0,
    unknown: [],
    more_unknown: 0,
    offers: [],
    observed: [],
    recomputing: 2,
  });
});
