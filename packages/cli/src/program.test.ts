import { hostname } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import { CliError } from "./errors.ts";
import { createProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";
import type { FakeServer, Procedure } from "./testing/fake-server.ts";
import { Refusal, startFakeServer } from "./testing/fake-server.ts";
import { NOW } from "./testing/fleet.ts";

let server: FakeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  process.exitCode = undefined;
});

const key = {
  id: "0199aaaa-0000-7000-8000-000000000001",
  name: "ci",
  prefix: "pls_abcd",
  scopes: ["ingest"],
  created_at: new Date(NOW).toISOString(),
  last_used_at: new Date(NOW - 60_000).toISOString(),
  revoked_at: null,
};

async function run(procedures: Record<string, Procedure>, ...args: string[]): Promise<string> {
  server = await startFakeServer({ procedures });
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

describe("plimsoll key", () => {
  it("create --quiet prints only the key", async () => {
    const create: Procedure = (input) => {
      expect(input).toEqual({ name: "ci", scopes: ["ingest", "read"] });
      return { ...key, secret: "pls_abcd_secret" };
    };
    const args = ["key", "create", "--name", "ci", "--scope", "ingest, read"];
    expect(await run({ "keys.create": create }, ...args, "--quiet")).toBe("pls_abcd_secret\n");
    await server!.close();
    expect(await run({ "keys.create": create }, ...args)).toContain("it is not shown again");
  });

  it("create uses the host name as the default name", async () => {
    const create: Procedure = (input) => {
      expect(input).toEqual({ name: `cli@${hostname()}`, scopes: ["ingest", "read"] });
      return { ...key, secret: "pls_abcd_secret" };
    };
    const args = ["key", "create", "--scope", "ingest,read", "--quiet"];
    expect(await run({ "keys.create": create }, ...args)).toBe("pls_abcd_secret\n");
  });

  it("create rejects an unknown scope without a request", async () => {
    const created = run({}, "key", "create", "--name", "ci", "--scope", "everything");
    await expect(created).rejects.toThrow('"everything" is not a scope.');
    expect(server!.seen).toEqual([]);
  });

  it("list shows keys without secrets", async () => {
    const text = await run({ "keys.list": () => ({ keys: [key] }) }, "key", "list");
    expect(text).toMatch(/pls_abcd +ci +ingest +used 1 min ago +0199aaaa-/);
  });

  it.each([
    ["its id", key.id],
    ["its prefix", "pls_ab"],
    ["the whole key", "pls_abcd_the_rest_of_it"],
  ])("revoke accepts %s", async (_, which) => {
    const revoke: Procedure = (input) => {
      expect(input).toEqual({ id: key.id });
      return { ...key, revoked_at: key.created_at };
    };
    const text = await run(
      { "keys.list": () => ({ keys: [key] }), "keys.revoke": revoke },
      "key",
      "revoke",
      which,
    );
    expect(text).toContain("Revoked ci");
  });

  it("revoke rejects an ambiguous or unknown key", async () => {
    const list = () => ({
      keys: [key, { ...key, id: "0199aaaa-0000-7000-8000-000000000002", prefix: "pls_abce" }],
    });
    await expect(run({ "keys.list": list }, "key", "revoke", "pls_abc")).rejects.toThrow(
      /matches several keys/,
    );
    await server!.close();
    await expect(run({ "keys.list": list }, "key", "revoke", "zzzz")).rejects.toThrow(/No key has/);
  });
});

describe("plimsoll doctor", () => {
  const report = (ok: boolean) => ({
    ok,
    checks: [{ name: "rollups", ok, message: "12 of 12 hours agree." }],
  });

  it("prints every check", async () => {
    const text = await run({ doctor: () => report(true) }, "doctor");
    expect(text).toMatch(
      /ok {4}connection .* accepts the key from PLIMSOLL_KEY\.\nok {4}rollups +12 of 12 hours agree\./,
    );
    expect(process.exitCode).toBeUndefined();
  });

  it("exits with 1 if a check fails", async () => {
    expect(await run({ doctor: () => report(false) }, "doctor")).toContain("FAIL  rollups");
    expect(process.exitCode).toBe(1);
  });

  it("reports a rejected key as a failed check", async () => {
    const text = await run({ doctor: () => new Refusal(401, "UNAUTHORIZED") }, "doctor", "--json");
    expect(JSON.parse(text)).toMatchObject({ ok: false, checks: [{ name: "connection", ok: false }] });
    expect(process.exitCode).toBe(1);
  });
});

it("plimsoll login prints only the link", async () => {
  const url = "http://127.0.0.1:4180/login#once";
  expect(await run({ "login.create": () => ({ url }) }, "login")).toBe(`${url}\n`);
});

it("an unknown procedure is a CliError", async () => {
  const error = await run({}, "login").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CliError);
  expect((error as CliError).message).toBe(`${server!.url} failed to run login.create: NOT_FOUND`);
});
