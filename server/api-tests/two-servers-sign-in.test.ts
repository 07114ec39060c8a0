import type { MachineLoginAnswer, MachineLoginCodes, PersonLink } from "@plimsoll/protocol/api";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectTo } from "../testing/backends.ts";
import { migratedDatabase } from "../testing/database.ts";
import { ask } from "../testing/network.ts";
import { cookieIn } from "../testing/people-server.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { TestAuthenticator } from "../testing/test-authenticator.ts";
import { freePort, startTestProvider, type TestProvider } from "../testing/test-provider.ts";

/** Two servers behind one address, as a load balancer that keeps no client on one of them sends requests. */
let database: Awaited<ReturnType<typeof migratedDatabase>>;
let provider: TestProvider;
let a: TestServer;
let b: TestServer;
let env: Record<string, string>;
let origin: string;

beforeAll(async () => {
  database = await migratedDatabase();
  // By its name: browsers make no passkeys for an address.
  origin = `http://localhost:${await freePort()}`;
  provider = await startTestProvider({
    accounts: { ada: { name: "Ada" } },
    redirectUris: [`${origin}/api/v1/sign-in/callback`],
  });
  env = {
    ...provider.env,
    PLIMSOLL_SECRET: "a secret that both servers have, of 32 and more bytes",
    PLIMSOLL_PUBLIC_URL: origin,
  };
  [a, b] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop(), provider?.stop()]);
  await database?.close();
});

const start = () => startTestServer({ databaseUrl: database.url, env });

/** What a page of the one address sends, when it reaches this server. */
function send(server: TestServer, path: string, { body, cookie }: { body?: unknown; cookie?: string } = {}) {
  const to = { address: "127.0.0.1", port: server.port, ca: "" };
  const headers = { host: new URL(origin).host, origin, ...(cookie !== undefined && { cookie }) };
  return ask(to, path, { headers, plain: true, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

const sessionIn = ({ headers }: Awaited<ReturnType<typeof send>>) =>
  cookieIn(headers["set-cookie"], "plimsoll_session");
const isSignedIn = async (server: TestServer, cookie: string) =>
  (await send(server, "/api/trpc/account", { cookie })).status === 200;

/** The first half of each kind, on one server. Each returns the second half, which signs in with status 200. */
const KINDS: Record<string, (first: TestServer) => Promise<(second: TestServer) => ReturnType<typeof send>>> =
  {
    async "the identity provider"(first) {
      const started = await send(first, "/api/v1/sign-in/start?next=/sessions");
      const cookie = cookieIn(started.headers["set-cookie"], "plimsoll_sign_in")!;
      const back = await provider.signIn(started.headers.location!, "ada");
      return (second) => send(second, back.pathname + back.search, { cookie });
    },

    async "a passkey"(first) {
      const link = await first.mutate<PersonLink>("people.invite", {
        name: "Bo",
        role: "member",
        project_id: null,
      });
      const token = new URL(link.url).hash.slice(1);
      const cookie = sessionIn(await send(first, "/api/v1/login", { body: { token } }))!;
      const authenticator = new TestAuthenticator();
      const begun = (await send(first, "/api/trpc/passkeys.begin", { body: {}, cookie })).json as {
        result: { data: Parameters<TestAuthenticator["create"]>[0] };
      };
      const credential: RegistrationResponseJSON = authenticator.create(begun.result.data, { origin });
      const other = first === a ? b : a;
      const added = await send(other, "/api/trpc/passkeys.add", {
        body: { name: "laptop", credential },
        cookie,
      });
      expect(added.status).toBe(200);

      const started = await send(first, "/api/v1/sign-in/passkey/start", { body: {} });
      const binding = cookieIn(started.headers["set-cookie"], "plimsoll_sign_in")!;
      const answer = authenticator.get(started.json as Parameters<TestAuthenticator["get"]>[0], { origin });
      return (second) =>
        send(second, "/api/v1/sign-in/passkey", { body: { credential: answer }, cookie: binding });
    },

    async "a login link"(first) {
      const { url } = await first.mutate<{ url: string }>("login.create", undefined);
      const token = new URL(url).hash.slice(1);
      return (second) => send(second, "/api/v1/login", { body: { token } });
    },
  };

const codeOf = async (server: TestServer) =>
  (await send(server, "/api/v1/device/code", { body: { machine: "laptop" } })).json as MachineLoginCodes;
const poll = async (server: TestServer, { device_code }: MachineLoginCodes) =>
  (await send(server, "/api/v1/device/token", { body: { device_code } })).json as MachineLoginAnswer;

describe.each(Object.keys(KINDS))("a sign-in with %s", (kind) => {
  it("begins on one server and ends on the other, once", async () => {
    for (const [first, second] of [
      [a, b],
      [b, a],
    ] as const) {
      const end = await KINDS[kind]!(first);
      const answer = await end(second);
      expect(answer.status, answer.text).toBe(200);
      expect(await isSignedIn(first, sessionIn(answer)!)).toBe(true);
      for (const again of [first, second]) {
        const replay = await end(again);
        expect([replay.status, sessionIn(replay)]).toEqual([401, undefined]);
      }
    }
  });

  it("ends once, though both servers are asked at the same moment", async () => {
    const end = await KINDS[kind]!(a);
    const answers = await Promise.all([a, b, a, b].map(end));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  });
});

describe("a machine that logs in", () => {
  it("is confirmed on the other server, and gets its keys once from both", async () => {
    const code = await codeOf(a);
    expect(await poll(b, code)).toMatchObject({ status: "pending" });
    expect(await b.mutate("machines.look", { user_code: code.user_code })).toMatchObject({
      machine: "laptop",
    });
    await b.mutate("machines.decide", { user_code: code.user_code, approve: true });
    await expect(a.mutate("machines.look", { user_code: code.user_code })).rejects.toThrow(
      "No machine waits",
    );
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => poll([a, b][n % 2]!, code)));
    const approved = answers.filter(({ status }) => status === "approved");
    expect(approved).toHaveLength(1);
    expect((await poll(b, code)).status).toBe("expired");
    const { keys } = await b.trpc<{ keys: { name: string }[] }>("keys.list", {});
    expect(keys.filter(({ name }) => name.startsWith("laptop"))).toHaveLength(2);
  });
});

describe("what is too old", () => {
  it("signs nobody in, on either server", async () => {
    const rows = await connectTo(database.url);
    try {
      const end = await KINDS["a login link"]!(a);
      const [code, confirmed] = [await codeOf(a), await codeOf(a)];
      await b.mutate("machines.decide", { user_code: confirmed.user_code, approve: true });
      await rows.query("UPDATE login_links SET expires_at = expires_at - interval '15 minutes'");
      await rows.query("UPDATE machine_logins SET asked_at = asked_at - interval '10 minutes'");
      for (const server of [a, b]) {
        expect((await end(server)).status).toBe(401);
        for (const old of [code, confirmed]) expect(await poll(server, old)).toEqual({ status: "expired" });
        const input = { user_code: code.user_code, approve: true };
        await expect(server.mutate("machines.decide", input)).rejects.toThrow("No machine waits");
      }
      // The next ones clear the old rows away.
      await Promise.all([codeOf(a), KINDS["a login link"]!(b)]);
      const left = await rows.query(
        "SELECT (SELECT count(*) FROM login_links)::int AS links, (SELECT count(*) FROM machine_logins)::int AS codes",
      );
      expect(left.rows).toEqual([{ links: 1, codes: 1 }]);
    } finally {
      await rows.end();
    }
  });
});

describe("after a restart", () => {
  it("every sign-in that was begun goes on, on another server", async () => {
    const ends = await Promise.all(Object.values(KINDS).map((begin) => begin(b)));
    const code = await codeOf(b);
    await b.mutate("machines.decide", { user_code: code.user_code, approve: true });
    await Promise.all([a.stop(), b.kill9()]);
    await b.stop();
    a = await start();
    for (const end of ends) {
      const answer = await end(a);
      expect(answer.status, answer.text).toBe(200);
    }
    expect(await poll(a, code)).toMatchObject({ status: "approved" });
  });
});
