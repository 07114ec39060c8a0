import { AuditQuery } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Actor, addEntry } from "../tenants/audit/entry.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { type AuditReach, readEntries } from "./audit.ts";

const NOW = Date.parse("2026-11-20T12:34:56.789Z");
const DAY = 86_400_000;
const everything: AuditReach = { everything: true };
const BROWSER: Actor = { kind: "browser", id: "b", name: "Firefox on Linux", address: "10.0.0.9" };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.prisma.auditEntry.deleteMany();
});

const read = (reach: AuditReach, query: Partial<AuditQuery> = {}) =>
  readEntries(database.prisma, reach, AuditQuery.parse(query));
const add = (at: number, projectId?: number, actor: Actor = { kind: "local" }, target?: string) =>
  addEntry(database.prisma, at, { actor, action: "key_created", projectId, target });

describe("reading the audit log", () => {
  it("goes through pages, newest first, also where entries have the same time", async () => {
    for (let i = 0; i < 23; i++) await add(NOW + Math.floor(i / 5), undefined, undefined, String(i));
    const seen: (string | null)[] = [];
    let cursor: string | undefined;
    do {
      const page = await read(everything, { limit: 4, cursor });
      seen.push(...page.items.map(({ target }) => target));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 23 }, (_, i) => String(22 - i)));
  });

  it("filters by action, topic and time", async () => {
    await add(NOW - DAY);
    await addEntry(database.prisma, NOW, { actor: BROWSER, action: "logout" });
    const count = async (query: Partial<AuditQuery>) => (await read(everything, query)).items.length;
    expect(await count({ action: "logout" })).toBe(1);
    expect(await count({ action: "login" })).toBe(0);
    expect(await count({ topic: "logins" })).toBe(1);
    expect(await count({ topic: "keys" })).toBe(1);
    expect(await count({ topic: "keys", action: "logout" })).toBe(0);
    expect(await count({ from: new Date(NOW).toISOString() })).toBe(1);
    expect(await count({ to: new Date(NOW).toISOString() })).toBe(1);
  });

  it("shows a key its own project, without addresses", async () => {
    await add(NOW, 2, BROWSER);
    await add(NOW, 3, BROWSER, "of another project");
    await add(NOW, undefined, BROWSER, "of no project");
    const { items } = await read({ everything: false, projectId: 2 });
    expect(items).toMatchObject([{ project_id: 2, actor: { kind: "browser", address: null } }]);
  });

  it.each([
    "x",
    Buffer.from('["1e400","00000000-0000-0000-0000-000000000000"]').toString("base64url"),
    Buffer.from('["999999999999999","00000000-0000-0000-0000-000000000000"]').toString("base64url"),
  ])("refuses the cursor %s", async (cursor) => {
    await expect(read(everything, { cursor })).rejects.toMatchObject({ code: "bad_request" });
  });
});
