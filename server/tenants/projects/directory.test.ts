import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { createDirectory, type ProjectDirectory } from "./directory.ts";

let database: TestDatabase;
let time = 0;
let directory: ProjectDirectory;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  time = 1_000_000;
  await database.prisma.project.deleteMany();
  directory = createDirectory({ prisma: database.prisma, now: () => time });
});

const add = (name: string, more: { deletingAt?: Date; archivedAt?: Date } = {}) =>
  database.prisma.project.create({ data: { name, createdAt: new Date(0), ...more } });

describe("the directory of projects", () => {
  it("finds a project by id and by name", async () => {
    const { id } = await add("billing", { archivedAt: new Date(5) });
    const project = {
      id,
      name: "billing",
      createdAt: new Date(0),
      archivedAt: new Date(5),
      sessionDays: null,
      hidesNames: false,
    };
    expect(await directory.get(id)).toEqual(project);
    expect(await directory.find(String(id))).toEqual(project);
    expect(await directory.find("billing")).toEqual(project);
    expect(await directory.find("Billing")).toBeUndefined();
    expect(await directory.get(id + 1)).toBeUndefined();
    expect(await directory.list()).toEqual([project]);
  });

  it("does not know a project that is being deleted", async () => {
    const { id } = await add("gone", { deletingAt: new Date() });
    expect(await directory.get(id)).toBeUndefined();
    expect(await directory.find("gone")).toBeUndefined();
    expect(await directory.list()).toEqual([]);
  });

  it("answers from memory for 30 s, and at once for a project that is new", async () => {
    const { id } = await add("billing");
    expect(directory.recall(id)).toBeUndefined();
    await directory.get(id);
    expect(directory.recall(id)).toMatchObject({ name: "billing" });
    const { id: later } = await add("later");
    expect(await directory.get(later)).toMatchObject({ name: "later" });
    await database.prisma.project.update({ where: { id }, data: { name: "renamed" } });
    time += 29_999;
    expect(await directory.get(id)).toMatchObject({ name: "billing" });
    time += 1;
    expect(directory.recall(id)).toBeUndefined();
    expect(await directory.get(id)).toMatchObject({ name: "renamed" });
  });

  it("does not cache a list that was requested before a change", async () => {
    const { id } = await add("billing");
    const asked = directory.get(id);
    directory.forget();
    await asked;
    expect(directory.recall(id)).toBeUndefined();
    await directory.get(id);
    expect(directory.recall(id)).toBeDefined();
  });
});
