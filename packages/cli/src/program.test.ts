import { hostname } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CliError } from "./errors.ts";
import { createProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";
import { type FakeServer, type Procedure, Refusal, startFakeServer } from "./testing/fake-server.ts";
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

interface RunOptions {
  args: string[];
  /** Gets what is written to standard error, which is a terminal by default. */
  onError: (text: string) => void;
  isTty?: boolean;
  now?: () => number;
}

async function run(
  procedures: Record<string, Procedure>,
  ...given: string[] | [RunOptions]
): Promise<string> {
  const options: Partial<RunOptions> =
    typeof given[0] === "object" ? given[0] : { args: given as string[], isTty: false };
  const { args = [], onError, isTty = true, now = () => NOW } = options;
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
    err: { ...out, isTty, write: (more) => onError?.(more) },
    now,
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
    expect(text).toMatch(/pls_abcd +ci +ingest +used 1 min ago +never +0199aaaa-/);
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

describe("keys that expire", () => {
  const DAY = 86_400_000;
  const at = (ms: number) => new Date(NOW + ms).toISOString();

  it.each([
    ["90d", at(90 * DAY)],
    ["2030-01-31", "2030-01-31T00:00:00.000Z"],
    ["never", undefined],
  ])("are created with --expires %s", async (text, expires_at) => {
    const create: Procedure = (input) => {
      expect(input).toEqual({ name: "ci", scopes: ["ingest"], expires_at });
      return { ...key, secret: "s", ...(expires_at && { expires_at }) };
    };
    const args = ["key", "create", "--name", "ci", "--scope", "ingest", "--expires", text];
    const said = await run({ "keys.create": create }, ...args);
    if (expires_at) expect(said).toContain(`expires ${expires_at.slice(0, 10)}`);
    else expect(said).not.toContain("expires");
  });

  it.each(["soon", "90", "-1d", "2030-02-31x", "1e9d"])("are not created with --expires %s", async (text) => {
    const args = ["key", "create", "--scope", "ingest", "--expires", text];
    await expect(run({}, ...args)).rejects.toThrow(/is not an expiry/);
  });

  it("are not created on a server that ignores the expiry", async () => {
    const revoked: unknown[] = [];
    const procedures: Record<string, Procedure> = {
      "keys.create": () => ({ ...key, secret: "s" }),
      "keys.revoke": (input) => {
        revoked.push(input);
        return key;
      },
    };
    const args = ["key", "create", "--scope", "ingest", "--expires", "90d"];
    await expect(run(procedures, ...args)).rejects.toThrow(/cannot make a key that expires/);
    expect(revoked).toEqual([{ id: key.id }]);
  });

  it("are listed with their expiry and their successor", async () => {
    const keys = [
      key,
      { ...key, id: "2", prefix: "pls_soon", expires_at: at(5 * DAY) },
      { ...key, id: "3", prefix: "pls_over", expires_at: at(-3 * DAY) },
      { ...key, id: "4", prefix: "pls_old", expires_at: at(DAY), replaced_by: "2" },
    ];
    const lines = (await run({ "keys.list": () => ({ keys }) }, "key", "list")).split("\n");
    expect(lines[1]).toMatch(/used 1 min ago +never +0199/);
    expect(lines[2]).toMatch(/used 1 min ago +in 5 d +2$/);
    expect(lines[3]).toMatch(/expired +3 d ago +3$/);
    expect(lines[4]).toMatch(/replaced by pls_soon +in 24 h +4$/);
  });

  it("are rotated by id or prefix, with a grace period", async () => {
    const rotate =
      (grace: string, ms: number): Procedure =>
      (input) => {
        expect(input).toEqual({ id: key.id, grace });
        return {
          key: { ...key, id: "2", prefix: "pls_new", secret: "the-new-secret" },
          replaced: { ...key, expires_at: at(ms), replaced_by: "2" },
        };
      };
    const list: Procedure = () => ({ keys: [key] });
    const text = await run(
      { "keys.list": list, "keys.rotate": rotate("24h", DAY) },
      "key",
      "rotate",
      "pls_ab",
    );
    expect(text).toMatch(/^the-new-secret\n/);
    expect(text).toContain(`The old key pls_abcd works until ${at(DAY)}.`);
    await server!.close();
    const args = ["key", "rotate", key.id, "--grace", "now"];
    expect(await run({ "keys.list": list, "keys.rotate": rotate("now", 0) }, ...args)).toContain(
      "now rejects the old key pls_abcd",
    );
    await server!.close();
    const quiet = [...args, "--quiet"];
    expect(await run({ "keys.list": list, "keys.rotate": rotate("now", 0) }, ...quiet)).toBe(
      "the-new-secret\n",
    );
  });
});

describe("plimsoll audit", () => {
  const entry = (id: number, more: object = {}) => ({
    id: String(id),
    at: "2026-11-20T12:34:56.789Z",
    action: "key_created",
    actor: { kind: "local", id: null, name: null, address: null },
    project_id: 1,
    project: "default",
    target: `key ${id}`,
    detail: null,
    count: 1,
    ...more,
  });

  it("prints entries without anything that moves the cursor", async () => {
    const items = [
      entry(1, { target: "a\u001b[31m\u202e key" }),
      entry(2, {
        action: "login_failed",
        actor: { kind: "visitor", id: null, name: null, address: "10.0.0.1" },
        project_id: null,
        project: null,
        target: null,
        count: 37,
      }),
      entry(3, { actor: { kind: "key", id: "k", name: "ops", address: null }, project_id: 4, project: null }),
      entry(4, { actor: { kind: "browser", id: "b", name: "Firefox on Linux", address: "::1" } }),
      entry(5, { actor: { kind: "person", id: "p", name: "Ada", address: "192.0.2.7" } }),
      entry(6, { action: "something_newer", actor: { kind: "robot", id: null, name: null, address: null } }),
    ];
    const text = await run({ "audit.list": () => ({ items, next_cursor: null }) }, "audit");
    for (const hostile of ["\u001b", "\u202e"]) expect(text).not.toContain(hostile);
    expect(text).toMatch(/2026-11-20 12:34:56 +key_created +a\[31m\\u202… +command line +default/);
    expect(text).toMatch(/login_failed ×37 +10\.0\.0\.1\n/);
    expect(text).toMatch(/key ops +4 \(deleted\)/);
    expect(text).toMatch(/Firefox on Linux, ::1/);
    expect(text).toMatch(/Ada, 192\.0\.2\.7/);
    expect(text).toMatch(/something_newer +key 6 +robot/);
  });

  it("asks for page after page until it has enough", async () => {
    const asked: unknown[] = [];
    const list: Procedure = (input) => {
      const { limit } = input as { limit: number };
      asked.push(input);
      return { items: Array.from({ length: limit }, (_, i) => entry(i)), next_cursor: `c${asked.length}` };
    };
    const text = await run(
      { "audit.list": list },
      "audit",
      "--json",
      "--limit",
      "450",
      "--action",
      "login",
      "--topic",
      "logins",
    );
    expect(JSON.parse(text).entries).toHaveLength(450);
    expect(asked).toEqual([
      { action: "login", topic: "logins", limit: 200 },
      { action: "login", topic: "logins", limit: 200, cursor: "c1" },
      { action: "login", topic: "logins", limit: 50, cursor: "c2" },
    ]);
  });
});

describe("plimsoll doctor", () => {
  const check = (name: string, more: object = {}) => ({
    name,
    ok: true,
    note: false,
    message: "12 of 12 hours summed again, no difference.",
    examined: 12,
    of: 12,
    complete: true,
    ...more,
  });
  const report = (checks: object[], more: object = {}) => ({
    ok: true,
    checks,
    progress: null,
    next: null,
    ...more,
  });

  it("prints every check", async () => {
    const text = await run({ doctor: () => report([check("rollups")]) }, "doctor");
    expect(text).toMatch(
      /ok {4}connection .* answers and accepts the key from PLIMSOLL_KEY\.\nok {4}rollups +12 of 12/,
    );
    expect(text).toMatch(/\nAll checks passed\.\n$/);
    expect(process.exitCode).toBeUndefined();
  });

  it("waits ten minutes for a part of the report", async () => {
    const limits = vi.spyOn(AbortSignal, "timeout");
    await run({ doctor: () => report([check("rollups")]) }, "doctor");
    // Then it asks for the time.
    expect(limits.mock.calls).toEqual([[600_000], [5_000]]);
    limits.mockRestore();
  });

  it("exits 1 when a check fails", async () => {
    const failed = check("rollups", { ok: false });
    const text = await run({ doctor: () => report([failed]) }, "doctor");
    expect(text).toContain("FAIL  rollups");
    expect(text).toContain("Some checks failed.");
    expect(process.exitCode).toBe(1);
  });

  it("tells a note from a fault, and a sample from the whole", async () => {
    const some = check("agents", { complete: false, message: "2,000 of 1,000,000 agents folded again." });
    const note = check("upkeep", { note: true });
    const text = await run({ doctor: () => report([note, some]) }, "doctor");
    expect(text).toMatch(/note {2}upkeep/);
    expect(text).toContain("No check failed. Run `npx plimsoll doctor --full` to examine everything.");
    expect(process.exitCode).toBeUndefined();
  });

  it("asks for part after part, and shows how far the server is", async () => {
    const asked: unknown[] = [];
    const progress = { name: "agents", message: "100 of 200 agents folded again" };
    const parts = [
      report([check("rollups")], { progress, next: "one" }),
      report([], { progress, next: "two" }),
      report([check("agents")]),
    ];
    const doctor = (input: unknown) => parts[asked.push(input) - 1];
    let shown = "";
    const text = await run({ doctor }, { args: ["doctor", "--full"], onError: (more) => (shown += more) });
    expect(asked).toEqual([
      { full: true, answer_within_ms: 1_000 },
      { full: true, answer_within_ms: 1_000, cursor: "one" },
      { full: true, answer_within_ms: 1_000, cursor: "two" },
    ]);
    expect(text.match(/^ok/gm)).toHaveLength(3);
    expect(shown).toContain("agents: 100 of 200 agents folded again");
  });

  it("says what it is doing before the server answers, and when a check takes long", async () => {
    let now = NOW;
    const progress = (message: string) => ({ name: "agents", message });
    const parts = [
      report([], { progress: progress("1 of 9 agents folded again"), next: "one" }),
      report([], { progress: progress("2 of 9 agents folded again"), next: "two" }),
      report([], { progress: progress("3 of 9 agents folded again"), next: "three" }),
      report([check("agents")]),
    ];
    const told = async (isTty: boolean) => {
      let at = 0;
      let shown = "";
      const doctor = () => {
        now += 6_000;
        return parts[at++];
      };
      await run({ doctor }, { args: ["doctor"], isTty, now: () => now, onError: (more) => (shown += more) });
      return shown;
    };
    const terminal = await told(true);
    expect(terminal).toMatch(/^\rconnection: asking http:/);
    expect(terminal).toContain("\ragents: 2 of 9 agents folded again\u001b[K");
    const long = "agents: 3 of 9 agents folded again. This check takes long: 12 s so far";
    expect(terminal).toContain(long);
    expect(await told(false)).toBe(`${long}\n`);
  });

  it("goes on counting while the server is silent", async () => {
    let now = NOW;
    let shown = "";
    let answer = (_: unknown) => {};
    const answered = new Promise((resolve) => {
      answer = resolve;
    });
    const doctor = async () => {
      await answered;
      return report([check("rollups")]);
    };
    const onError = (more: string) => {
      shown += more;
      if (more.includes("takes long")) answer(undefined);
      now += 10_000;
    };
    await run({ doctor }, { args: ["doctor"], now: () => now, onError });
    expect(shown).toMatch(/connection: asking http:\S+\. This check takes long: 10 s so far/);
  });

  it("reports a server that rejects the key as a failed check", async () => {
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
