import { randomUUID } from "node:crypto";
import type {
  AccountView,
  AuditPage,
  BrowserList,
  CreatedKey,
  FleetView,
  HarnessList,
  KeyView,
  PersonLink,
  PersonList,
  PersonNames,
  Role,
  SessionPage,
} from "@plimsoll/protocol/api";
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { TestAuthenticator } from "../testing/test-authenticator.ts";
import { turn, unique } from "./support.ts";

let server: TestServer;
/** By its name: browsers make no passkeys for an address. */
let origin: string;

beforeAll(async () => {
  server = await startTestServer();
  origin = `http://localhost:${server.port}`;
});
afterAll(() => server?.stop());

const invite = (name: string, role: Role = "member", project_id: number | null = null) =>
  server.mutate<PersonLink>("people.invite", { name, role, project_id });

const tokenOf = ({ url }: PersonLink) => new URL(url).hash.slice(1);

interface Browser {
  cookie?: string;
}

/** What a page of the server sends. */
function post(path: string, body: unknown, { cookie }: Browser = {}): Promise<Response> {
  return fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin, ...(cookie && { cookie }) },
    body: JSON.stringify(body),
  });
}

const cookieOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((one) => one.split(";", 1)[0])
    .join("; ");

async function openLink(link: PersonLink): Promise<Browser> {
  const answer = await post("/api/v1/login", { token: tokenOf(link) });
  expect(await answer.json()).toEqual({ ok: true, person: true });
  return { cookie: cookieOf(answer) };
}

interface Answer<T> {
  result?: { data: T };
  error?: { message: string; data: { error: { code: string } } };
}

async function answerOf<T>(response: Response): Promise<T> {
  const { result, error } = (await response.json()) as Answer<T>;
  if (error !== undefined) throw Object.assign(new Error(error.message), error.data.error);
  return result!.data;
}

const query = async <T>({ cookie = "" }: Browser, path: string): Promise<T> =>
  answerOf(await fetch(`${origin}/api/trpc/${path}`, { headers: { cookie } }));
const mutate = async <T>(browser: Browser, path: string, input: unknown = {}): Promise<T> =>
  answerOf(await post(`/api/trpc/${path}`, input, browser));

const setRole = (id: string, role: Role | null, project_id: number | null = null) =>
  server.mutate("people.setRole", { id, project_id, role });

describe("a person who was invited", () => {
  it("signs in with the link, once, and has the role", async () => {
    const link = await invite("Ada");
    expect(link.person).toMatchObject({ name: "Ada", invited: true, last_login_at: null });
    const browser = await openLink(link);
    expect(await query<AccountView>(browser, "account")).toMatchObject({
      person: { id: link.person.id, name: "Ada", invited: true },
      role: "member",
    });
    expect((await post("/api/v1/login", { token: tokenOf(link) })).status).toBe(401);
    const { people } = await server.trpc<PersonList>("people.list", {});
    const ada = people.find(({ id }) => id === link.person.id);
    expect(ada).toMatchObject({ last_login_at: expect.any(String), link_expires_at: null });
  });

  it("can use only the newest link", async () => {
    const first = await invite("Bo");
    const second = await server.mutate<PersonLink>("people.makeLink", { id: first.person.id });
    expect((await post("/api/v1/login", { token: tokenOf(first) })).status).toBe(401);
    await openLink(second);
  });

  it("is one person, though two browsers open the link at the same time", async () => {
    const token = tokenOf(await invite("Cy"));
    const answers = await Promise.all(Array.from({ length: 8 }, () => post("/api/v1/login", { token })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it("has a role in one project alone, if the invitation says so", async () => {
    const { id } = await server.mutate<{ id: number }>("projects.create", { name: unique("only") });
    const browser = await openLink(await invite("Di", "editor", id));
    expect(await query<AccountView>(browser, "account")).toMatchObject({ role: "editor", everywhere: null });
    await expect(query(browser, "projects.list?input=%7B%7D&project=1")).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("may not invite others", async () => {
    const browser = await openLink(await invite("Ed", "editor"));
    const again = { name: "Flo", role: "admin", project_id: null };
    await expect(mutate(browser, "people.invite", again)).rejects.toMatchObject({ code: "forbidden_role" });
  });

  it("is named in the audit log, and the link is in it nowhere", async () => {
    const link = await invite("Grace");
    await openLink(link);
    const { items } = await server.trpc<AuditPage>("audit.list", { limit: 100 });
    expect(items.filter(({ actor }) => actor.name === "Grace")).toMatchObject([
      { action: "login", detail: "with a link", actor: { kind: "person" } },
    ]);
    expect(items.filter(({ target }) => target === "Grace")).toMatchObject([
      { action: "person_added", detail: "member in every project" },
    ]);
    expect(JSON.stringify(items)).not.toContain(tokenOf(link));
    expect(server.output()).not.toContain(tokenOf(link));
  });
});

describe("the passkey of a person who was invited", () => {
  async function addPasskey(browser: Browser): Promise<TestAuthenticator> {
    const authenticator = new TestAuthenticator();
    const options = await mutate<PublicKeyCredentialCreationOptionsJSON>(browser, "passkeys.begin");
    const credential = authenticator.create(options, { origin });
    await mutate(browser, "passkeys.add", { name: "laptop", credential });
    return authenticator;
  }

  async function signIn(authenticator: TestAuthenticator): Promise<Response> {
    const started = await post("/api/v1/sign-in/passkey/start", {});
    const options = (await started.json()) as PublicKeyCredentialRequestOptionsJSON;
    const credential = authenticator.get(options, { origin });
    return post("/api/v1/sign-in/passkey", { credential }, { cookie: cookieOf(started) });
  }

  const waysAt = async (url: string) =>
    (await (await fetch(`${url}/api/v1/sign-in`)).json()) as { passkeys: boolean };

  it("signs in another browser, and is offered where it works", async () => {
    const browser = await openLink(await invite("Hal"));
    const authenticator = await addPasskey(browser);
    expect(await waysAt(origin)).toMatchObject({ passkeys: true });
    expect(await waysAt(server.url)).toMatchObject({ passkeys: false });
    const answer = await signIn(authenticator);
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true, person: true }]);
    const other = { cookie: cookieOf(answer) };
    expect(await query<AccountView>(other, "account")).toMatchObject({ person: { name: "Hal" } });
    const { browsers } = await query<z.infer<typeof BrowserList>>(other, "browsers.list");
    expect(browsers.map(({ own, current }) => [own, current])).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  it("is in the audit log when it comes and goes", async () => {
    const browser = await openLink(await invite("Jo"));
    await addPasskey(browser);
    const { passkeys } = await query<{ passkeys: { id: string }[] }>(browser, "passkeys.list");
    await mutate(browser, "passkeys.remove", { id: passkeys[0]!.id });
    const { items } = await server.trpc<AuditPage>("audit.list", { topic: "people" });
    expect(items.slice(0, 2)).toMatchObject([
      { action: "passkey_removed", target: "laptop", actor: { kind: "person", name: "Jo" } },
      { action: "passkey_added", target: "laptop", actor: { kind: "person", name: "Jo" } },
    ]);
  });

  it("ends with the person", async () => {
    const link = await invite("Ida");
    const browser = await openLink(link);
    const authenticator = await addPasskey(browser);
    await server.mutate("people.remove", { id: link.person.id });
    await expect(query(browser, "account")).rejects.toMatchObject({ code: "unauthenticated" });
    expect((await signIn(authenticator)).status).toBe(401);
  });

  it("is asked for by this server's own page alone", async () => {
    for (const headers of [new Headers(), new Headers({ origin: "https://evil.example" })]) {
      const answer = await fetch(`${origin}/api/v1/sign-in/passkey/start`, { method: "POST", headers });
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
    }
  });
});

describe("the sessions of a person", () => {
  const rangeOf = () =>
    `from=${new Date(Date.now() - 3_600_000).toISOString()}&to=${new Date(Date.now() + 60_000).toISOString()}`;
  const personOf = async (session: string) => {
    const { body } = await server.get<SessionPage>(`/api/v1/sessions?${rangeOf()}&q=${session}`);
    return body.items.map(({ person }) => person);
  };
  async function keyOf(name: string): Promise<{ id: string; browser: Browser; secret: string }> {
    const link = await invite(name);
    const browser = await openLink(link);
    const key = await mutate<CreatedKey>(browser, "keys.create", { name: unique("key"), scopes: ["ingest"] });
    return { id: link.person.id, browser, secret: key.secret };
  }
  const send = async (key: string, events: object[]) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}`, prefer: "wait" };
    const { body } = await server.request<{ rejected: unknown[] }>("/api/v1/events", {
      ...{ method: "POST", headers, body: JSON.stringify(events) },
    });
    expect(body.rejected).toEqual([]);
  };

  it("belong to the owner of the key that sent them, and filter the list and the fleet", async () => {
    const [ada, bo] = [await keyOf("Ada"), await keyOf("Bo")];
    const [hers, his, nobodys] = [unique("hers"), unique("his"), unique("nobodys")];
    const at = Date.now();
    await send(ada.secret, [turn(hers, 1_000, { at }), turn(hers, 2_000, { at })]);
    await send(bo.secret, [{ ...turn(his, 1_000, { at }), person: ada.id }]);
    await send(await server.createKey("service", ["ingest"]), [turn(nobodys, 1_000, { at })]);
    expect([await personOf(hers), await personOf(his), await personOf(nobodys)]).toEqual([
      [ada.id],
      [bo.id],
      [null],
    ]);
    const { body } = await server.get<SessionPage>(`/api/v1/sessions?${rangeOf()}&person=${ada.id}`);
    expect(body.items.map(({ session }) => session)).toEqual([hers]);
    const fleet = await server.get<FleetView>(`/api/v1/fleet?person=${bo.id}`);
    expect(fleet.body.agents.map(({ session, person }) => [session, person])).toEqual([[his, bo.id]]);
  });

  it("are those of the person who went on with them", async () => {
    const [ada, bo] = [await keyOf("Ada"), await keyOf("Bo")];
    const session = unique("handed-over");
    const at = Date.now();
    await send(bo.secret, [turn(session, 2_000, { at })]);
    // Sent late, and older.
    await send(ada.secret, [turn(session, 1_000, { at: at - 60_000 })]);
    expect(await personOf(session)).toEqual([bo.id]);
    await send(await server.createKey("service", ["ingest"]), [turn(session, 3_000, { at: at + 1 })]);
    expect(await personOf(session)).toEqual([bo.id]);
  });

  it("come with the harness instance that says hello", async () => {
    const { id, secret } = await keyOf("Cy");
    const harness = `${unique("own")}@laptop`;
    await send(secret, [
      { id: unique("hello"), type: "harness", at: Date.now(), harness, status: "hello", name: "Own" },
    ]);
    const { body } = await server.get<HarnessList>("/api/v1/harnesses");
    expect(body.harnesses.find(({ instance }) => instance === harness)).toMatchObject({ person: id });
  });

  it("hide the names of a small group, where the project asks for it, but from nobody their own", async () => {
    const { id: project } = await server.mutate<{ id: number }>("projects.create", { name: unique("small") });
    const [ada] = [await invite("Ada", "member", project), await invite("Bo", "admin", project)];
    const browser = await openLink(ada);
    const seen = async () => {
      const { people } = await query<PersonNames>(browser, `people.names?input={}&project=${project}`);
      return people.some(({ id }) => id !== ada.person.id) ? "all" : people.map(({ name }) => name);
    };
    expect(await seen()).toBe("all");
    await server.mutate("projects.hideNames", { id: project, hidden: true });
    // People with a role everywhere belong to the project too.
    const { people } = await server.trpc<PersonList>("people.list", {});
    for (const { id, roles } of people) if (roles.everywhere !== null) await setRole(id, null);
    expect(await seen()).toEqual(["Ada"]);
    for (const name of ["Cy", "Di", "Ed"]) await invite(name, "viewer", project);
    expect(await seen()).toBe("all");
    await expect(
      mutate(browser, `projects.hideNames?project=${project}`, { id: project, hidden: false }),
    ).rejects.toMatchObject({ code: "forbidden_role" });
  });
});

describe("the keys of a person", () => {
  const make = (browser: Browser, more: object = {}) =>
    mutate<CreatedKey>(browser, "keys.create", { name: unique("key"), scopes: ["ingest"], ...more });
  const use = async (key: string, path = "/api/v1/ingest/received") => (await server.get(path, key)).status;

  it("are theirs, and they see no others", async () => {
    const [ada, bo] = [await openLink(await invite("Ada")), await openLink(await invite("Bo"))];
    const key = await make(ada);
    expect(key).toMatchObject({ person: "Ada", own: true });
    await make(bo);
    await server.mutate("keys.create", { name: "a service", scopes: ["read"] });
    const { keys } = await query<{ keys: KeyView[] }>(ada, "keys.list");
    expect(keys.map(({ id }) => id)).toEqual([key.id]);
    for (const change of ["keys.revoke", "keys.rotate"])
      await expect(mutate(bo, change, { id: key.id })).rejects.toMatchObject({ code: "not_found" });
    const all = await server.trpc<{ keys: KeyView[] }>("keys.list", {});
    expect(all.keys.find(({ id }) => id === key.id)).toMatchObject({ person: "Ada", own: false });
  });

  it("may do no more than their owner", async () => {
    const browser = await openLink(await invite("Cy"));
    for (const scope of ["admin", "policy:write", "alerts:write"])
      await expect(make(browser, { scopes: ["ingest", scope] })).rejects.toMatchObject({
        code: "forbidden_role",
      });
    await expect(make(browser, { service: true })).rejects.toMatchObject({ code: "forbidden_role" });
    const viewer = await openLink(await invite("Di", "viewer"));
    await expect(make(viewer)).rejects.toMatchObject({ code: "forbidden_role" });
  });

  it("follow the role of their owner at once, and come back with it", async () => {
    const link = await invite("Ed", "editor");
    const { secret } = await make(await openLink(link), { scopes: ["ingest", "read", "alerts:write"] });
    const { id } = link.person;
    expect(await use(secret)).toBe(200);
    await setRole(id, "viewer");
    const refused = await server.get<{ error: { message: string } }>("/api/v1/ingest/received", secret);
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      expect.stringContaining("The role of Ed in this project allows no more."),
    ]);
    expect(await use(secret, "/metrics")).toBe(200);
    await setRole(id, null);
    expect(await use(secret, "/metrics")).toBe(403);
    await setRole(id, "member");
    expect(await use(secret)).toBe(200);
  });

  it("end with their owner at once; a service's key that they made stays", async () => {
    const link = await invite("Flo", "admin");
    const browser = await openLink(link);
    const [own, service] = [await make(browser), await make(browser, { service: true })];
    expect([await use(own.secret), await use(service.secret)]).toEqual([200, 200]);
    expect(service).toMatchObject({ person: null, own: false });
    await server.mutate("people.remove", { id: link.person.id });
    expect([await use(own.secret), await use(service.secret)]).toEqual([401, 200]);
  });

  it("are rotated by their owner alone, and revoked by an administrator", async () => {
    const browser = await openLink(await invite("Gus"));
    const key = await make(browser);
    await expect(server.mutate("keys.rotate", { id: key.id })).rejects.toThrow("belongs to Gus");
    const { key: successor } = await mutate<{ key: CreatedKey }>(browser, "keys.rotate", { id: key.id });
    expect(successor).toMatchObject({ person: "Gus", own: true });
    expect(await use(successor.secret)).toBe(200);
    await server.mutate("keys.revoke", { id: successor.id });
    expect(await use(successor.secret)).toBe(401);
  });

  it("are those of a machine that they confirmed", async () => {
    const browser = await openLink(await invite("Hal"));
    const codes = await (await post("/api/v1/device/code", { machine: "laptop" })).json();
    const { device_code, user_code } = codes as { device_code: string; user_code: string };
    await mutate(browser, "machines.decide", { user_code, approve: true });
    const answer = await (await post("/api/v1/device/token", { device_code })).json();
    expect(answer).toMatchObject({ status: "approved" });
    const { keys } = await query<{ keys: KeyView[] }>(browser, "keys.list");
    expect(new Map(keys.map(({ name, own }) => [name, own]))).toEqual(
      new Map([
        ["laptop", true],
        ["laptop (harnesses)", true],
      ]),
    );
  });

  it("name their owner in the audit log", async () => {
    const browser = await openLink(await invite("Ida"));
    const key = await make(browser, { name: "notes", scopes: ["sessions:write"] });
    const saved = await server.request("/api/trpc/sessions.views.save", {
      method: "POST",
      headers: { authorization: `Bearer ${key.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ id: randomUUID(), name: "open ones", query: "", is_default: false }),
    });
    expect(saved.status, saved.text).toBe(200);
    const { items } = await server.trpc<AuditPage>("audit.list", { topic: "sessions" });
    expect(items[0]?.actor).toMatchObject({ kind: "key", name: "notes (Ida)" });
  });
});
