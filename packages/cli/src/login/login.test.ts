import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { WaitingMachine } from "@plimsoll/protocol/api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { untilPasses } from "../../../guard/src/testing/until.ts";
import { createClient } from "../client.ts";
import { connect } from "../connection.ts";
import type { CliError } from "../errors.ts";
import { createProgram } from "../program.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";
import { readLogin, writeLogin } from "./stored-login.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-login-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Runs a command on a machine with a home of its own. */
function start(args: string[], env: Record<string, string> = {}, stop = new AbortController()) {
  let text = "";
  const out = {
    width: 120,
    isTty: false,
    color: false,
    write: (more: string) => {
      text += more;
    },
  };
  const program = createProgram({
    env: { PLIMSOLL_HOME: home, ...env },
    out,
    err: out,
    now: Date.now,
    untilStopped: () => stop.signal,
  });
  return { said: () => text, ended: program.parseAsync(["node", "plimsoll", ...args]).then(() => text) };
}
const run = (args: string[], env: Record<string, string> = {}) => start(args, env).ended;
const failure = (args: string[], env: Record<string, string> = {}): Promise<CliError> =>
  run(args, env).then(
    () => {
      throw new Error("it did not fail");
    },
    (error: CliError) => error,
  );

describe("a machine that logs in at a real server", () => {
  let server: Plimsoll;
  beforeAll(async () => {
    server = await startPlimsoll({ PLIMSOLL_PUBLIC_URL: "https://plimsoll.example" });
  });
  afterAll(async () => {
    await server?.stop();
    process.exitCode = undefined;
  });

  /** A person at the server. */
  const person = async () => createClient(await connect({ url: server.url }, { PLIMSOLL_HOME: server.home }));
  const anything = z.looseObject({});

  /** Logs in, and has a person decide. */
  async function logIn(approve: boolean, args: string[] = [], env: Record<string, string> = {}) {
    const login = start(["login", server.url, ...args], env);
    const ended = login.ended.catch((error: unknown) => error as CliError);
    await untilPasses(() => expect(login.said()).toMatch(/\n {2}[A-Z]{4}-[A-Z]{4}\n/));
    const code = /\n {2}([A-Z]{4}-[A-Z]{4})\n/.exec(login.said())![1]!;
    const client = await person();
    const machine = await client.mutate("machines.look", { user_code: code }, WaitingMachine);
    await client.mutate("machines.decide", { user_code: code, approve }, anything);
    return { machine, ended: await ended, said: login.said() };
  }

  it("gets keys that only its owner can read, and uses that server from then on", async () => {
    const { machine, said } = await logIn(true);
    expect(machine).toMatchObject({ machine: hostname(), address: "127.0.0.1" });
    expect(said).toContain("Open https://plimsoll.example/device in a browser");
    expect(said).toContain(`This machine is logged in at ${server.url}, in the project default`);
    expect(said).not.toContain("plim_");
    expect((await stat(join(home, "login.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o077).toBe(0);

    expect(JSON.parse(await run(["status", "--json"]))).toMatchObject({ url: server.url });
    const connected = await run(["connect", "codex", "--print"], { HOME: home });
    const { key, ingest_key } = (await readLogin(home))!;
    expect(connected).toContain(ingest_key.secret);
    expect(connected).not.toContain(key.secret);

    // The keys do no more than they must.
    expect((await failure(["key", "list"])).message).toMatch(/Not allowed to call keys.list/);
  });

  it("revokes its keys when it logs out, and forgets them", async () => {
    await logIn(true, ["--name", "desk"]);
    const { key, ingest_key } = (await readLogin(home))!;
    expect(key.name).toBe("desk");
    expect(await run(["logout"])).toContain(`logged out of ${server.url}`);
    expect(await readdir(home)).toEqual([]);
    for (const { secret } of [key, ingest_key]) {
      const answer = await fetch(`${server.url}/api/v1/ingest/received`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      expect(answer.status).toBe(401);
    }
    expect((await failure(["logout"])).message).toBe("This machine is not logged in.");
    const { keys } = await (await person()).query(
      "keys.list",
      {},
      z.object({ keys: z.array(z.looseObject({ name: z.string(), revoked_at: z.string().nullable() })) }),
    );
    const own = keys.filter(({ name }) => name.startsWith("desk"));
    expect(own).toHaveLength(2);
    expect(own.every(({ revoked_at }) => revoked_at !== null)).toBe(true);
  });

  it("replaces its keys when it logs in again", async () => {
    await logIn(true);
    const before = (await readLogin(home))!;
    await logIn(true);
    expect((await readLogin(home))!.key.id).not.toBe(before.key.id);
    const answer = await fetch(`${server.url}/api/v1/fleet`, {
      headers: { authorization: `Bearer ${before.key.secret}` },
    });
    expect(answer.status).toBe(401);
  });

  it("learns that a person refused, and stores nothing", async () => {
    const { ended } = await logIn(false);
    expect((ended as CliError).message).toBe("The login of this machine was refused.");
    expect(await readdir(home)).toEqual([]);
  });

  it("stops at Ctrl+C", async () => {
    const stop = new AbortController();
    const login = start(["login", server.url], {}, stop);
    const ended = login.ended.catch((error: unknown) => error as CliError);
    await untilPasses(() => expect(login.said()).toContain("Waiting for it"));
    stop.abort();
    expect(((await ended) as CliError).message).toBe("Stopped. This machine is not logged in.");
  });

  it("says that PLIMSOLL_KEY goes first, and a revoked key what to do", async () => {
    const { said } = await logIn(true, [], { PLIMSOLL_KEY: "plim_x" });
    expect(said).toContain("PLIMSOLL_KEY is set");
    const { key } = (await readLogin(home))!;
    await (await person()).mutate("keys.revoke", { id: key.id }, anything);
    const refused = await failure(["status"]);
    expect(refused.message).toContain("Not authorized");
    expect(refused.hint).toContain(`npx plimsoll login ${server.url}`);
    expect(await run(["logout"])).toContain("logged out");
  });
});

describe("a login", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** A server that answers every request so. */
  async function answering(status: number, body: string, headers: Record<string, string> = {}) {
    const server = createServer((_, response) => response.writeHead(status, headers).end(body));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each([
    ["is no Plimsoll server", 404, "not found", /does not log machines in/],
    ["answers something else", 200, '{"hello": "world"}', /does not log machines in/],
    ["answers a page", 200, "<html></html>", /does not log machines in/],
    [
      "has too many that wait",
      429,
      '{"error": {"code": "quota_exceeded", "message": "Too many machines wait."}}',
      /answered: Too many machines wait\./,
    ],
    ["is broken", 500, "", /Cannot reach Plimsoll/],
  ])("says what is wrong with a server that %s", async (_, status, body, expected) => {
    expect((await failure(["login", await answering(status, body)])).message).toMatch(expected);
    expect(await readdir(home)).toEqual([]);
  });

  it("follows no redirect", async () => {
    const url = await answering(307, "", { location: "https://evil.example/api" });
    expect((await failure(["login", url])).message).toBe(`${url} redirects to https://evil.example.`);
  });

  it("shows nothing of the server that a terminal would obey", async () => {
    const codes = {
      device_code: "x",
      user_code: "AB\u001b[2J",
      verification_uri: "https://x/\u202e",
      expires_in: 0,
      interval: 5,
    };
    const login = start(["login", await answering(200, JSON.stringify(codes))]);
    await login.ended.catch(() => {});
    expect(login.said()).toContain("AB");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(login.said()).not.toMatch(/[\u001b\u202e]/);
  });

  it.each(["http://plimsoll.example", "http://10.0.0.7:4180"])("sends no key over %s", async (url) => {
    const { message, hint } = await failure(["login", url]);
    expect(message).toContain("unencrypted");
    expect(hint).toContain(`npx plimsoll login ${url.replace("http:", "https:")}`);
  });

  it("takes the URL alone", async () => {
    expect((await failure(["login", "https://a.example", "--key", "x"])).message).toContain("URL alone");
    expect((await failure(["login", "ftp://a.example"])).message).toContain("is not an HTTP URL");
    expect((await failure(["login", "https://a.example:6000"])).message).toContain(
      "Browsers block port 6000",
    );
  });
});

describe("the stored login", () => {
  const key = (name: string) => ({ id: name, name, secret: `plim_${name}` });
  const store = (url: string) =>
    writeLogin(home, { url, project: "default", key: key("own"), ingest_key: key("harnesses") });

  it("is used for its own server alone", async () => {
    await store("https://plimsoll.example");
    const env = { PLIMSOLL_HOME: home };
    expect(await connect({}, env)).toMatchObject({
      url: "https://plimsoll.example",
      token: "plim_own",
      ingestKey: "plim_harnesses",
      tokenSource: "plimsoll login",
    });
    expect(await connect({ url: "https://plimsoll.example/" }, env)).toMatchObject({ token: "plim_own" });
    for (const url of ["https://plimsoll.example:444", "http://plimsoll.example", "https://evil.example"])
      expect((await connect({ url }, env)).token).toBeUndefined();
    expect((await connect({}, { ...env, PLIMSOLL_URL: "https://evil.example" })).token).toBeUndefined();
    expect(await connect({ key: "plim_flag" }, env)).toMatchObject({ token: "plim_flag" });
    expect((await connect({ key: "plim_flag" }, env)).ingestKey).toBeUndefined();
  });

  it.each(["", "{}", "not JSON", '{"version": 2}'])("is not ignored if it is damaged: %j", async (text) => {
    await writeFile(join(home, "login.json"), text);
    await expect(connect({}, { PLIMSOLL_HOME: home })).rejects.toThrow(/login\.json is damaged/);
  });

  it("is forgotten also if its server is away, which is said", async () => {
    await store("http://127.0.0.1:2");
    const { message, hint } = await failure(["logout"]);
    expect(message).toContain("http://127.0.0.1:2 could not revoke them");
    expect(hint).toContain("own and harnesses");
    expect(await readdir(home)).toEqual([]);
  });
});
