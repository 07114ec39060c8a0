import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { ensureDefaultProject } from "./default-project.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

it("creates the default project once, and the next project gets another id", async () => {
  const { prisma } = database;
  await Promise.all([1, 2, 3].map(() => ensureDefaultProject(prisma)));
  expect(await prisma.project.findMany()).toMatchObject([{ id: 1, name: "default" }]);
  const second = await prisma.project.create({ data: { name: "second", createdAt: new Date() } });
  expect(second.id).toBe(2);
});
