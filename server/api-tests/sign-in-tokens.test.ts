import type { AuditPage, MachineLoginCodes } from "@plimsoll/protocol/api";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectTo } from "../testing/backends.ts";
import { manifestOf, rowsOf } from "../testing/backup-file.ts";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { freePort, startTestProvider, type TestProvider } from "../testing/test-provider.ts";
import { until } from "../testing/until.ts";

const SECRET = "a secret that both servers have, of 32 and more bytes";

/** Two processes of one database. */
let database: Awaited<ReturnType<typeof migratedDatabase>>;
let rows: pg.Client;
let provider: TestProvider;
let a: TestServer;
let b: TestServer;
/** What the provider or the server gave a browser. */
const seen: string[] = [];

beforeAll(async () => {
  database = await migratedDatabase();
  rows = await connectTo(database.url);
  const port = await freePort();
  provider = await startTestProvider({
    accounts: { ada: { name: "Ada Lovelace", email: "ada@example.com" } },
    redirectUris: [`http://127.0.0.1:${port}/api/v1/sign-in/callback`],
    refreshTokens: true,
  });
  const env = { ...provider.env, PLIMSOLL_SECRET: SECRET, LOG_LEVEL: "trace" };
  a = await startTestServer({ databaseUrl: database.url, env: { ...env, PORT: String(port) } });
  b = await startTestServer({ databaseUrl: database.url, env });
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop(), provider?.stop()]);
  await rows?.end();
  await database?.close();
});

/** @returns the value of the cookie */
async function signIn(): Promise<string> {
  const started = await fetch(`${a.url}/api/v1/sign-in/start`, { redirect: "manual" });
  const binding = started.headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const back = await provider.signIn(started.headers.get("location")!, "ada");
  const answer = await fetch(back, { headers: { cookie: binding } });
  const [, value] = /^plimsoll_session_\d+=([^;]+)/.exec(answer.headers.getSetCookie().at(-1)!)!;
  seen.push(binding.split("=")[1]!, back.searchParams.get("code")!, value!, back.searchParams.get("state")!);
  return value!;
}

const account = (server: TestServer, session: string) =>
  fetch(`${server.url}/api/trpc/account`, {
    headers: { cookie: `plimsoll_session_${server.port}=${session}` },
  });

/** Every session was renewed so long ago that the next request asks the provider. */
const age = () => rows.query("UPDATE browser_sessions SET renewed_at = renewed_at - interval '1 hour'");

describe("a session that two servers renew at the same moment", () => {
  it("exchanges its refresh token once, and goes on in both", async () => {
    for (let round = 0; round < 3; round++) {
      const session = await signIn();
      await age();
      const before = provider.refreshes();
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) => account([a, b][n % 2]!, session)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
      expect(provider.refreshes() - before).toBe(1);
    }
  });
});

describe("a session that the provider ends", () => {
  it("leaves an entry in the audit log", async () => {
    const session = await signIn();
    await provider.revoke("ada");
    await age();
    expect((await account(a, session)).status).toBe(401);
    const { items } = await a.trpc<AuditPage>("audit.list", { action: "browser_signed_out" });
    expect(items).toMatchObject([
      {
        actor: { kind: "server" },
        target: expect.stringMatching(/^Ada Lovelace: /),
        detail: "the identity provider no longer lets the person in",
      },
    ]);
  });
});

describe("tokens of the provider", () => {
  /** Also as the database and COPY write bytes. */
  const forms = (secret: string) => [secret, Buffer.from(secret).toString("hex")];
  const found = (text: string) =>
    [...provider.tokens(), ...seen, provider.env.PLIMSOLL_OIDC_CLIENT_SECRET, SECRET].filter((secret) =>
      forms(secret).some((form) => text.includes(form)),
    );

  it("are in plain text in no table, no backup and no log", async () => {
    const session = await signIn();
    await age();
    expect((await account(b, session)).status).toBe(200);
    // Sign-ins that fail: a used code, an unknown state, and a refusal by the provider.
    for (const query of [`code=${seen[1]}&state=x`, "error=access_denied&state=x", "code=x"])
      expect((await fetch(`${a.url}/api/v1/sign-in/callback?${query}`)).status).toBe(401);
    expect(provider.tokens().length).toBeGreaterThan(10);
    // A link and codes that wait.
    const { url } = await b.mutate<{ url: string }>("login.create", undefined);
    const asked = await b.request<MachineLoginCodes>("/api/v1/device/code", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ machine: "laptop" }),
    });
    const { device_code, user_code } = asked.body;
    seen.push(url.split("#")[1]!, device_code, user_code, user_code.replace("-", ""));

    const tables = await rows.query<{ name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'",
    );
    let stored = "";
    for (const { name } of tables.rows) {
      const { rows: all } = await rows.query<{ text: string }>(`SELECT t::text AS text FROM "${name}" t`);
      stored += all.map(({ text }) => text).join("\n");
    }
    expect(stored).toContain("Ada Lovelace");
    expect(found(stored)).toEqual([]);

    const answer = await a.request("/api/v1/backup", { method: "HEAD" });
    expect(answer.status).toBe(200);
    const file = Buffer.from(
      await (
        await fetch(`${a.url}/api/v1/backup`, { headers: { authorization: `Bearer ${a.token}` } })
      ).arrayBuffer(),
    );
    const backup = manifestOf(file)
      .tables.map(({ name }) => rowsOf(file, name))
      .join("\n");
    expect(backup).toContain("Ada Lovelace");
    expect(found(backup)).toEqual([]);

    const log = () => a.output() + b.output();
    await until(() => log().includes("the identity provider ended a session"));
    expect(found(log())).toEqual([]);
  });
});
