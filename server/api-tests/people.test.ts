import type { AuditPage, CreatedKey, PersonList, ProjectList, Role } from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/api";
import type { OpenApiMeta } from "trpc-to-openapi";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { PERMISSIONS, type Permission } from "../tenants/people/permissions.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { freePort, startTestProvider, type TestProvider } from "../testing/test-provider.ts";
import { until } from "../testing/until.ts";
import { openApiDocument } from "../trpc/handlers.ts";
import { appRouter } from "../trpc/router.ts";
import { unique } from "./support.ts";

/** What each procedure needs, written down once more so that a change here is a decision. */
const NEEDS: Record<string, Permission> = Object.fromEntries(
  Object.entries({
    read: [
      "status fleet fleetPart series extent marks beforeAfter digest harnesses harnessLines breakdown rebuilds falls contents quality quota instance spending.days",
      "machines.list",
      "sessions.list sessions.count sessions.values sessions.get sessions.turns sessions.chart sessions.views.list",
      "policies.get policies.versions policies.version policies.harnesses policies.rejudging policies.rollout policies.effects",
      "replays.start replays.status replays.session replays.cancel mappings.list windows.list windows.unknown",
      "alerts.rules.list alerts.rules.get alerts.rules.export alerts.silences.list alerts.list alerts.timeline alerts.backtest",
      "alerts.endpoints.list alerts.endpoints.get alerts.deliveries.list alerts.deliveries.get",
      "people.names ingest.counts ingest.refusals ingest.unmapped",
    ],
    "see receipts": ["ingest.received"],
    "know oneself": ["account passkeys.list passkeys.begin passkeys.add passkeys.remove"],
    "use an account": ["browsers.list browsers.signOut browsers.signOutOthers"],
    "see projects": [
      "projects.list projects.rename projects.archive projects.unarchive projects.hideNames projects.delete",
    ],
    annotate: ["sessions.tag sessions.saveNote sessions.views.save sessions.views.remove"],
    silence: ["alerts.silences.create alerts.silences.end alerts.acknowledge"],
    "connect machines": ["machines.look machines.decide"],
    "use keys": ["keys.list keys.create keys.rotate keys.revoke"],
    "change policies": ["policies.save policies.rollback policies.changeRollout"],
    "change alerts": [
      "alerts.rules.create alerts.rules.createPreset alerts.rules.save alerts.rules.switch alerts.rules.remove",
      "alerts.rules.import alerts.endpoints.create alerts.endpoints.save alerts.endpoints.remove",
      "alerts.endpoints.rotate alerts.endpoints.pause alerts.endpoints.resume alerts.endpoints.test",
      "alerts.deliveries.redeliver spending.setBudget",
    ],
    "change mappings": ["mappings.save mappings.remove windows.set windows.remove"],
    delete: [
      "sessions.delete sessions.undelete harness.delete harness.count harness.undelete demo.delete",
      "retention.get retention.preview retention.set",
    ],
    administer: ["audit.list doctor demo.get demo.start demo.stop"],
    "create projects": ["projects.create"],
    "manage people": ["people.list people.invite people.makeLink people.setRole people.remove login.create"],
  }).flatMap(([permission, lists]) =>
    lists.flatMap((list) => list.split(" ").map((path) => [path, permission as Permission])),
  ),
);

/** Routes beside the procedures. */
const PLAIN_ROUTES: Record<string, Permission> = {
  "get /metrics": "read",
  "get /api/v1/sessions.csv": "read",
  "post /api/v1/sessions.csv": "read",
  "get /api/v1/sessions/{id}/turns.csv": "read",
  "get /api/v1/live": "read policies",
  "post /api/v1/mcp": "ask about oneself",
  "get /api/v1/policy": "read policies",
  "put /api/v1/policy": "change policies",
  "get /api/v1/audit.csv": "administer",
  "get /api/v1/audit.ndjson": "administer",
  "post /api/v1/events": "send or acknowledge",
  "post /otlp/v1/traces": "send",
  "post /otlp/v1/logs": "send",
  "post /otlp/v1/metrics": "send",
  "get /api/v1/backup": "back up",
  "post /api/v1/restore": "back up",
};

/** Routes that need no permission: they sign in or out, hand out codes, end the key that they are called with, or show health. */
const OPEN_ROUTES = [
  "post /api/v1/login",
  "post /api/v1/logout",
  "get /api/v1/sign-in",
  "get /api/v1/sign-in/start",
  "get /api/v1/sign-in/callback",
  "post /api/v1/sign-in/passkey",
  "post /api/v1/sign-in/passkey/start",
  "post /api/v1/device/code",
  "post /api/v1/device/token",
  "post /api/v1/device/revoke",
  "get /api/v1/local-proof",
  "get /healthz",
  "get /readyz",
];

interface Procedure {
  _def: { type: "query" | "mutation"; meta?: OpenApiMeta };
}
const procedures = appRouter._def.procedures as unknown as Record<string, Procedure>;

/** Procedures as routes of the REST API. */
const REST_ROUTES: Record<string, Permission> = Object.fromEntries(
  Object.entries(procedures).flatMap(([name, { _def }]) => {
    const rest = _def.meta?.openapi;
    return rest === undefined ? [] : [[`${rest.method.toLowerCase()} ${rest.path}`, NEEDS[name]!]];
  }),
);
const ROUTES = Object.entries({ ...PLAIN_ROUTES, ...REST_ROUTES });

let provider: TestProvider;
let server: TestServer;
const cookies = new Map<string, string>();
const billing = unique("billing");
const other = unique("other");

/** Signs in as a person with a browser does, and keeps the cookie. */
async function signIn(login: string): Promise<Response> {
  const started = await fetch(`${server.url}/api/v1/sign-in/start?next=/sessions`, { redirect: "manual" });
  const binding = started.headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const back = await provider.signIn(started.headers.get("location")!, login);
  const answer = await fetch(back, { headers: { cookie: binding }, redirect: "manual" });
  const session = answer.headers.getSetCookie().find((one) => one.startsWith("plimsoll_session"));
  if (session !== undefined) cookies.set(login, session.split(";", 1)[0]!);
  return answer;
}

interface Asking {
  as: string;
  project?: string;
  method?: string;
  body?: string;
}

/** A call of a page that the person has open. */
const ask = (path: string, { as, project, method = "GET", body }: Asking) =>
  fetch(server.url + path, {
    method,
    headers: {
      cookie: cookies.get(as)!,
      origin: server.url,
      "sec-fetch-site": "same-origin",
      "content-type": "application/json",
      ...(project !== undefined && { "plimsoll-project": project }),
    },
    ...(body !== undefined && { body }),
  });

async function codeOf(response: Response): Promise<string> {
  if (response.ok) {
    // A live stream has no end.
    await response.body?.cancel();
    return String(response.status);
  }
  const text = await response.text();
  if (!text.startsWith("{")) return String(response.status);
  const { error } = JSON.parse(text) as { error?: { code?: string; data?: { error: { code: string } } } };
  // OTLP has errors of its own shape.
  if (error === undefined) return response.status === 403 ? "forbidden_role" : "not_found";
  return String(error.data?.error.code ?? error.code);
}

/** No input of any procedure, so that a call that is let in changes nothing. */
const callOf = (path: string, asking: Asking) =>
  procedures[path]!._def.type === "query"
    ? ask(`/api/trpc/${path}?input=5`, asking)
    : ask(`/api/trpc/${path}`, { ...asking, method: "POST", body: "5" });

/** The same of a route. */
const callRoute = (route: string, asking: Asking) => {
  const [method = "", path = ""] = route.split(" ");
  const body = method === "get" ? {} : { body: "5" };
  return ask(path.replace(/\{\w+\}/g, "5"), { ...asking, method: method.toUpperCase(), ...body });
};

beforeAll(async () => {
  const port = await freePort();
  provider = await startTestProvider({
    accounts: Object.fromEntries(
      [...ROLES, "chief", "nobody"].map((name) => [name, { name: `${name} person`, groups: [name] }]),
    ),
    redirectUris: [`http://127.0.0.1:${port}/api/v1/sign-in/callback`],
  });
  server = await startTestServer({
    env: {
      ...provider.env,
      PORT: String(port),
      PLIMSOLL_OIDC_GROUPS: [...ROLES, "chief", "nobody"].join(","),
      PLIMSOLL_OIDC_ROLE: `contains(groups, 'chief') && 'admin' || contains(groups, 'nobody') && null || {"${billing}": groups[0]}`,
    },
  });
  for (const name of [billing, other]) await server.mutate("projects.create", { name });
  for (const login of [...ROLES, "chief", "nobody"]) await signIn(login);
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
});

describe("signing in with the identity provider", () => {
  it("keeps the person, with the roles of their groups, and opens the page that they asked for", async () => {
    const answer = await signIn("editor");
    expect(answer.status, await answer.clone().text()).toBe(200);
    expect(answer.headers.get("refresh")).toBe("0; url=/sessions");
    const { people, roles_from_provider } = await server.trpc<PersonList>("people.list", {});
    expect(roles_from_provider).toBe(true);
    const projects = await server.trpc<z.infer<typeof ProjectList>>("projects.list", {});
    const { id } = projects.projects.find(({ name }) => name === billing)!;
    expect(people.find(({ name }) => name === "editor person")).toMatchObject({
      roles: { everywhere: null, projects: [{ project_id: id, role: "editor" }] },
    });
    expect(people.filter(({ name }) => name === "editor person")).toHaveLength(1);
  });

  it("names the person in the audit log", async () => {
    const { items } = await server.trpc<AuditPage>("audit.list", { action: "login" });
    expect(items.map(({ actor }) => actor.name)).toContain("editor person");
    expect(items[0]!.actor).toMatchObject({ kind: "person", address: "127.0.0.1" });
  });

  it("refuses a code that was used, and one that another browser began, on a page that leads back", async () => {
    const started = await fetch(`${server.url}/api/v1/sign-in/start`, { redirect: "manual" });
    const binding = started.headers.getSetCookie()[0]!.split(";", 1)[0]!;
    const back = await provider.signIn(started.headers.get("location")!, "viewer");
    const foreign = await fetch(back);
    expect([foreign.status, foreign.headers.getSetCookie()]).toEqual([401, []]);
    expect(await foreign.text()).toContain("Back to the sign-in page");
    await fetch(back, { headers: { cookie: binding } });
    expect((await fetch(back, { headers: { cookie: binding } })).status).toBe(401);
  });

  it("answers with the headers that /openapi.json names", async () => {
    const { body } = await server.get<{
      paths: Record<string, { get: { responses: Record<string, { headers: Record<string, unknown> }> } }>;
    }>("/openapi.json");
    const named = (path: string, status: number) =>
      Object.keys(body.paths[path]!.get.responses[status]!.headers).sort();
    const has = (headers: Headers, names: string[]) => names.filter((name) => headers.has(name));
    const started = await fetch(`${server.url}/api/v1/sign-in/start`, { redirect: "manual" });
    const first = named("/api/v1/sign-in/start", started.status);
    expect(first).toEqual(["Location", "Set-Cookie"]);
    expect(has(started.headers, first)).toEqual(first);
    const answer = await signIn("viewer");
    const second = named("/api/v1/sign-in/callback", answer.status);
    expect(second).toEqual(["Refresh", "Set-Cookie"]);
    expect(has(answer.headers, second)).toEqual(second);
    expect(answer.headers.get("content-type")).toContain("text/html");
  });

  it("does not lead to another site afterwards", async () => {
    const started = await fetch(`${server.url}/api/v1/sign-in/start?next=//evil.example/x`, {
      redirect: "manual",
    });
    const binding = started.headers.getSetCookie()[0]!.split(";", 1)[0]!;
    const back = await provider.signIn(started.headers.get("location")!, "viewer");
    const answer = await fetch(back, { headers: { cookie: binding } });
    expect(answer.headers.get("refresh")).toBe("0; url=/");
  });
});

describe("the matrix of roles", () => {
  it("names a permission for every procedure", () => {
    expect(Object.keys(NEEDS).sort()).toEqual(Object.keys(appRouter._def.procedures).sort());
  });

  it("names a permission for every route that /openapi.json describes, or says why it needs none", () => {
    const described = Object.entries(openApiDocument("1", "http://127.0.0.1").paths ?? {}).flatMap(
      ([path, operations]) => Object.keys(operations as object).map((method) => `${method} ${path}`),
    );
    expect([...ROUTES.map(([route]) => route), ...OPEN_ROUTES].sort()).toEqual(described.sort());
  });

  const mayDo = (role: Role | null, permission: Permission) => {
    const needs = PERMISSIONS[permission];
    if (needs.role === null) return true;
    return needs.in === "project" && role !== null && ROLES.indexOf(role) >= ROLES.indexOf(needs.role);
  };

  it.each(ROLES)("lets a %s do in the project what the table says, and nothing else", async (role) => {
    const wrong: string[] = [];
    for (const [path, permission] of Object.entries(NEEDS)) {
      const code = await codeOf(await callOf(path, { as: role, project: billing }));
      const isRefused = code === "forbidden_role";
      if (isRefused === mayDo(role, permission)) wrong.push(`${path}: ${code}`);
    }
    for (const [route, permission] of ROUTES) {
      const code = await codeOf(await callRoute(route, { as: role, project: billing }));
      if ((code === "forbidden_role") === mayDo(role, permission)) wrong.push(`${route}: ${code}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each(ROLES)("shows a %s no project in which they have no role", async (role) => {
    for (const path of Object.keys(NEEDS))
      expect([path, await codeOf(await callOf(path, { as: role, project: other }))]).toEqual([
        path,
        "not_found",
      ]);
    for (const [route] of ROUTES) {
      const response = await callRoute(route, { as: role, project: other });
      expect([route, await codeOf(response)]).toEqual([route, "not_found"]);
    }
    const list = await ask("/api/trpc/projects.list?input={}", { as: role });
    expect(await list.text()).not.toContain(other);
  });

  it("lets an admin of every project do everything in each", async () => {
    for (const path of Object.keys(NEEDS)) {
      const code = await codeOf(await callOf(path, { as: "chief", project: other }));
      expect([path, code]).not.toEqual([path, "forbidden_role"]);
      expect([path, code]).not.toEqual([path, "not_found"]);
    }
  });

  it("lets an admin of one project change no other by its id", async () => {
    const { projects } = await server.trpc<z.infer<typeof ProjectList>>("projects.list", {});
    const foreign = projects.find(({ name }) => name === other)!;
    const body = JSON.stringify({ id: foreign.id, name: "taken" });
    const rename = await ask("/api/trpc/projects.rename", { as: "admin", method: "POST", body });
    expect(await codeOf(rename)).toBe("not_found");
    const own = projects.find(({ name }) => name === billing)!;
    const archive = await ask("/api/trpc/projects.archive", {
      as: "editor",
      method: "POST",
      body: JSON.stringify({ id: own.id }),
    });
    expect(await codeOf(archive)).toBe("forbidden_role");
  });

  it("says to somebody without a role whom to ask", async () => {
    const account = await ask("/api/trpc/account", { as: "nobody" });
    expect(await account.json()).toMatchObject({
      result: { data: { role: null, everywhere: null, admins: ["chief person"] } },
    });
    expect(await codeOf(await ask("/api/trpc/fleet", { as: "nobody" }))).toBe("forbidden_role");
  });

  it("does not reveal projects to a person without a role", async () => {
    const answers = (project: string) =>
      Promise.all([
        ...Object.keys(NEEDS).map(async (path) => [
          path,
          await codeOf(await callOf(path, { as: "nobody", project })),
        ]),
        ...ROUTES.map(async ([route]) => [
          route,
          await codeOf(await callRoute(route, { as: "nobody", project })),
        ]),
      ]);
    const missing = await answers("there is no such project");
    expect(new Set(missing.map(([, code]) => code))).toContain("forbidden_role");
    expect(new Set(missing.map(([, code]) => code))).not.toContain("not_found");
    for (const project of [billing, other]) expect(await answers(project)).toEqual(missing);
  });

  it("shows a person their own browsers alone", async () => {
    const list = await ask("/api/trpc/browsers.list", { as: "member", project: billing });
    const { result } = (await list.json()) as { result: { data: { browsers: { person: string }[] } } };
    expect(result.data.browsers.map(({ person }) => person)).toEqual(["member person"]);
    const all = await ask("/api/trpc/browsers.list", { as: "chief" });
    expect(await all.text()).toContain("member person");
  });
});

describe("a person whose group is taken away", () => {
  it("loses access within a minute, on the page that is open too", async () => {
    expect((await ask("/api/trpc/account", { as: "member", project: billing })).status).toBe(200);
    const made = await ask("/api/trpc/keys.create", {
      ...{ as: "member", project: billing, method: "POST" },
      body: JSON.stringify({ name: "laptop", scopes: ["read"] }),
    });
    const { result } = (await made.json()) as { result: { data: CreatedKey } };
    const withKey = async () => (await server.get("/api/v1/extent", result.data.secret)).status;
    expect(await withKey()).toBe(200);
    const stream = await ask("/api/v1/live", { as: "member", project: billing });
    expect(stream.status).toBe(200);
    const from = Date.now();
    provider.setGroups("member", []);
    await until(
      async () => (await ask("/api/trpc/account", { as: "member", project: billing })).status === 401,
      60_000,
    );
    // The stream ends by itself.
    await stream.text();
    expect(Date.now() - from).toBeLessThan(75_000);
    expect(await withKey()).toBe(403);
    // A sign-in that is refused gives nothing back, and one that is not gives all of it.
    expect((await signIn("member")).status).toBe(403);
    expect(await withKey()).toBe(403);
    provider.setGroups("member", ["member"]);
    expect((await signIn("member")).status).toBe(200);
    expect(await withKey()).toBe(200);
  });

  it("loses what their keys may do at a sign-in that is refused, without an open session", async () => {
    const made = await ask("/api/trpc/keys.create", {
      ...{ as: "editor", project: billing, method: "POST" },
      body: JSON.stringify({ name: "laptop", scopes: ["read"] }),
    });
    const { result } = (await made.json()) as { result: { data: CreatedKey } };
    await server.request("/api/v1/logout", {
      method: "POST",
      headers: { authorization: "", cookie: cookies.get("editor")! },
    });
    provider.setGroups("editor", []);
    expect((await server.get("/api/v1/extent", result.data.secret)).status).toBe(200);
    expect((await signIn("editor")).status).toBe(403);
    expect((await server.get("/api/v1/extent", result.data.secret)).status).toBe(403);
  });

  it("is out at once when an admin removes them", async () => {
    const { people } = await server.trpc<PersonList>("people.list", {});
    const { id } = people.find(({ name }) => name === "viewer person")!;
    await server.mutate("people.remove", { id });
    expect((await ask("/api/trpc/fleet", { as: "viewer", project: billing })).status).toBe(401);
  });
});
