import type { AuditPage, PersonList, ProjectList, Role } from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { PERMISSIONS, type Permission } from "../tenants/people/permissions.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { freePort, startTestProvider, type TestProvider } from "../testing/test-provider.ts";
import { until } from "../testing/until.ts";
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

/** Routes outside tRPC, each with its least role. */
const ROUTES: [method: string, path: string, permission: Permission][] = [
  ["GET", "/metrics", "read"],
  ["GET", "/api/v1/fleet", "read"],
  ["GET", "/api/v1/sessions.csv", "read"],
  ["POST", "/api/v1/mcp", "ask about oneself"],
  ["GET", "/api/v1/policy", "read policies"],
  ["PUT", "/api/v1/policy", "change policies"],
  ["GET", "/api/v1/audit", "administer"],
  ["GET", "/api/v1/audit.csv", "administer"],
  ["GET", "/api/v1/audit.ndjson", "administer"],
  ["POST", "/api/v1/events", "send or acknowledge"],
  ["POST", "/otlp/v1/logs", "send"],
  ["GET", "/api/v1/backup", "back up"],
];

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
  const text = await response.text();
  if (response.ok || !text.startsWith("{")) return String(response.status);
  const { error } = JSON.parse(text) as { error?: { code?: string; data?: { error: { code: string } } } };
  // OTLP has errors of its own shape.
  if (error === undefined) return response.status === 403 ? "forbidden_role" : "not_found";
  return String(error.data?.error.code ?? error.code);
}

/** No input of any procedure, so that a call that is let in changes nothing. */
const callOf = (path: string, asking: Asking) => {
  const procedures = appRouter._def.procedures as unknown as Record<string, { _def: { type: string } }>;
  const { type } = procedures[path]!._def;
  return type === "query"
    ? ask(`/api/trpc/${path}?input=5`, asking)
    : ask(`/api/trpc/${path}`, { ...asking, method: "POST", body: "5" });
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
    for (const [method, path, permission] of ROUTES) {
      const body = method === "GET" ? undefined : "5";
      const response = await ask(path, { as: role, project: billing, method, ...(body && { body }) });
      const code = await codeOf(response);
      if ((code === "forbidden_role") === mayDo(role, permission)) wrong.push(`${method} ${path}: ${code}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each(ROLES)("shows a %s no project in which they have no role", async (role) => {
    for (const path of Object.keys(NEEDS))
      expect([path, await codeOf(await callOf(path, { as: role, project: other }))]).toEqual([
        path,
        "not_found",
      ]);
    for (const [method, path] of ROUTES) {
      const body = method === "GET" ? undefined : "5";
      const response = await ask(path, { as: role, project: other, method, ...(body && { body }) });
      expect([path, await codeOf(response)]).toEqual([path, "not_found"]);
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
  }, 100_000);

  it("is out at once when an admin removes them", async () => {
    const { people } = await server.trpc<PersonList>("people.list", {});
    const { id } = people.find(({ name }) => name === "viewer person")!;
    await server.mutate("people.remove", { id });
    expect((await ask("/api/trpc/fleet", { as: "viewer", project: billing })).status).toBe(401);
  });
});
