import { request } from "node:https";
import type {
  AccountView,
  AuditPage,
  BrowserList,
  BrowserView,
  PersonList,
  ProjectView,
  Role,
  SessionDetail,
  SessionPage,
} from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { canListen, type NetworkAnswer, type Sending } from "../../testing/network.ts";
import { cookieIn, type PeopleServer, startPeopleServer } from "../../testing/people-server.ts";
import { until } from "../../testing/until.ts";
import { dayRange, turn } from "../support.ts";
import { inProject, makeKeyIn, makeProject, post } from "../two-projects.ts";

const OTHERS = ["chief", "victim"];
const NAMES = [...ROLES, ...OTHERS];

let server: PeopleServer;
let own: ProjectView;
let foreign: ProjectView;
/** A session of the own project. */
let sessionId: string;
/** Of each person's browser. */
const cookies = new Map<string, string>();

beforeAll(async () => {
  if (!canListen) return;
  server = await startPeopleServer({
    accounts: Object.fromEntries(NAMES.map((name) => [name, { name, email: `${name}@example.com` }])),
    over: "network",
  });
  own = await makeProject(server, "own");
  foreign = await makeProject(server, "foreign");
  for (const name of NAMES) cookies.set(name, await server.signIn(name));
  for (const role of ROLES) await server.give(role, own.id, role);
  await server.give("chief", null, "admin");
  await server.give("victim", foreign.id, "admin");
  const { secret } = await makeKeyIn(server, own.id, ["ingest"]);
  await server.request("/api/v1/events", {
    ...post([turn("own session", 1_000)]),
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", prefer: "wait" },
  });
  const { body } = await server.request<SessionPage>(
    `/api/v1/sessions?from=${dayRange.from}&to=${dayRange.to}`,
    inProject(own.id),
  );
  sessionId = body.items[0]!.id;
});
afterAll(async () => {
  await server?.expectHealthy();
  await server?.stop();
});

/** A request of a page that a person has open. */
const ask = (name: string, path: string, { headers, ...sending }: Sending = {}) =>
  server.ask(path, {
    ...sending,
    headers: {
      cookie: cookies.get(name)!,
      origin: server.publicUrl,
      "sec-fetch-site": "same-origin",
      "plimsoll-project": String(own.id),
      ...headers,
    },
  });
const mutate = (name: string, procedure: string, input: unknown, headers: Record<string, string> = {}) =>
  ask(name, `/api/trpc/${procedure}`, { body: JSON.stringify(input), headers });

const dataOf = <T>({ json, text }: NetworkAnswer): T => {
  const { result } = json as { result?: { data: T } };
  if (result === undefined) throw new Error(text);
  return result.data;
};
function codeOf({ status, json }: NetworkAnswer): string | number {
  const { error } = (json ?? {}) as { error?: { code?: string; data?: { error: { code: string } } } };
  return error?.data?.error.code ?? error?.code ?? status;
}

/** Everybody's roles, as the server keeps them. */
const allRoles = async () => {
  const { people } = await server.trpc<z.infer<typeof PersonList>>("people.list", {});
  return people.map(({ name, roles }) => ({ name, roles }));
};
const allBrowsers = async () =>
  (await server.trpc<z.infer<typeof BrowserList>>("browsers.list", {})).browsers;

const attack = describe.skipIf(!canListen).each(ROLES);

attack("over the network, a %s who claims to be somebody else", (role) => {
  const CLAIMS: Record<string, string>[] = [
    ...["x-forwarded-user", "x-remote-user", "remote-user", "x-auth-request-user", "x-webauth-user"].map(
      (name) => ({ [name]: "chief" }),
    ),
    ...["x-auth-request-email", "x-forwarded-email", "from"].map((name) => ({ [name]: "chief@example.com" })),
    { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", forwarded: "for=127.0.0.1" },
    { "x-forwarded-groups": "admin", "x-forwarded-roles": "admin", "plimsoll-role": "admin" },
    { "x-http-method-override": "GET", "x-original-url": "/healthz", "x-rewrite-url": "/healthz" },
  ];

  it("in a header stays who they are", async () => {
    const account = dataOf<AccountView>(await ask(role, "/api/trpc/account"));
    expect(account).toMatchObject({ person: { name: role }, role, everywhere: null });
    for (const headers of CLAIMS) {
      const answer = await ask(role, "/api/trpc/account", { headers });
      expect(dataOf<AccountView>(answer), JSON.stringify(headers)).toEqual(account);
      for (const path of ["people.list", "login.create"]) {
        const refused = await mutate(role, path, {}, headers);
        expect([headers, refused.status], refused.text).not.toEqual([headers, 200]);
      }
      expect(codeOf(await ask(role, "/api/trpc/people.list", { headers }))).toBe("forbidden_role");
    }
  });

  it("with the local token, which counts on the server's machine alone, is refused", async () => {
    for (const authorization of [`Bearer ${server.token}`, `Plimsoll-Local ${"0".repeat(64)}`, "Basic Og=="])
      for (const more of [{}, { "x-forwarded-for": "127.0.0.1" }] as Record<string, string>[]) {
        const headers = { authorization, ...more };
        const { status } = await ask(role, "/api/trpc/people.list", { headers });
        expect([401, 429]).toContain(status);
      }
  });

  it("in a body or a query gains nothing", async () => {
    const before = await allRoles();
    const id = await server.personId(role);
    const claims = { role: "admin", roles: { everywhere: "admin" }, everywhere: "admin", person: "chief" };
    const more = {
      ...claims,
      project_id: null,
      projectId: foreign.id,
      project: foreign.name,
      scopes: ["admin"],
    };
    const bodies: [path: string, body: unknown][] = [
      ["people.setRole", { id, project_id: null, role: "admin" }],
      ["people.setRole", { id, project_id: own.id, role: "admin" }],
      ["people.setRole", { id, project_id: foreign.id, role: "admin" }],
      ["people.remove", { id: await server.personId("chief") }],
      ["login.create", more],
      ["projects.create", { name: `${role} made`, ...more }],
      ["projects.rename", { id: foreign.id, name: `taken by ${role}`, ...more }],
      ["projects.archive", { id: foreign.id, ...more }],
      ["projects.delete", { id: foreign.id, name: foreign.name, ...more }],
    ];
    for (const [path, body] of bodies) {
      const refused = ["forbidden_role", "not_found"];
      expect(refused, path).toContain(codeOf(await mutate(role, path, body)));
      const text = JSON.stringify(body).replace("{", `{"__proto__":${JSON.stringify(claims)},`);
      const polluting = await ask(role, `/api/trpc/${path}`, { body: text });
      expect(refused, path).toContain(codeOf(polluting));
      // Behind a call that is allowed, in one batch.
      const batch = JSON.stringify({ 0: { user_code: "BCDF-GHJK" }, 1: body });
      const { json } = await ask(role, `/api/trpc/browsers.signOutOthers,${path}?batch=1`, { body: batch });
      expect((json as { result?: unknown }[])[1]?.result, path).toBeUndefined();
    }
    const query = "role=admin&roles[everywhere]=admin&person=chief&__proto__[role]=admin&kind=local";
    expect(codeOf(await ask(role, `/api/trpc/people.list?${query}`))).toBe("forbidden_role");
    expect(
      codeOf(await ask(role, `/api/trpc/people.list?input=${encodeURIComponent(JSON.stringify(claims))}`)),
    ).toBe("forbidden_role");
    expect(codeOf(await ask(role, `/api/v1/backup?${query}`))).toBe("forbidden_role");
    expect(await allRoles()).toEqual(before);
  });

  it("in what they write is named as themselves", async () => {
    const actor = { kind: "person", id: "x", name: "chief" };
    const { note } = dataOf<SessionDetail>(
      await ask(
        role,
        `/api/trpc/sessions.get?input=${encodeURIComponent(JSON.stringify({ id: sessionId }))}`,
      ),
    );
    const call = { id: sessionId, note: `by ${role}`, expected: note.revision };
    const answer = await mutate(role, "sessions.saveNote", {
      ...call,
      actor,
      updated_by: "chief",
      person: actor,
    });
    if (role === "viewer") expect(codeOf(answer)).toBe("forbidden_role");
    else expect(dataOf<{ updated_by: string }>(answer).updated_by).toBe(role);
    const { items } = await server.trpc<AuditPage>("audit.list", { action: "session_note_saved", limit: 1 });
    if (role !== "viewer") expect(items[0]?.actor).toMatchObject({ kind: "person", name: role });
  });
});

attack("over the network, a cookie in the hands of a %s", (role) => {
  const account = (cookie: string) => server.ask("/api/trpc/account", { headers: { cookie } });
  const secretOf = (cookie: string) => cookie.slice(cookie.indexOf("=") + 1);
  const nameOf = (cookie: string) => cookie.slice(0, cookie.indexOf("="));

  it("that is forged or changed is nobody's", async () => {
    const cookie = cookies.get(role)!;
    const [name, value] = [nameOf(cookie), secretOf(cookie)];
    const flipped = (value[0] === "a" ? "b" : "a") + value.slice(1);
    for (const forged of [
      `${name}=${"a".repeat(43)}`,
      `${name}=${flipped}`,
      `${name}=${value.slice(0, -1)}`,
      `${name}=${value}a`,
      `${name}=${value.toUpperCase()}`,
      `${name}=${value}%00`,
      `${name}=' OR 1=1 --`,
      `${name}=${await server.personId("chief")}`,
      // Of a server on another port.
      `plimsoll_session=${value}`,
      `plimsoll_session_1=${value}`,
      `plimsoll_sign_in=${value}`,
    ])
      expect((await account(forged)).status, forged.replace(value, "VALUE")).toBe(401);
    expect((await account(cookie)).status).toBe(200);
  });

  it("beside another person's is one of the two, never a mix", async () => {
    const [mine, theirs] = [cookies.get(role)!, cookies.get("victim")!];
    for (const both of [`${mine}; ${theirs}`, `${theirs}; ${mine}`]) {
      const {
        person,
        role: has,
        everywhere,
      } = dataOf<AccountView>(
        await server.ask("/api/trpc/account", {
          headers: { cookie: both, "plimsoll-project": String(both.startsWith(mine) ? own.id : foreign.id) },
        }),
      );
      expect([person?.name, has, everywhere]).toEqual(
        both.startsWith(mine) ? [role, role, null] : ["victim", "admin", null],
      );
    }
  });

  it("is worthless after its sign-out, and the person's other browser stays", async () => {
    const second = await server.signIn(role);
    expect((await account(second)).status).toBe(200);
    const headers = { cookie: second, origin: server.publicUrl };
    expect((await server.ask("/api/v1/logout", { method: "POST", headers })).status).toBe(200);
    expect((await account(second)).status).toBe(401);
    expect((await account(cookies.get(role)!)).status).toBe(200);
  });

  it("is a new one after a sign-in, whatever the browser had before", async () => {
    const planted = `plimsoll_session_${server.port}=${"b".repeat(43)}`;
    const { binding, back } = await begin(role);
    const answer = await server.ask(back, { headers: { cookie: `${planted}; ${binding}` } });
    const session = cookieIn(answer.headers["set-cookie"], "plimsoll_session")!;
    expect(session).not.toBe(planted);
    expect((await account(planted)).status).toBe(401);
    expect(dataOf<AccountView>(await account(session)).person?.name).toBe(role);
  });

  it("neither ends nor spoils a sign-in that another browser began", async () => {
    const victims = await begin("victim");
    const mine = await begin(role);
    for (const cookie of [
      mine.binding,
      cookies.get(role)!,
      `plimsoll_sign_in=${secretOf(cookies.get(role)!)}`,
    ]) {
      const answer = await server.ask(victims.back, { headers: { cookie } });
      expect(answer.status).toBe(401);
      expect(cookieIn(answer.headers["set-cookie"], "plimsoll_session")).toBeUndefined();
    }
    // Nor keeps it from its own browser, which ends it once.
    const bring = () => server.ask(victims.back, { headers: { cookie: victims.binding } });
    const own = await bring();
    expect(cookieIn(own.headers["set-cookie"], "plimsoll_session")).toBeDefined();
    const again = await bring();
    expect(again.status).toBe(401);
    expect(cookieIn(again.headers["set-cookie"], "plimsoll_session")).toBeUndefined();
    // The code of one sign-in with the state of another.
    const [theirs, ours] = [await begin("victim"), await begin(role)];
    const mixed = new URL(ours.back, server.publicUrl);
    mixed.searchParams.set("code", new URL(theirs.back, server.publicUrl).searchParams.get("code")!);
    const answer = await server.ask(mixed.pathname + mixed.search, { headers: { cookie: ours.binding } });
    expect(answer.status).toBe(401);
    expect(cookieIn(answer.headers["set-cookie"], "plimsoll_session")).toBeUndefined();
  });

  it("sees and ends no other person's browser", async () => {
    const before = await allBrowsers();
    const others = before.filter(({ person }) => person !== role);
    const { browsers } = dataOf<{ browsers: BrowserView[] }>(await ask(role, "/api/trpc/browsers.list"));
    expect(new Set(browsers.map(({ person }) => person))).toEqual(new Set([role]));
    for (const { id } of others)
      expect(codeOf(await mutate(role, "browsers.signOut", { id }))).toBe("not_found");
    expect((await mutate(role, "browsers.signOutOthers", { person: "chief", personId: null })).status).toBe(
      200,
    );
    const left = await allBrowsers();
    expect(left.filter(({ person }) => person !== role)).toHaveLength(others.length);
    expect(left.filter(({ person }) => person === role)).toHaveLength(1);
  });
});

/** A sign-in up to the moment at which the provider sends the browser back. */
async function begin(login: string): Promise<{ binding: string; back: string }> {
  const started = await server.ask("/api/v1/sign-in/start");
  const binding = cookieIn(started.headers["set-cookie"], "plimsoll_sign_in")!;
  const { pathname, search } = await server.provider.signIn(started.headers.location!, login);
  return { binding, back: pathname + search };
}

attack("over the network, a page elsewhere that a %s has open", (role) => {
  const elsewhere = (): Record<string, string>[] => [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: server.publicUrl.replace("https:", "http:") },
    { origin: server.publicUrl.replace(/:\d+$/, ":1") },
    { origin: `${server.publicUrl}.evil.example` },
    { origin: server.publicUrl, "sec-fetch-site": "cross-site" },
    { origin: server.publicUrl, "sec-fetch-site": "same-site" },
  ];

  it("neither reads nor changes anything with their cookie", async () => {
    const second = await server.signIn(role);
    const cookie = cookies.get(role)!;
    for (const headers of elsewhere()) {
      const read = await server.ask("/api/trpc/account", { headers: { ...headers, cookie } });
      expect(codeOf(read), JSON.stringify(headers)).toBe("forbidden_scope");
      for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded"]) {
        const change = await server.ask("/api/trpc/browsers.signOutOthers", {
          headers: { ...headers, cookie, "content-type": type },
          body: "{}",
        });
        expect(change.status, `${JSON.stringify(headers)} ${type}`).toBe(403);
      }
      const live = await server.ask("/api/v1/live", { headers: { ...headers, cookie } });
      expect(live.status).toBe(403);
    }
    // A change needs to say where it comes from; typed into the address bar it cannot come.
    for (const headers of [{}, { "sec-fetch-site": "none" }] as Record<string, string>[]) {
      const change = await server.ask("/api/trpc/browsers.signOutOthers", {
        headers: { ...headers, cookie },
        body: "{}",
      });
      expect(change.status).toBe(403);
    }
    expect((await server.ask("/api/trpc/account", { headers: { cookie: second } })).status).toBe(200);
    expect((await mutate(role, "browsers.signOutOthers", {})).status).toBe(200);
    expect((await server.ask("/api/trpc/account", { headers: { cookie: second } })).status).toBe(401);
  });
});

/** The live stream of a person's page, which ends when the server ends it. */
function openLive(name: string): Promise<{ text(): string; ended(): boolean }> {
  const { hostname, port } = new URL(server.publicUrl);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ host: hostname, port, path: `/api/v1/live?project=${own.id}`, agent: false },
      headers: { cookie: cookies.get(name)!, "sec-fetch-site": "same-origin" },
      ca: server.certificate!.cert,
    });
    outgoing.on("error", reject).on("response", (incoming) => {
      let [text, ended] = ["", false];
      incoming.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      incoming.on("close", () => {
        ended = true;
      });
      if (incoming.statusCode === 200) resolve({ text: () => text, ended: () => ended });
      else reject(new Error(`live answered ${incoming.statusCode}`));
    });
    outgoing.end();
  });
}

describe.skipIf(!canListen)("over the network, a role that changes while a stream is open", () => {
  const change = (name: string, role: Role | null) => server.give(name, own.id, role);
  const save = (name: string) =>
    mutate(name, "alerts.rules.create", {
      rule: { name: "by the role", condition: { type: "window_suspect" } },
    });

  it.each(ROLES)("ends the stream of a %s who has no role any more, and no other one", async (role) => {
    const kept = ROLES.find((other) => other !== role)!;
    const [stream, other] = [await openLive(role), await openLive(kept)];
    await change(role, null);
    await until(() => stream.ended());
    expect(codeOf(await ask(role, "/api/v1/fleet"))).toBe("forbidden_role");
    await expect(openLive(role)).rejects.toThrow("403");
    expect(other.ended()).toBe(false);
    await change(role, role);
    expect((await ask(role, "/api/v1/fleet")).status).toBe(200);
  });

  it.each(ROLES)("of a %s counts for the next request, and the stream goes on", async (role) => {
    const stream = await openLive(role);
    await change(role, "viewer");
    expect(codeOf(await save(role))).toBe("forbidden_role");
    await change(role, "editor");
    // The rule exists after the first of the four.
    expect([200, "conflict", "invalid_field"]).toContain(codeOf(await save(role)));
    expect(stream.ended()).toBe(false);
    await change(role, role);
  });
});

it.skipIf(!canListen)("in the end everybody has the roles that they were given", async () => {
  for (const { name, roles } of await allRoles()) {
    const project = name === "victim" ? foreign : own;
    expect({ name, roles }).toEqual({
      name,
      roles:
        name === "chief"
          ? { everywhere: "admin", projects: [] }
          : {
              everywhere: null,
              projects: [{ project_id: project.id, role: name === "victim" ? "admin" : name }],
            },
    });
  }
  const { projects } = await server.trpc<{ projects: ProjectView[] }>("projects.list", {});
  expect(projects.map(({ name }) => name).sort()).toEqual(["default", "foreign", "own"]);
});
