import { randomUUID } from "node:crypto";
import type {
  DoctorReport,
  KeyView,
  ProjectView,
  Role,
  SavedMappingList,
  SavedSessionViewList,
  SessionPage,
} from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canListen } from "../testing/network.ts";
import { type PeopleServer, startPeopleServer } from "../testing/people-server.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { appRouter } from "../trpc/router.ts";
import { openLive } from "./live-client.ts";
import { dayRange, rangeQuery, turn, unique } from "./support.ts";
import {
  ask,
  call,
  MARKER,
  type ProcedureKind,
  post,
  refusal,
  type Side,
  startTwoProjects,
  type TwoProjects,
  withKey,
} from "./two-projects.ts";

let projects: TwoProjects;
let server: TestServer;
let a: Side;
let b: Side;
/** The same server, over the network; undefined on a machine without an address besides loopback. */
let people: PeopleServer | undefined;
/** Of people with a role in project A. */
const cookies = new Map<Role, string>();

beforeAll(async () => {
  projects = await startTwoProjects(async (env) => {
    if (!canListen) return startTestServer({ env });
    const accounts = Object.fromEntries(ROLES.map((role) => [role, { name: role }]));
    people = await startPeopleServer({ accounts, over: "network", env });
    return people;
  });
  ({ server, a, b } = projects);
  for (const role of people === undefined ? [] : ROLES) {
    cookies.set(role, await people!.signIn(role));
    await people!.give(role, a.project.id, role);
  }
});
afterAll(() => projects?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

function expectNothingOfB(text: string, what: string): void {
  for (const trace of [MARKER, b.sessionId, b.agentId, b.ruleId, b.key.id, b.key.prefix])
    expect(text, what).not.toContain(trace);
}

interface Row {
  kind: ProcedureKind;
  input?: (side: Side) => unknown;
  /** Whether the answer to B's own key holds something of B: else the row proves nothing. */
  shows: boolean;
  /** Status of the same call about B with a key of A; absent where the input names nothing of B. */
  foreign?: number;
  /** Refused to every key, whatever its scopes. */
  persons?: boolean;
}

const harnessOf = ({ project }: Side): string => `${project.name.replace("project-", "")}@host`;

/** Every procedure there is. */
const PROCEDURES: Record<string, Row> = {
  status: { kind: "query", input: () => dayRange, shows: true },
  fleet: { kind: "query", shows: true },
  fleetPart: {
    kind: "query",
    input: ({ sessionId }) => ({ sessions: [sessionId] }),
    shows: true,
    foreign: 200,
  },
  series: {
    kind: "query",
    input: () => ({ ...dayRange, metric: "turns", group_by: "harness" }),
    shows: true,
  },
  extent: { kind: "query", shows: false },
  marks: { kind: "query", input: () => dayRange, shows: false },
  beforeAfter: { kind: "query", input: () => ({ ...dayRange, at: dayRange.from }), shows: false },
  digest: { kind: "query", input: () => dayRange, shows: true },
  breakdown: { kind: "query", input: () => ({ ...dayRange, by: "restarts" }), shows: true },
  rebuilds: { kind: "query", input: () => dayRange, shows: true },
  falls: { kind: "query", input: () => dayRange, shows: true },
  contents: { kind: "query", input: () => dayRange, shows: true },
  quality: { kind: "query", input: () => dayRange, shows: true },
  quota: { kind: "query", shows: true },
  "spending.days": { kind: "query", input: () => dayRange, shows: false },
  "spending.setBudget": { kind: "mutation", input: () => ({ usd: 5 }), shows: false },
  harnesses: { kind: "query", shows: true },
  harnessLines: { kind: "query", shows: true },
  "machines.list": { kind: "query", shows: true },
  "sessions.list": { kind: "query", input: () => dayRange, shows: true },
  "sessions.count": { kind: "query", input: () => dayRange, shows: false },
  "sessions.values": { kind: "query", shows: true },
  "sessions.tag": {
    kind: "mutation",
    input: ({ sessionId }) => ({ ids: [sessionId], tag: "another", action: "add" }),
    shows: false,
    foreign: 200,
  },
  "sessions.saveNote": {
    kind: "mutation",
    input: ({ sessionId: id }) => ({ id, note: "another", expected: 1 }),
    shows: false,
    foreign: 404,
  },
  "sessions.views.list": { kind: "query", shows: true },
  "sessions.views.save": {
    kind: "mutation",
    input: ({ viewId: id }) => ({ id, name: "another", query: "", is_default: false }),
    shows: false,
  },
  "sessions.views.remove": {
    kind: "mutation",
    input: ({ viewId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "sessions.get": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "sessions.turns": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "sessions.chart": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "sessions.delete": {
    kind: "mutation",
    input: ({ sessionId }) => ({ ids: [sessionId] }),
    shows: false,
    foreign: 200,
  },
  "sessions.undelete": {
    kind: "mutation",
    input: ({ sessionId }) => ({ ids: [sessionId] }),
    shows: false,
    foreign: 200,
  },
  "harness.count": {
    kind: "query",
    input: (side) => ({ instances: [harnessOf(side)] }),
    shows: false,
    foreign: 200,
  },
  "harness.delete": {
    kind: "mutation",
    input: (side) => ({ instances: [harnessOf(side)] }),
    shows: false,
    foreign: 200,
  },
  "harness.undelete": {
    kind: "mutation",
    input: (side) => ({ instances: [harnessOf(side)] }),
    shows: false,
    foreign: 200,
  },
  "demo.delete": { kind: "mutation", shows: false },
  "retention.get": { kind: "query", shows: false },
  "retention.preview": { kind: "query", input: () => ({ session_days: 1 }), shows: false },
  "retention.set": {
    kind: "mutation",
    input: () => ({ session_days: 1, rollup_days: 1 }),
    shows: false,
  },
  "keys.list": { kind: "query", shows: true },
  "keys.create": { kind: "mutation", input: () => ({ name: "another", scopes: ["read"] }), shows: false },
  "keys.rotate": { kind: "mutation", input: ({ key }) => ({ id: key.id }), shows: true, foreign: 404 },
  "keys.revoke": { kind: "mutation", input: ({ key }) => ({ id: key.id }), shows: true, foreign: 404 },
  "windows.list": { kind: "query", shows: true },
  "windows.unknown": { kind: "query", input: () => dayRange, shows: false },
  "windows.set": { kind: "mutation", input: () => ({ model: "other", tokens: 1_000 }), shows: false },
  "windows.remove": {
    kind: "mutation",
    input: ({ project }) => ({ model: project.name.replace("project", "model") }),
    shows: false,
    foreign: 200,
  },
  "mappings.list": { kind: "query", shows: true },
  "mappings.save": {
    kind: "mutation",
    input: () => ({
      version: 1,
      name: "other",
      match: { otlp: { scope: "other" } },
      usage: { input: "$.n" },
    }),
    shows: false,
  },
  "mappings.remove": {
    kind: "mutation",
    input: ({ project }) => ({ name: project.name.replace("project", "mapping") }),
    shows: false,
    foreign: 404,
  },
  "ingest.counts": { kind: "query", input: () => dayRange, shows: false },
  "ingest.received": { kind: "query", shows: false },
  "ingest.refusals": { kind: "query", shows: false },
  "ingest.unmapped": { kind: "query", shows: false },
  doctor: { kind: "query", shows: false },
  instance: { kind: "query", shows: false },
  "demo.get": { kind: "query", shows: false },
  "demo.start": { kind: "mutation", shows: false },
  "demo.stop": { kind: "mutation", shows: false },
  "login.create": { kind: "mutation", shows: false },
  account: { kind: "query", shows: false, persons: true },
  "people.list": { kind: "query", shows: false, persons: true },
  "people.setRole": {
    kind: "mutation",
    input: () => ({ id: randomUUID(), project_id: null, role: "admin" }),
    shows: false,
    persons: true,
  },
  "people.remove": { kind: "mutation", input: () => ({ id: randomUUID() }), shows: false, persons: true },
  "people.names": { kind: "query", shows: false },
  "people.invite": {
    kind: "mutation",
    input: () => ({ name: "Ada", project_id: null, role: "admin" }),
    shows: false,
    persons: true,
  },
  "people.makeLink": { kind: "mutation", input: () => ({ id: randomUUID() }), shows: false, persons: true },
  "passkeys.list": { kind: "query", shows: false, persons: true },
  "passkeys.begin": { kind: "mutation", shows: false, persons: true },
  "passkeys.add": {
    kind: "mutation",
    input: () => ({
      name: "laptop",
      credential: {
        id: "a",
        rawId: "a",
        type: "public-key",
        response: { clientDataJSON: "e30", attestationObject: "oA" },
        clientExtensionResults: {},
      },
    }),
    shows: false,
    persons: true,
  },
  "passkeys.remove": { kind: "mutation", input: () => ({ id: "a" }), shows: false, persons: true },
  "browsers.list": { kind: "query", shows: false, persons: true },
  "browsers.signOut": { kind: "mutation", input: () => ({ id: randomUUID() }), shows: false, persons: true },
  "browsers.signOutOthers": { kind: "mutation", shows: false, persons: true },
  "machines.look": {
    kind: "mutation",
    input: () => ({ user_code: "BCDF-GHJK" }),
    shows: false,
    persons: true,
  },
  "machines.decide": {
    kind: "mutation",
    input: () => ({ user_code: "BCDF-GHJK", approve: true }),
    shows: false,
    persons: true,
  },
  "audit.list": { kind: "query", shows: true },
  "policies.get": { kind: "query", shows: true },
  "policies.versions": { kind: "query", shows: true },
  "policies.version": { kind: "query", input: () => ({ generation: 1 }), shows: true },
  "policies.harnesses": { kind: "query", shows: true },
  "policies.rollout": { kind: "query", shows: true },
  "policies.effects": { kind: "query", shows: false },
  "policies.rejudging": { kind: "query", shows: false },
  "policies.changeRollout": {
    kind: "mutation",
    input: () => ({ generation: 1, stage: 0, action: "halt" }),
    shows: false,
  },
  "policies.save": {
    kind: "mutation",
    input: () => ({ policy: {}, expected: 1, reason: "another" }),
    shows: false,
  },
  "policies.rollback": {
    kind: "mutation",
    input: () => ({ generation: 1, expected: 1, reason: "another" }),
    shows: false,
  },
  "replays.start": { kind: "mutation", input: () => ({ ...dayRange, candidate: {} }), shows: false },
  "replays.status": { kind: "query", input: ({ replayId: id }) => ({ id }), shows: true, foreign: 404 },
  "replays.session": {
    kind: "query",
    input: ({ replayId: id, sessionId: session }) => ({ id, session }),
    shows: true,
    foreign: 404,
  },
  "replays.cancel": {
    kind: "mutation",
    input: ({ replayId: id }) => ({ id }),
    shows: true,
    foreign: 404,
  },
  "alerts.list": { kind: "query", shows: true },
  "alerts.timeline": { kind: "query", shows: true },
  "alerts.acknowledge": {
    kind: "mutation",
    input: ({ alertId }) => ({ ids: [alertId] }),
    shows: false,
    foreign: 200,
  },
  "alerts.backtest": {
    kind: "mutation",
    input: () => ({ ...dayRange, rule: { name: "x", condition: { type: "tokens", at_least: 1 } } }),
    shows: false,
  },
  "alerts.rules.list": { kind: "query", shows: true },
  "alerts.rules.get": { kind: "query", input: ({ ruleId: id }) => ({ id }), shows: true, foreign: 404 },
  "alerts.rules.create": {
    kind: "mutation",
    input: () => ({ rule: { name: "another", condition: { type: "window_suspect" } } }),
    shows: false,
  },
  "alerts.rules.createPreset": { kind: "mutation", input: () => ({ preset: "thrash" }), shows: false },
  "alerts.rules.save": {
    kind: "mutation",
    input: ({ ruleId: id }) => ({
      id,
      expected: 1,
      rule: { name: "another", condition: { type: "window_suspect" } },
    }),
    shows: false,
    foreign: 404,
  },
  "alerts.rules.switch": {
    kind: "mutation",
    input: ({ ruleId: id }) => ({ id, expected: 1, enabled: false }),
    shows: false,
    foreign: 404,
  },
  "alerts.rules.remove": {
    kind: "mutation",
    input: ({ ruleId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.rules.export": { kind: "query", shows: true },
  "alerts.rules.import": { kind: "mutation", input: () => ({ yaml: "rules: []" }), shows: false },
  "alerts.silences.list": { kind: "query", shows: true },
  "alerts.silences.create": {
    kind: "mutation",
    input: () => ({
      matchers: [{ label: "agent", is: "x" }],
      comment: "another",
      ends_at: new Date(Date.now() + 60_000).toISOString(),
    }),
    shows: false,
  },
  "alerts.silences.end": {
    kind: "mutation",
    input: ({ silenceId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.list": { kind: "query", shows: true },
  "alerts.endpoints.get": {
    kind: "query",
    input: ({ endpointId: id }) => ({ id }),
    shows: true,
    foreign: 404,
  },
  "alerts.endpoints.create": {
    kind: "mutation",
    input: () => ({ name: unique("endpoint"), target: { kind: "webhook", url: "https://example.com" } }),
    shows: false,
  },
  "alerts.endpoints.save": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id, expected: 1, name: "another" }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.rotate": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.pause": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.resume": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.test": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.endpoints.remove": {
    kind: "mutation",
    input: ({ endpointId: id }) => ({ id }),
    shows: false,
    foreign: 404,
  },
  "alerts.deliveries.list": { kind: "query", shows: true },
  "alerts.deliveries.get": {
    kind: "query",
    input: ({ endpointId: endpoint, deliveryId: id }) => ({ endpoint, id }),
    shows: true,
    foreign: 404,
  },
  "alerts.deliveries.redeliver": {
    kind: "mutation",
    input: ({ endpointId: endpoint, deliveryId: id }) => ({ endpoint, id }),
    shows: false,
    foreign: 404,
  },
  "projects.list": { kind: "query", shows: true },
  "projects.create": { kind: "mutation", input: () => ({ name: unique("made") }), shows: false },
  "projects.rename": {
    kind: "mutation",
    input: ({ project }) => ({ id: project.id, name: "x" }),
    shows: true,
    foreign: 404,
  },
  "projects.archive": {
    kind: "mutation",
    input: ({ project }) => ({ id: project.id }),
    shows: true,
    foreign: 404,
  },
  "projects.unarchive": {
    kind: "mutation",
    input: ({ project }) => ({ id: project.id }),
    shows: true,
    foreign: 404,
  },
  "projects.hideNames": {
    kind: "mutation",
    input: ({ project }) => ({ id: project.id, hidden: true }),
    shows: true,
    foreign: 404,
  },
  "projects.delete": {
    kind: "mutation",
    input: ({ project: { id, name } }) => ({ id, name }),
    shows: false,
    foreign: 404,
  },
};
const entries = Object.entries(PROCEDURES);
const inputOf = (row: Row, side: Side) => row.input?.(side) ?? {};

describe("a key never reaches another project through a procedure", () => {
  it("which are all listed here", () => {
    expect(Object.keys(PROCEDURES).sort()).toEqual(Object.keys(appRouter._def.procedures).sort());
  });

  it.each(entries.filter(([, row]) => row.kind === "query" && !row.persons))("%s", async (path, row) => {
    const own = await ask(server, a.key.secret, path, inputOf(row, a), row.kind);
    expect(own.status).toBe(200);
    expectNothingOfB(own.text, path);
    if (!row.shows) return;
    const other = await ask(server, b.key.secret, path, inputOf(row, b), row.kind);
    expect(
      [MARKER, b.sessionId, b.agentId, b.ruleId].some((trace) => other.text.includes(trace)),
      path,
    ).toBe(true);
  });

  it.each(entries.filter(([, row]) => row.foreign !== undefined))(
    "%s about the other one's",
    async (path, row) => {
      const answer = await ask(server, a.key.secret, path, inputOf(row, b), row.kind);
      expect(answer.status).toBe(row.foreign);
      const { error } = answer.body as { error?: { message: string } };
      // The refusal may repeat what was asked for, and nothing else.
      if (error === undefined) expectNothingOfB(answer.text, path);
      else expect(error.message).not.toContain(MARKER);
    },
  );

  it.each(entries)("%s with the other project's name or id", async (path, row) => {
    for (const project of [String(b.project.id), b.project.name, "nowhere"]) {
      const answer = await ask(server, a.key.secret, path, inputOf(row, a), row.kind, {
        "plimsoll-project": project,
      });
      expect(refusal(answer)).toEqual({ status: 403, code: "wrong_project" });
    }
  });

  describe.skipIf(!canListen).each(ROLES)("nor does a %s over the network", (role) => {
    function asPerson(path: string, { kind }: Row, input: unknown, project: string, parameter = "") {
      const query = kind === "query" ? `?input=${encodeURIComponent(JSON.stringify(input))}` : "?";
      return people!.ask(`/api/trpc/${path}${query}${parameter}`, {
        headers: { cookie: cookies.get(role)!, origin: people!.publicUrl, "plimsoll-project": project },
        ...(kind === "mutation" && { body: JSON.stringify(input) }),
      });
    }
    const foreign = entries.filter(([, row]) => row.foreign !== undefined);

    it("by an id", async () => {
      const own = String(a.project.id);
      const answers: unknown[] = [];
      for (const [path, row] of foreign) {
        const { status, text, json } = await asPerson(
          path,
          row,
          inputOf(row, b),
          own,
          `&project=${b.project.id}`,
        );
        const { code } = refusal({ status, body: json } as never);
        if (status === 200) expectNothingOfB(text, path);
        else expect(text, path).not.toContain(MARKER);
        const isTooLow = role !== "admin" && code === "forbidden_role";
        if (status !== row.foreign && !isTooLow) answers.push([path, status, code]);
      }
      expect(answers).toEqual([]);
    });

    it("by its name or id", async () => {
      for (const [path, row] of foreign)
        for (const project of [String(b.project.id), encodeURIComponent(b.project.name)]) {
          const { status, json } = await asPerson(path, row, inputOf(row, b), project);
          expect([path, refusal({ status, body: json } as never)]).toEqual([
            path,
            { status: 404, code: "not_found" },
          ]);
        }
    });
  });

  it("and what it tried changed nothing there", async () => {
    const { windows } = await call<{ windows: { model: string }[] }>(
      server,
      b.key.secret,
      "windows.list",
      {},
      "query",
    );
    expect(windows.map(({ model }) => model)).toEqual([`model-${MARKER}`]);
    const { items } = await call<SessionPage>(server, b.key.secret, "sessions.list", dayRange, "query");
    expect(items[0]).toMatchObject({ tags: [`tag-${MARKER}`], note_excerpt: `note-${MARKER}` });
    const { mappings } = await call<SavedMappingList>(server, b.key.secret, "mappings.list", {}, "query");
    expect(mappings.map(({ mapping }) => mapping.name)).toEqual([`mapping-${MARKER}`]);
    const { views } = await call<SavedSessionViewList>(
      server,
      b.key.secret,
      "sessions.views.list",
      {},
      "query",
    );
    expect(views.map(({ name }) => name)).toEqual([`view-${MARKER}`]);
    const sessions = await call<{ items: unknown[] }>(
      server,
      b.key.secret,
      "sessions.list",
      dayRange,
      "query",
    );
    expect(sessions.items).toMatchObject([{ id: b.sessionId, harness: harnessOf(b) }]);
    const { keys } = await call<{ keys: KeyView[] }>(server, b.key.secret, "keys.list", {}, "query");
    expect(keys).toMatchObject([{ id: b.key.id, revoked_at: null }]);
    const { projects } = await call<{ projects: ProjectView[] }>(
      server,
      b.key.secret,
      "projects.list",
      {},
      "query",
    );
    expect(projects).toEqual([b.project]);
  });

  it("nor creates projects, nor login links, nor sees browser sessions, which open every project", async () => {
    const persons = entries.filter(([, row]) => row.persons).map(([path]) => path);
    for (const path of ["projects.create", "login.create", ...persons]) {
      const answer = await ask(
        server,
        a.key.secret,
        path,
        inputOf(PROCEDURES[path]!, a),
        PROCEDURES[path]!.kind,
      );
      expect(refusal(answer), path).toEqual({ status: 403, code: "wrong_project" });
    }
  });
});

describe("a key never reaches another project over HTTP", () => {
  const paths = ({ sessionId, replayId, ruleId, endpointId, deliveryId }: Side) => [
    "/metrics",
    `/api/v1/sessions.csv?${rangeQuery}`,
    `/api/v1/sessions/${sessionId}/turns.csv`,
    `/api/v1/status?${rangeQuery}`,
    "/api/v1/fleet",
    `/api/v1/series?${rangeQuery}&metric=turns&group_by=harness`,
    `/api/v1/digest?${rangeQuery}`,
    `/api/v1/breakdown?${rangeQuery}&by=restarts`,
    `/api/v1/cache-rebuilds?${rangeQuery}`,
    `/api/v1/falls?${rangeQuery}`,
    `/api/v1/quality?${rangeQuery}`,
    `/api/v1/contents?${rangeQuery}`,
    "/api/v1/quota",
    `/api/v1/spending?${rangeQuery}`,
    "/api/v1/harnesses",
    "/api/v1/harness-lines",
    "/api/v1/machines",
    `/api/v1/sessions?${rangeQuery}`,
    `/api/v1/sessions/${sessionId}`,
    `/api/v1/sessions/${sessionId}/turns`,
    `/api/v1/sessions/${sessionId}/chart`,
    "/api/v1/extent",
    `/api/v1/session-count?${rangeQuery}`,
    "/api/v1/session-values",
    "/api/v1/session-views",
    `/api/v1/ingest/counts?${rangeQuery}`,
    "/api/v1/ingest/received",
    "/api/v1/ingest/refusals",
    "/api/v1/ingest/unmapped",
    `/api/v1/windows/unknown?${rangeQuery}`,
    "/api/v1/mappings",
    "/api/v1/policy",
    "/api/v1/policy/versions",
    "/api/v1/policy/versions/1",
    "/api/v1/policy/harnesses",
    "/api/v1/policy/rollout",
    "/api/v1/policy/effects",
    "/api/v1/policy/rejudging",
    `/api/v1/policy/replays/${replayId}`,
    `/api/v1/policy/replays/${replayId}/sessions/${sessionId}`,
    "/api/v1/alerts",
    "/api/v1/alerts/rules",
    `/api/v1/alerts/rules/${ruleId}`,
    "/api/v1/alerts/timeline",
    "/api/v1/alerts/export",
    "/api/v1/alerts/silences",
    "/api/v1/alerts/endpoints",
    `/api/v1/alerts/endpoints/${endpointId}`,
    "/api/v1/alerts/deliveries",
    `/api/v1/alerts/endpoints/${endpointId}/deliveries/${deliveryId}`,
    "/api/v1/retention",
    "/api/v1/retention/preview?session_days=1",
    "/api/v1/projects",
    "/api/v1/audit",
    "/api/v1/audit.csv",
    "/api/v1/audit.ndjson",
    `/api/v1/sessions.csv?${rangeQuery}`,
    `/api/v1/sessions/${sessionId}/turns.csv`,
    "/metrics",
  ];
  /** Tells nothing of a project, or is for people alone; and the live stream, which does not end. */
  const OTHERS = [
    "/healthz",
    "/readyz",
    "/api/v1/local-proof",
    "/api/v1/backup",
    "/api/v1/live",
    "/api/v1/people",
  ];

  it("whose readable paths are all listed here", async () => {
    const { body } = await server.get<{ paths: Record<string, Record<string, unknown>> }>("/openapi.json");
    const described = Object.entries(body.paths)
      .filter(([, operations]) => "get" in operations)
      .map(([path]) => path)
      .filter((path) => !OTHERS.includes(path) && !path.startsWith("/api/v1/sign-in"));
    const listed = paths(a).map((path) =>
      path
        .split("?")[0]!
        .replace(a.replayId, "{id}")
        .replace(/(?<=replays.*)\/sessions\/.*/, "/sessions/{session}")
        .replace(a.sessionId, "{id}")
        .replace(a.ruleId, "{id}")
        .replace(`${a.endpointId}/deliveries/${a.deliveryId}`, "{endpoint}/deliveries/{id}")
        .replace(a.endpointId, "{id}")
        .replace("versions/1", "versions/{generation}"),
    );
    expect(listed).toEqual(expect.arrayContaining(described));
    expect(JSON.stringify(body)).not.toContain(MARKER);
  });

  it("with what it reads", async () => {
    for (const path of paths(a)) {
      const { status, text } = await server.get(path, a.key.secret);
      expect(status, path).toBe(200);
      expectNothingOfB(text, path);
    }
    for (const path of paths(b).filter(
      (path) =>
        !/ingest|rejudging|effects|retention|spending|extent|session-count|windows|metrics/.test(path),
    )) {
      const { text } = await server.get(path, b.key.secret);
      expect(
        [MARKER, b.sessionId, b.agentId, b.ruleId].some((trace) => text.includes(trace)),
        path,
      ).toBe(true);
    }
  });

  it("with an id of the other project", async () => {
    for (const path of paths(b).filter((path) =>
      [b.sessionId, b.replayId, b.ruleId].some((id) => path.includes(id)),
    )) {
      const answer = await server.get(path, a.key.secret);
      expect(refusal(answer), path).toEqual({ status: 404, code: "not_found" });
      expect(answer.text).not.toContain(MARKER);
    }
    const change = (method: string, path: string, body?: unknown) =>
      server.request(`/api/v1/projects/${b.project.id}${path}`, {
        ...withKey(a.key.secret),
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    for (const answer of [
      await change("PATCH", "", { name: "mine" }),
      await change("POST", "/archive", {}),
      await change("POST", "/unarchive", {}),
      await change("DELETE", `?name=${b.project.name}`),
    ]) {
      expect(refusal(answer)).toEqual({ status: 404, code: "not_found" });
    }
  });

  it("by naming the other project", async () => {
    const named = [
      ...paths(a).flatMap((path) => [
        [path, { "plimsoll-project": String(b.project.id) }] as const,
        [`${path}${path.includes("?") ? "&" : "?"}project=${b.project.id}`, {}] as const,
      ]),
      [`/api/v1/live?project=${b.project.id}`, {}] as const,
      ["/api/v1/live", { "plimsoll-project": String(b.project.id) }] as const,
    ];
    for (const [path, headers] of named) {
      const answer = await server.request(path, withKey(a.key.secret, headers));
      expect(refusal(answer), path).toEqual({ status: 403, code: "wrong_project" });
      expectNothingOfB(answer.text, path);
    }
    const sent = await server.request("/api/v1/events", {
      ...withKey(a.key.secret, { "plimsoll-project": b.project.name }),
      ...post([turn("intruder", 1)]),
    });
    expect(refusal(sent)).toEqual({ status: 403, code: "wrong_project" });
  });

  it("through the live stream", async () => {
    const [ofA, ofB] = [
      await openLive(server, { key: a.key.secret }),
      await openLive(server, { query: `?project=${b.project.id}` }),
    ];
    const send = (side: Side, word: string) =>
      server.send(
        turn(`session-${word}`, 2_000, { harness: `${word}@host`, model: `model-${word}` }),
        side.key.secret,
      );
    await send(b, MARKER);
    await ofB.hears(b.sessionId);
    await send(a, "in-a");
    await ofA.hears(a.sessionId);
    expect(JSON.stringify(ofA.messages)).not.toContain(b.sessionId);
    expect(JSON.stringify(ofB.messages)).not.toContain(a.sessionId);
    ofA.close();
    ofB.close();
  });

  it("through the doctor, which counts its own project alone", async () => {
    const stored = async (key: string) => {
      const { checks } = await call<DoctorReport>(server, key, "doctor", {}, "query");
      return checks.find(({ name }) => name === "acknowledged turns are counted")?.message;
    };
    // Three and five turns, and one each from the live stream.
    expect(await stored(a.key.secret)).toMatch(/^4 /);
    expect(await stored(b.key.secret)).toMatch(/^6 /);
  });
});
