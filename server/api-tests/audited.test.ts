import type { AlertPage, AuditEntryView, AuditPage, MachineLoginCodes } from "@plimsoll/protocol/api";
import { DEMO_HARNESSES } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Sending } from "../testing/network.ts";
import { type PeopleServer, startPeopleServer } from "../testing/people-server.ts";
import { until } from "../testing/until.ts";
import { appRouter } from "../trpc/router.ts";
import { dayRange, turn } from "./support.ts";
import { post, type Side, startTwoProjects, type TwoProjects } from "./two-projects.ts";

/** Mutations that leave no entry, and why. */
const SILENT: Record<string, string> = {
  "machines.look": "changes nothing; it is no query because each call may be a guess",
  "replays.start": "works in memory, and nothing of it is kept",
  "replays.cancel": "works in memory, and nothing of it is kept",
  "alerts.backtest": "changes nothing; it is no query because its input is long",
};

/** For people who were invited: invited-people.test.ts calls them. */
const OF_INVITED = ["passkeys.begin", "passkeys.add", "passkeys.remove"];

let server: PeopleServer;
let projects: TwoProjects;
let side: Side;
let cookie: string;

beforeAll(async () => {
  projects = await startTwoProjects(async (env) => {
    const accounts = { ada: { name: "Ada" }, bob: { name: "Bob" } };
    server = await startPeopleServer({ accounts, over: "loopback", env });
    return server;
  });
  side = projects.a;
  cookie = await server.signIn("ada");
  await server.give("Ada", null, "admin");
  const demo = turn("demo", 1_000, { harness: DEMO_HARNESSES[0] });
  await server.request("/api/v1/events", {
    ...post([demo]),
    headers: { ...bearer(side.key.secret), "content-type": "application/json", prefer: "wait" },
  });
});
afterAll(() => projects?.stop());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const ask = (path: string, { headers, ...sending }: Sending = {}) =>
  server.ask(path, {
    ...sending,
    headers: { cookie, origin: server.url, "plimsoll-project": String(side.project.id), ...headers },
  });

/** The answer of a mutation that Ada calls. */
async function call(path: string, input: unknown): Promise<Answer> {
  const { status, text, json } = await ask(`/api/trpc/${path}`, { body: JSON.stringify(input) });
  expect(status, `${path} ${text}`).toBe(200);
  return (json as { result: { data: Answer } }).result.data;
}

/** What later calls need of the answers of earlier ones. */
interface Answer {
  id: string;
  key: { id: string };
  endpoint: { id: string; version: number };
  version: number;
}

const made: Record<string, Answer> = {};
const rule = (name: string) => ({ name, condition: { type: "window_suspect" } });
const bobs = async () =>
  (
    await server.trpc<{ browsers: { id: string; person: string | null }[] }>("browsers.list", {})
  ).browsers.find(({ person }) => person === "Bob")!.id;

/** Every other mutation, in an order in which each of them changes something. */
const CALLS: [path: string, action: string, input: (side: Side) => unknown][] = [
  ["keys.create", "key_created", () => ({ name: "audited", scopes: ["read"] })],
  ["keys.rotate", "key_rotated", () => ({ id: made["keys.create"]!.id })],
  ["keys.revoke", "key_revoked", () => ({ id: made["keys.rotate"]!.key.id })],
  ["windows.set", "window_set", () => ({ model: "audited", tokens: 1_000 })],
  ["windows.remove", "window_removed", () => ({ model: "audited" })],
  [
    "mappings.save",
    "mapping_saved",
    () => ({ version: 1, name: "audited", match: { otlp: { scope: "audited" } }, usage: { input: "$.n" } }),
  ],
  ["mappings.remove", "mapping_removed", () => ({ name: "audited" })],
  ["login.create", "login_link_made", () => ({})],
  ["projects.create", "project_created", () => ({ name: "audited" })],
  ["projects.rename", "project_renamed", () => ({ id: made["projects.create"]!.id, name: "renamed" })],
  ["projects.archive", "project_archived", () => ({ id: made["projects.create"]!.id })],
  ["projects.unarchive", "project_unarchived", () => ({ id: made["projects.create"]!.id })],
  ["projects.hideNames", "names_hidden", () => ({ id: made["projects.create"]!.id, hidden: true })],
  ["projects.hideNames", "names_shown", () => ({ id: made["projects.create"]!.id, hidden: false })],
  ["projects.delete", "project_deleted", () => ({ id: made["projects.create"]!.id, name: "renamed" })],
  [
    "sessions.tag",
    "session_tagged",
    ({ sessionId }) => ({ ids: [sessionId], tag: "audited", action: "add" }),
  ],
  [
    "sessions.tag",
    "session_untagged",
    ({ sessionId }) => ({ ids: [sessionId], tag: "audited", action: "remove" }),
  ],
  ["sessions.saveNote", "session_note_saved", ({ sessionId: id }) => ({ id, note: "audited", expected: 1 })],
  [
    "sessions.views.save",
    "session_view_saved",
    ({ viewId: id }) => ({ id, name: "audited", query: "", is_default: false }),
  ],
  ["sessions.views.remove", "session_view_deleted", ({ viewId: id }) => ({ id })],
  ["alerts.rules.create", "alert_rule_created", () => ({ rule: rule("audited") })],
  [
    "alerts.rules.save",
    "alert_rule_changed",
    () => ({ id: made["alerts.rules.create"]!.id, expected: 1, rule: rule("audited again") }),
  ],
  [
    "alerts.rules.switch",
    "alert_rule_changed",
    () => ({ id: made["alerts.rules.create"]!.id, expected: 2, enabled: false }),
  ],
  ["alerts.rules.remove", "alert_rule_deleted", () => ({ id: made["alerts.rules.create"]!.id })],
  ["alerts.rules.createPreset", "alert_rule_created", () => ({ preset: "thrash" })],
  [
    "alerts.rules.import",
    "alert_rule_created",
    () => ({ yaml: "rules:\n  - name: imported\n    condition: { type: window_suspect }\n" }),
  ],
  ["alerts.acknowledge", "alert_acknowledged", ({ alertId }) => ({ ids: [alertId] })],
  [
    "alerts.silences.create",
    "alert_silenced",
    () => ({
      matchers: [{ label: "agent", is: "x" }],
      comment: "audited",
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  ],
  ["alerts.silences.end", "alert_silence_ended", () => ({ id: made["alerts.silences.create"]!.id })],
  [
    "alerts.endpoints.create",
    "alert_endpoint_created",
    () => ({ name: "audited", target: { kind: "webhook", url: "http://127.0.0.1:9" } }),
  ],
  [
    "alerts.endpoints.save",
    "alert_endpoint_changed",
    () => ({ id: made["alerts.endpoints.create"]!.endpoint.id, expected: 1, name: "renamed" }),
  ],
  ...(["rotate", "pause", "resume"] as const).map(
    (what) =>
      [
        `alerts.endpoints.${what}`,
        "alert_endpoint_changed",
        () => ({ id: made["alerts.endpoints.create"]!.endpoint.id }),
      ] as [string, string, () => unknown],
  ),
  ["alerts.endpoints.test", "alert_endpoint_tested", ({ endpointId: id }) => ({ id })],
  [
    "alerts.deliveries.redeliver",
    "alert_redelivered",
    ({ endpointId: endpoint, deliveryId: id }) => ({ endpoint, id }),
  ],
  [
    "alerts.endpoints.remove",
    "alert_endpoint_deleted",
    () => ({ id: made["alerts.endpoints.create"]!.endpoint.id }),
  ],
  ["policies.changeRollout", "rollout_halted", () => ({ generation: 1, stage: 0, action: "halt" })],
  ["policies.save", "policy_saved", () => ({ policy: {}, expected: 1, reason: "audited" })],
  ["policies.rollback", "policy_rolled_back", () => ({ generation: 1, expected: 2, reason: "audited" })],
  ["spending.setBudget", "budget_set", () => ({ usd: 20 })],
  ["retention.set", "retention_set", () => ({ session_days: 100, rollup_days: 200 })],
  ["demo.start", "demo_started", () => ({ minutes: 1 })],
  ["demo.stop", "demo_stopped", () => ({})],
  ["demo.delete", "harnesses_deleted", () => ({})],
  ["sessions.delete", "sessions_deleted", ({ sessionId }) => ({ ids: [sessionId] })],
  ["sessions.undelete", "sessions_restored", ({ sessionId }) => ({ ids: [sessionId] })],
  ["harness.delete", "harnesses_deleted", () => ({ instances: ["in-a@host"] })],
  ["harness.undelete", "harnesses_restored", () => ({ instances: ["in-a@host"] })],
  ["machines.decide", "machine_approved", async () => ({ user_code: await waitingCode(), approve: true })],
  ["machines.decide", "machine_denied", async () => ({ user_code: await waitingCode(), approve: false })],
  ["people.invite", "person_added", () => ({ name: "Cleo", project_id: null, role: "viewer" })],
  ["people.makeLink", "person_link_made", async () => ({ id: await server.personId("Cleo") })],
  ["people.setRole", "role_set", async () => ({ id: await newBob(), project_id: null, role: "viewer" })],
  ["browsers.signOut", "browser_signed_out", async () => ({ id: await bobs() })],
  ["browsers.signOutOthers", "browser_signed_out", async () => (await newBob()) && {}],
  ["people.remove", "person_removed", async () => ({ id: await server.personId("Bob") })],
];

async function newBob(): Promise<string> {
  await server.signIn("bob");
  return server.personId("Bob");
}

async function waitingCode(): Promise<string> {
  const { body } = await server.request<MachineLoginCodes>("/api/v1/device/code", {
    ...post({ machine: "laptop" }),
    headers: { authorization: "", "content-type": "application/json" },
  });
  return body.user_code;
}

const known = new Set<string>();
/** Entries since the last call of this. */
async function newEntries(): Promise<AuditEntryView[]> {
  const { items } = await server.trpc<AuditPage>("audit.list", { limit: 200 });
  const fresh = items.filter(({ id }) => !known.has(id));
  for (const { id } of fresh) known.add(id);
  return fresh;
}

it("every mutation is called here, or leaves no entry for a reason", () => {
  const procedures = appRouter._def.procedures as unknown as Record<string, { _def: { type: string } }>;
  const mutations = Object.keys(procedures).filter((path) => procedures[path]!._def.type === "mutation");
  const called = new Set([...CALLS.map(([path]) => path), ...Object.keys(SILENT), ...OF_INVITED]);
  expect([...called].sort()).toEqual(mutations.sort());
});

it("every change leaves an entry that names the person and the project", async () => {
  const everywhere = /^(?:projects|people|browsers)\.|^login\./;
  for (const [path, action, input] of CALLS) {
    const sent = await input(side);
    await newEntries();
    made[path] = await call(path, sent);
    const entries = await newEntries();
    const entry = entries.find((one) => one.action === action);
    expect([path, entry?.actor], JSON.stringify(entries)).toEqual([
      path,
      { kind: "person", id: await server.personId("Ada"), name: "Ada", address: "127.0.0.1" },
    ]);
    if (!everywhere.test(path)) expect([path, entry!.project_id]).toEqual([path, side.project.id]);
  }
});

it("what people write names them, and what a key writes names the key", async () => {
  const query = async (path: string, input: unknown, headers: Record<string, string>) => {
    const asked = `/api/trpc/${path}?input=${encodeURIComponent(JSON.stringify(input))}`;
    const { json, text } = await server.ask(asked, { headers });
    const { result } = json as { result?: { data: Record<string, unknown> } };
    if (result === undefined) throw new Error(text);
    return result.data;
  };
  /** Who wrote the first thing in each list that has one of the author. */
  async function authors({ sessionId, endpointId, alertId }: Side, headers: Record<string, string>) {
    const first = async (path: string, list: string, pick: (one: Author & { id: string }) => boolean) =>
      ((await query(path, {}, headers))[list] as (Author & { id: string })[]).find(pick);
    const { note, tag_authors } = (await query("sessions.get", { id: sessionId }, headers)) as {
      note: { updated_by: string };
      tag_authors: Author[];
    };
    const all = () => true;
    const rows = {
      tag: tag_authors[0],
      view: await first("sessions.views.list", "views", all),
      endpoint: await first("alerts.endpoints.list", "endpoints", ({ id }) => id === endpointId),
      rule: await first("alerts.rules.list", "rules", ({ rule }) => /imported|rule-/.test(rule!.name)),
      silence: await first("alerts.silences.list", "silences", ({ comment }) =>
        /^audited|only-in-b/.test(comment!),
      ),
      policy: await first("policies.versions", "items", all),
    };
    const alert = await first("alerts.list", "items", ({ id }) => id === alertId);
    return {
      ...Object.fromEntries(
        Object.entries(rows).map(([what, row]) => [what, row && [row.actor, row.actor_name]]),
      ),
      note: note.updated_by,
      acknowledgement: alert?.acknowledged_by,
    };
  }
  interface Author {
    actor: string | null;
    actor_name: string | null;
    acknowledged_by?: string | null;
    comment?: string;
    rule?: { name: string };
  }
  const { sessionId, viewId, endpointId } = side;
  const own = { cookie, "plimsoll-project": String(side.project.id) };
  // The alert of before has ended if rules were evaluated while its session was deleted.
  let alertId: string | undefined;
  await until(async () => {
    const { items } = (await query("alerts.list", {}, own)) as unknown as AlertPage;
    alertId = items[0]?.id;
    return alertId !== undefined;
  });
  await call("alerts.acknowledge", { ids: [alertId] });
  await call("sessions.tag", { ids: [sessionId], tag: "a", action: "add" });
  await call("sessions.views.save", { id: viewId, name: "by Ada", query: "", is_default: false });
  await call("alerts.endpoints.pause", { id: endpointId });
  const byAda = ["person", "Ada"];
  expect(await authors({ ...side, alertId: alertId! }, own)).toEqual({
    ...{ tag: byAda, view: byAda, endpoint: byAda, rule: byAda, silence: byAda, policy: byAda },
    ...{ note: "Ada", acknowledgement: "Ada" },
  });
  const { b } = projects;
  const byKey = ["key", b.key.name];
  await server.request("/api/trpc/alerts.acknowledge", {
    ...post({ ids: [b.alertId] }),
    headers: { ...bearer(b.key.secret), "content-type": "application/json" },
  });
  expect(await authors(b, bearer(b.key.secret))).toEqual({
    ...{ tag: byKey, view: byKey, endpoint: byKey, rule: byKey, silence: byKey, policy: byKey },
    ...{ note: b.key.name, acknowledgement: b.key.name },
  });
});

it("calls that change nothing leave no entry", async () => {
  const candidate = { ...dayRange, candidate: {} };
  await newEntries();
  const { id } = await call("replays.start", candidate);
  await call("replays.cancel", { id });
  await call("alerts.backtest", {
    ...dayRange,
    rule: { name: "x", condition: { type: "tokens", at_least: 1 } },
  });
  await call("machines.look", { user_code: await waitingCode() });
  expect(await newEntries()).toEqual([]);
});

it("changes beside the procedures leave entries too", async () => {
  const body = JSON.stringify({ policy: {}, reason: "audited" });
  const key = await server.createKey("to end", ["read"]);
  await newEntries();
  const steps: [action: string, name: string, step: () => Promise<{ status: number }>][] = [
    [
      "policy_saved",
      "Ada",
      () => ask("/api/v1/policy", { method: "PUT", body, headers: { "if-match": '"3"' } }),
    ],
    ["backup_written", "Ada", () => ask("/api/v1/backup")],
    [
      "key_revoked",
      "to end",
      () => server.ask("/api/v1/device/revoke", { method: "POST", headers: bearer(key) }),
    ],
    ["logout", "Ada", () => ask("/api/v1/logout", { method: "POST" })],
  ];
  for (const [action, name, step] of steps) {
    expect([action, (await step()).status]).toEqual([action, 200]);
    const entries = await newEntries();
    expect(entries).toMatchObject([{ action, actor: { name } }]);
  }
  cookie = await server.signIn("ada");
  expect(await newEntries()).toMatchObject([{ action: "login", actor: { kind: "person", name: "Ada" } }]);
});

it("the whole log can be exported, with the names of people", async () => {
  const csv = await ask("/api/v1/audit.csv");
  expect(csv.headers["content-type"]).toBe("text/csv; charset=utf-8");
  const [head, ...lines] = csv.text.trimEnd().split("\r\n");
  expect(head).toBe(
    "at,action,actor_kind,actor_id,actor_name,address,project_id,project,target,detail,count,id",
  );
  const ndjson = await ask("/api/v1/audit.ndjson");
  expect(ndjson.headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
  const entries = ndjson.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEntryView);
  const newest = await server.trpc<AuditPage>("audit.list", { limit: 200 });
  expect(entries.slice(0, newest.items.length)).toEqual(newest.items);
  expect(lines).toHaveLength(entries.length);
  expect(lines.filter((line) => line.includes(",person,") && line.includes(",Ada,"))).toHaveLength(
    entries.filter(({ actor }) => actor.name === "Ada").length,
  );
  const demo = await ask("/api/v1/audit.csv?topic=demo");
  expect(
    demo.text
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(",")[1]),
  ).toEqual(["demo_stopped", "demo_started"]);
});

it("an export for one project has its entries alone, without addresses", async () => {
  for (const ending of ["csv", "ndjson"]) {
    const { status, text } = await server.get(`/api/v1/audit.${ending}`, projects.b.key.secret);
    expect(status).toBe(200);
    expect(text).toContain(projects.b.project.name);
    expect(text).not.toContain("127.0.0.1");
    expect(text).not.toContain(side.project.name);
    const { secret } = projects.b.key;
    const elsewhere = await server.request(`/api/v1/audit.${ending}`, {
      headers: { ...bearer(secret), "plimsoll-project": String(side.project.id) },
    });
    expect(elsewhere.status).toBe(403);
  }
});
