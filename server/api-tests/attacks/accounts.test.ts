import {
  type AuditEntryView,
  type AuditPage,
  type BrowserView,
  type CreatedKey,
  type ErrorBody,
  type KeyView,
  LOCAL_SCHEME,
  type RotatedKey,
  type Scope,
} from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../../testing/database.ts";
import { type HttpAnswer, startTestServer, type TestServer } from "../../testing/server.ts";
import { until } from "../../testing/until.ts";
import { turn, unique } from "../support.ts";
import { ask, makeKeyIn, makeProject, post, refusal } from "../two-projects.ts";

/** Two processes of one database. */
let database: Awaited<ReturnType<typeof migratedDatabase>>;
let a: TestServer;
let b: TestServer;
const both = () => [a, b];

beforeAll(async () => {
  database = await migratedDatabase();
  [a, b] = await Promise.all([
    startTestServer({ databaseUrl: database.url }),
    startTestServer({ databaseUrl: database.url }),
  ]);
});
afterEach(async () => {
  await Promise.all(both().map((server) => server.expectHealthy()));
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await database?.close();
});

async function rows<T extends pg.QueryResultRow>(text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

const event = () => turn(unique("session"), 1_000);
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const errorOf = (answer: HttpAnswer) => (answer.body as ErrorBody).error;
const activity = async (query = {}) => (await a.trpc<AuditPage>("audit.list", query)).items;

function login(server: TestServer, token: string, userAgent: string) {
  return server.request("/api/v1/login", {
    ...post({ token }),
    headers: { authorization: "", "content-type": "application/json", "user-agent": userAgent },
  });
}

/** A browser that is signed in: requests with its cookie, as from its own page. */
async function signIn(server: TestServer, userAgent = "test/1") {
  const { url } = await server.mutate<{ url: string }>("login.create");
  const answer = await login(server, new URL(url).hash.slice(1), userAgent);
  expect(answer.status).toBe(200);
  const value = /=([^;]+)/.exec(answer.headers.get("set-cookie")!)![1]!;
  const headersFor = (at: TestServer) => ({
    authorization: "",
    "content-type": "application/json",
    cookie: `plimsoll_session_${at.port}=${value}`,
    origin: at.url,
  });
  return {
    get: <T = unknown>(at: TestServer, path: string) => at.request<T>(path, { headers: headersFor(at) }),
    mutate: (at: TestServer, procedure: string, input: unknown = {}) =>
      at.request(`/api/trpc/${procedure}`, { ...post(input), headers: headersFor(at) }),
    async list(at: TestServer): Promise<BrowserView[]> {
      const { body } = await this.get<{ result: { data: { browsers: BrowserView[] } } }>(
        at,
        "/api/trpc/browsers.list",
      );
      return body.result.data.browsers;
    },
    async live(at: TestServer): Promise<{ ended: () => boolean }> {
      const { authorization: _, ...headers } = headersFor(at);
      const response = await fetch(`${at.url}/api/v1/live`, { headers });
      expect(response.status).toBe(200);
      let ended = false;
      const read = async () => {
        for await (const _ of response.body!);
      };
      void read()
        .catch(() => {})
        .finally(() => {
          ended = true;
        });
      return { ended: () => ended };
    },
  };
}

/** A key that lives for `lifeMs`, or twice as long if that is over when the server hears of it, and so on. */
async function shortKey(lifeMs: number, scope: Scope): Promise<CreatedKey & { expires_at: string }> {
  const key = { name: `short ${lifeMs}`, scopes: [scope], expires_at: inMs(lifeMs) };
  const made = await a.mutate<CreatedKey>("keys.create", key).catch((error: unknown) => {
    if (lifeMs > 60_000) throw error;
  });
  return made === undefined ? shortKey(2 * lifeMs, scope) : { ...made, expires_at: key.expires_at };
}

describe("a key that expired", () => {
  it("is refused by every process that has it cached, however often it is sent", async () => {
    let expires_at = "";
    let secret = "";
    // A key that expires before both have it cached is made again, to live longer.
    for (let lifeMs = 1_000, cached = 0; cached < 2; lifeMs *= 2) {
      ({ secret, expires_at } = await shortKey(lifeMs, "ingest"));
      const answers = [await a.send(event(), secret), await b.send(event(), secret)];
      cached = answers.filter(({ status }) => status === 200).length;
    }
    await until(() => Date.now() > Date.parse(expires_at));
    const day = new Date(expires_at).toLocaleDateString("en-GB", {
      day: "numeric",
      month: "long",
      year: "numeric",
      timeZone: "UTC",
    });
    for (const server of both()) {
      for (let i = 0; i < 50; i++) {
        const answer = await server.send(event(), secret);
        expect(answer.status).toBe(401);
        expect(errorOf(answer).message).toContain(`This key expired on ${day}.`);
      }
    }
    for (const path of ["/api/v1/fleet", "/metrics", "/api/v1/live", "/api/trpc/keys.list"])
      expect((await b.get(path, secret)).status, path).toBe(401);
  });

  it("cannot be given back its life", async () => {
    const { id, secret } = await shortKey(1_000, "admin");
    await until(async () => (await a.get("/api/v1/fleet", secret)).status === 401);
    await expect(a.mutate("keys.rotate", { id })).rejects.toThrow("409");
    expect((await ask(a, secret, "keys.rotate", { id }, "mutation")).status).toBe(401);
  });

  it.each([
    ["in the past", inMs(-1_000)],
    ["in the year 9998", "9998-12-31T00:00:00Z"],
    ["in the year 0", "0000-01-01T00:00:00Z"],
    ["not a time", "tomorrow"],
    ["a number", 1e300],
  ])("is not made with an expiry %s", async (_, expires_at) => {
    const answer = await ask(
      a,
      a.token,
      "keys.create",
      { name: "x", scopes: ["read"], expires_at },
      "mutation",
    );
    expect(refusal(answer).status).toBe(400);
  });
});

describe("two rotations of a key at once", () => {
  it("make one successor, and the other one is told", async () => {
    for (let round = 0; round < 5; round++) {
      const name = unique("race");
      const { id } = await a.mutate<CreatedKey>("keys.create", { name, scopes: ["ingest"] });
      const answers = await Promise.all(
        [a, b, a, b].map((server) =>
          ask(server, server.token, "keys.rotate", { id, grace: "now" }, "mutation"),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
      const lost = answers.find(({ status }) => status === 409)!;
      expect(lost.text).toContain("was replaced already");
      const { keys } = await a.trpc<{ keys: KeyView[] }>("keys.list");
      const named = keys.filter((key) => key.name === name);
      expect(named).toHaveLength(2);
      expect(named.find((key) => key.id === id)?.replaced_by).toBe(named.find((key) => key.id !== id)?.id);
      expect(
        (await activity({ action: "key_rotated" })).filter(({ target }) => target === name),
      ).toHaveLength(1);
    }
  });

  it("leave the old key working for its grace period only", async () => {
    const old = await a.mutate<CreatedKey>("keys.create", { name: "ci", scopes: ["ingest"] });
    expect((await b.send(event(), old.secret)).status).toBe(200);
    const { key } = await a.mutate<RotatedKey>("keys.rotate", { id: old.id, grace: "24h" });
    expect((await b.send(event(), old.secret)).status).toBe(200);
    const third = await a.mutate<RotatedKey>("keys.rotate", { id: key.id, grace: "now" });
    expect((await a.send(event(), key.secret)).status).toBe(401);
    await until(async () => (await b.send(event(), key.secret)).status === 401);
    expect((await b.send(event(), third.key.secret)).status).toBe(200);
  });
});

describe("a key of one project", () => {
  it("sees nothing of browsers, and of the log only its own project without addresses", async () => {
    const browser = await signIn(a, "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0");
    const [own, other] = [await makeProject(a, unique("own")), await makeProject(a, unique("other"))];
    const inOwn = await makeKeyIn(a, own.id, ["admin"], unique("k"));
    await makeKeyIn(a, other.id, ["admin"], "a key of the other project");
    const renamed = `${own.name}-renamed`;
    const byBrowser = await browser.mutate(a, "projects.rename", { id: own.id, name: renamed });
    expect(byBrowser.status).toBe(200);

    const answer = await a.get<AuditPage>("/api/v1/audit?limit=200", inOwn.secret);
    expect(answer.status).toBe(200);
    expect(new Set(answer.body.items.map(({ project_id }) => project_id))).toEqual(new Set([own.id]));
    expect(answer.text).not.toContain(other.name);
    expect(answer.text).not.toContain("127.0.0.1");
    const rename = ({ action }: AuditEntryView) => action === "project_renamed";
    expect(answer.body.items.find(rename)).toMatchObject({
      target: renamed,
      detail: `before: ${own.name}`,
      actor: { kind: "browser", name: "Firefox on Linux", address: null },
    });
    // The same entry, for a person.
    expect((await activity()).find(rename)?.actor.address).toBe("127.0.0.1");

    const [session] = await browser.list(a);
    for (const [path, input, kind] of [
      ["browsers.list", {}, "query"],
      ["browsers.signOut", { id: session!.id }, "mutation"],
      ["browsers.signOutOthers", {}, "mutation"],
    ] as const) {
      const refused = await ask(a, inOwn.secret, path, input, kind);
      expect(refusal(refused), path).toEqual({ status: 403, code: "wrong_project" });
    }
    expect(await browser.list(a)).toHaveLength((await browser.list(b)).length);
    const reader = await makeKeyIn(a, own.id, ["read"], unique("k"));
    expect((await a.get("/api/v1/audit", reader.secret)).status).toBe(403);
    expect((await a.get("/api/v1/audit", "")).status).toBe(401);
  });

  it("cannot reach beyond it with a cursor of somebody else", async () => {
    const own = await makeProject(a, unique("own"));
    const { secret } = await makeKeyIn(a, own.id, ["admin"], unique("k"));
    const { next_cursor } = await a.trpc<AuditPage>("audit.list", { limit: 1 });
    const { body } = await a.get<AuditPage>(`/api/v1/audit?cursor=${next_cursor}`, secret);
    for (const { project_id } of body.items) expect(project_id).toBe(own.id);
    for (const cursor of ["x", "e30", Buffer.from('["1","x"]').toString("base64url")])
      expect((await a.get(`/api/v1/audit?cursor=${cursor}`, secret)).status).toBe(400);
  });
});

describe("a browser that was signed out", () => {
  it("is out in both processes, and its live streams end at once", async () => {
    const [thief, owner] = [await signIn(a), await signIn(b)];
    const streams = [await thief.live(a), await thief.live(b)];
    const kept = await owner.live(a);
    const target = (await thief.list(b)).find(({ current }) => current)!;
    expect((await owner.mutate(b, "browsers.signOut", { id: target.id })).status).toBe(200);
    await until(() => streams.every(({ ended }) => ended()));
    for (const server of both()) {
      expect((await thief.get(server, "/api/v1/fleet")).status).toBe(401);
      expect((await thief.mutate(server, "browsers.signOutOthers")).status).toBe(401);
      expect((await owner.get(server, "/api/v1/fleet")).status).toBe(200);
    }
    expect(kept.ended()).toBe(false);
    expect((await owner.mutate(a, "browsers.signOut", { id: target.id })).status).toBe(404);
    expect((await owner.mutate(a, "browsers.signOutOthers")).status).toBe(200);
    expect(await owner.list(a)).toMatchObject([{ current: true }]);
  });

  it("is not signed out by a page of another origin", async () => {
    const owner = await signIn(a);
    const { id } = (await owner.list(a)).find(({ current }) => current)!;
    const answer = await a.request("/api/trpc/browsers.signOut", {
      ...post({ id }),
      headers: {
        authorization: "",
        "content-type": "application/json",
        cookie: "plimsoll_session=x",
        origin: "http://evil.example",
      },
    });
    expect(answer.status).toBe(401);
    expect((await owner.get(a, "/api/v1/fleet")).status).toBe(200);
  });
});

describe("a flood of failed logins", () => {
  it("is one entry for the client and hour, and counts every attempt", async () => {
    const before = await rows<{ count: number }>("SELECT count(*)::int FROM audit_entries");
    const attempts = 600;
    const statuses = new Set<number>();
    for (let i = 0; i < attempts; i += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => login(both()[n % 2]!, `wrong-${i + n}`, "flood/1")),
      );
      for (const { status } of answers) statuses.add(status);
    }
    expect([...statuses].sort()).toEqual([401, 429]);
    const counted = () =>
      rows<{ entries: number; attempts: number }>(
        "SELECT count(*)::int AS entries, sum(count)::int AS attempts FROM audit_entries WHERE action = 'login_failed'",
      );
    // Written at once, then every 10 s.
    await until(async () => (await counted())[0]!.attempts === attempts);
    const [{ entries } = { entries: 0 }] = await counted();
    // Two if the hour turned meanwhile.
    expect(entries).toBeLessThanOrEqual(2);
    const after = await rows<{ count: number }>("SELECT count(*)::int FROM audit_entries");
    expect(after[0]!.count - before[0]!.count).toBe(entries);
    // The owner still gets in.
    await signIn(a);
  });
});

describe("hostile names", () => {
  it("in a user agent and in names of keys leave nothing but plain text", async () => {
    const agents = [
      "\u001b[2J\u001b[31mroot".replaceAll("\u001b", "\\x1b"),
      "<script>alert(1)</script>",
      `Mozilla/5.0 ${"(".repeat(8_000)}`,
      `plim_abcdefg_${"A".repeat(49)}`,
      "Firefox/1 \u00ff\u00fe Linux",
    ];
    for (const agent of agents) await signIn(a, agent);
    const owner = await signIn(a);
    for (const { browser } of await owner.list(a)) {
      if (browser !== null) expect(browser).toMatch(/^[\w./ -]{1,60}$/);
    }
    const key = makeKeyName();
    const created = await a.mutate<CreatedKey>("keys.create", { name: key.name, scopes: ["read"] });
    expect(created.name).toBe(key.name);
    const entry = (await activity({ action: "key_created", limit: 1 }))[0]!;
    expect(entry.target).not.toContain(key.secret);
    expect(entry.target).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(
      (await rows<{ text: string }>("SELECT e::text AS text FROM audit_entries e")).join(),
    ).not.toContain("sss");
  });

  it("and secrets are in no entry", async () => {
    const { secret } = await a.mutate<CreatedKey>("keys.create", { name: "quiet", scopes: ["admin"] });
    await ask(a, secret, "windows.set", { model: "house-9b", tokens: 4_096 }, "mutation");
    await ask(a, secret, "windows.remove", { model: "house-9b" }, "mutation");
    const [{ text } = { text: "" }] = await rows<{ text: string }>(
      "SELECT string_agg(e::text, ' ') AS text FROM audit_entries e",
    );
    expect(text).toContain("house-9b");
    expect(text).toContain("quiet");
    expect(text).not.toContain(secret.slice(13));
    for (const { token } of both()) expect(text).not.toContain(token.slice(11));
    expect(text).not.toContain(LOCAL_SCHEME);
    const set = (await activity({ action: "window_set", limit: 1 }))[0]!;
    expect(set).toMatchObject({
      target: "house-9b",
      project: "default",
      actor: { kind: "key", name: "quiet" },
    });
  });
});

/** A name with a key inside, and with characters that reorder or hide text. */
function makeKeyName() {
  const secret = `plim_abcdefg_${"s".repeat(49)}`;
  return { secret, name: `\u001b[31m\u202eyek ${secret}\u0007` };
}
