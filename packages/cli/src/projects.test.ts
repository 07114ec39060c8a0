import { afterEach, describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";
import { type FakeServer, type Procedure, startFakeServer } from "./testing/fake-server.ts";
import { NOW } from "./testing/fleet.ts";

let server: FakeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const project = (id: number, name: string, archived_at: string | null = null) => ({
  id,
  name,
  is_default: id === 1,
  created_at: new Date(NOW).toISOString(),
  archived_at,
  hides_names: false,
});
const list = () => ({
  projects: [project(1, "default"), project(2, "billing"), project(3, "old", new Date(NOW).toISOString())],
});

async function run(procedures: Record<string, Procedure>, ...args: string[]): Promise<string> {
  server = await startFakeServer({ procedures: { "projects.list": list, ...procedures } });
  let text = "";
  const out: Terminal = {
    width: 100,
    isTty: false,
    color: false,
    write: (more) => {
      text += more;
    },
  };
  const program = createProgram({
    env: { PLIMSOLL_URL: server.url, PLIMSOLL_KEY: "k" },
    out,
    err: { ...out, write: () => undefined },
    now: () => NOW,
    untilStopped: () => new AbortController().signal,
  });
  await program.parseAsync(["node", "plimsoll", ...args]);
  return text;
}

/** A procedure that expects this input. */
const expecting =
  (wanted: unknown, answer: unknown): Procedure =>
  (input) => {
    expect(input).toEqual(wanted);
    return answer;
  };

describe("plimsoll project", () => {
  it("lists projects", async () => {
    const text = await run({}, "project", "list");
    expect(text).toMatch(/^id +name +state\n1 +default +default\n2 +billing\n3 +old +archived\n$/);
    await server!.close();
    expect(JSON.parse(await run({}, "project", "list", "--json"))).toEqual(list());
  });

  it("creates one and says how to use it", async () => {
    const create = expecting({ name: "web" }, project(4, "web"));
    expect(await run({ "projects.create": create }, "project", "create", "web")).toContain(
      "plimsoll key create --project 4 --scope ingest",
    );
  });

  it.each(["billing", "2"])("renames %s", async (which) => {
    const rename = expecting({ id: 2, name: "invoices" }, project(2, "invoices"));
    const text = await run({ "projects.rename": rename }, "project", "rename", which, "invoices");
    expect(text).toBe("Project 2 is now invoices.\n");
  });

  it("archives and unarchives", async () => {
    const archive = expecting({ id: 2 }, project(2, "billing"));
    expect(await run({ "projects.archive": archive }, "project", "archive", "billing")).toBe(
      "billing refuses new events.\n",
    );
    await server!.close();
    const unarchive = expecting({ id: 3 }, project(3, "old"));
    expect(await run({ "projects.unarchive": unarchive }, "project", "unarchive", "3")).toBe(
      "old takes events again.\n",
    );
  });

  it("deletes one whose name is given twice, and no other", async () => {
    const remove = expecting({ id: 2, name: "billing" }, { deleting: true });
    const args = ["project", "delete", "2", "--confirm"];
    await expect(run({ "projects.delete": remove }, ...args, "2")).rejects.toThrow("--confirm");
    expect(server!.seen.some(({ path }) => path.includes("projects.delete"))).toBe(false);
    await server!.close();
    expect(await run({ "projects.delete": remove }, ...args, "billing")).toContain("Deleted billing");
  });

  it("names a project that is not there", async () => {
    await expect(run({}, "project", "archive", "nowhere")).rejects.toThrow("There is no project nowhere.");
  });
});

describe("--project", () => {
  it("is sent with every request, whatever is in the name", async () => {
    const create: Procedure = () => ({
      id: "0199aaaa-0000-7000-8000-000000000001",
      name: "ci",
      prefix: "plim_abcd",
      scopes: ["ingest"],
      created_at: new Date(NOW).toISOString(),
      last_used_at: null,
      revoked_at: null,
      secret: "plim_abcd_secret",
    });
    await run({ "keys.create": create }, "key", "create", "--scope", "ingest", "--project", "Über uns");
    expect(server!.seen.map(({ project }) => project)).toEqual(["%C3%9Cber%20uns"]);
  });

  it("is left out for the default project", async () => {
    await run({ "keys.list": () => ({ keys: [] }) }, "key", "list");
    expect(server!.seen.map(({ project }) => project)).toEqual([undefined]);
  });
});
