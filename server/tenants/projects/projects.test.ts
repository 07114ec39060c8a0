import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { ensureDefaultProject } from "./default-project.ts";
import { createDirectory, type ProjectDirectory } from "./directory.ts";
import { createProjects, type Projects } from "./projects.ts";

const START = Date.parse("2026-11-22T08:00:00Z");
let database: TestDatabase;
let directory: ProjectDirectory;
let projects: Projects;
let announced = 0;

beforeAll(async () => {
  database = await testDatabase();
  await ensureDefaultProject(database.prisma);
});
afterAll(() => database.close());
beforeEach(async () => {
  announced = 0;
  const { prisma } = database;
  await prisma.project.deleteMany({ where: { id: { not: 1 } } });
  await prisma.apiKey.deleteMany();
  directory = createDirectory({ prisma });
  projects = createProjects({
    prisma,
    directory,
    log: pino({ level: "silent" }),
    announce: () => {
      announced += 1;
    },
    now: () => START,
  });
});

const addKey = (projectId: number) =>
  database.prisma.apiKey.create({
    data: {
      projectId,
      id: randomUUID(),
      name: "key",
      prefix: "plim_x",
      hash: Buffer.from(randomUUID()),
      scopes: ["read"],
      createdAt: new Date(START),
    },
  });

describe("projects", () => {
  it("are created with different ids, however many at a time, and listed oldest first", async () => {
    const created = await Promise.all(["a", "b", "c", "d"].map((name) => projects.create(name, LOCAL)));
    expect(new Set(created.map(({ id }) => id)).size).toBe(4);
    expect(created[0]).toMatchObject({
      name: "a",
      is_default: false,
      created_at: "2026-11-22T08:00:00.000Z",
      archived_at: null,
      hides_names: false,
    });
    const listed = await projects.list();
    expect(listed[0]).toMatchObject({ id: 1, name: "default", is_default: true });
    expect(listed.map(({ id }) => id)).toEqual(listed.map(({ id }) => id).sort((a, b) => a - b));
    expect(announced).toBe(4);
  });

  it("have different names", async () => {
    const { id } = await projects.create("billing", LOCAL);
    const taken = { code: "conflict", message: expect.stringContaining("billing") };
    await expect(projects.create("billing", LOCAL)).rejects.toMatchObject(taken);
    await expect(projects.rename(1, "billing", LOCAL)).rejects.toMatchObject(taken);
    expect(await projects.rename(id, "billing", LOCAL)).toMatchObject({ id, name: "billing" });
  });

  it("are renamed, the default one too", async () => {
    const { id } = await projects.create("billing", LOCAL);
    expect(await projects.rename(id, "invoices", LOCAL)).toMatchObject({ id, name: "invoices" });
    expect(await directory.get(id)).toMatchObject({ name: "invoices" });
    expect(await projects.rename(1, "main", LOCAL)).toMatchObject({ id: 1, is_default: true });
    await projects.rename(1, "default", LOCAL);
    await expect(projects.rename(999, "x", LOCAL)).rejects.toMatchObject({ code: "not_found" });
  });

  it("refuse events while archived", async () => {
    const { id } = await projects.create("billing", LOCAL);
    await projects.requireOpen(id);
    expect(await projects.archive(id, LOCAL)).toMatchObject({ archived_at: "2026-11-22T08:00:00.000Z" });
    await expect(projects.requireOpen(id)).rejects.toMatchObject({
      code: "project_archived",
      message: expect.stringContaining("billing"),
      details: { archived_at: "2026-11-22T08:00:00.000Z" },
    });
    expect(await projects.unarchive(id, LOCAL)).toMatchObject({ archived_at: null });
    await projects.requireOpen(id);
  });

  it("do not include the default one in what can be archived or deleted", async () => {
    await expect(projects.archive(1, LOCAL)).rejects.toMatchObject({ code: "conflict" });
    await expect(projects.delete(1, "default", LOCAL)).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("deleting a project", () => {
  it("revokes its keys and no others, hides it and frees its name", async () => {
    const [doomed, kept] = [await projects.create("billing", LOCAL), await projects.create("kept", LOCAL)];
    await addKey(doomed.id);
    const other = await addKey(kept.id);
    await projects.delete(doomed.id, "billing", LOCAL);
    const open = await database.prisma.apiKey.findMany({ where: { revokedAt: null } });
    expect(open.map(({ id }) => id)).toEqual([other.id]);
    expect((await projects.list()).map(({ name }) => name)).toEqual(["default", "kept"]);
    expect(await directory.get(doomed.id)).toBeUndefined();
    for (const again of [
      () => projects.delete(doomed.id, "billing", LOCAL),
      () => projects.delete(doomed.id, String(doomed.id), LOCAL),
      () => projects.rename(doomed.id, "x", LOCAL),
      () => projects.archive(doomed.id, LOCAL),
      () => projects.unarchive(doomed.id, LOCAL),
      () => projects.requireOpen(doomed.id),
    ]) {
      await expect(again()).rejects.toMatchObject({ code: "not_found" });
    }
    expect((await projects.create("billing", LOCAL)).id).not.toBe(doomed.id);
  });

  it("needs its present name", async () => {
    const { id } = await projects.create("billing", LOCAL);
    await addKey(id);
    await expect(projects.delete(id, "Billing", LOCAL)).rejects.toMatchObject({
      code: "bad_request",
      message: expect.stringContaining("billing"),
    });
    expect(await projects.view(id)).toMatchObject({ name: "billing" });
    expect(await database.prisma.apiKey.count({ where: { revokedAt: null } })).toBe(1);
  });
});
