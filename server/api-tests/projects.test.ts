import type {
  CreatedKey,
  DoctorReport,
  ErrorBody,
  KeyView,
  ProjectView,
  SessionPage,
} from "@plimsoll/protocol";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { PROJECT_TABLES } from "../projects/delete-step.ts";
import { emptyDatabase } from "../testing/database.ts";
import { type HttpAnswer, startTestServer, type TestServer } from "../testing/server.ts";
import { appRouter } from "../trpc/router.ts";
import { openLive } from "./live-client.ts";
import { dayRange, rangeQuery, turn, unique, until } from "./support.ts";

/** In every name of project B, so that a leak is found wherever it is. */
const MARKER = "only-in-b";

interface Side {
  project: ProjectView;
  /** May do everything in its project. */
  key: CreatedKey;
  sessionId: string;
  agentId: string;
}

let database: { url: string; close(): Promise<void> };
let server: TestServer;
let a: Side;
let b: Side;

beforeAll(async () => {
  database = await emptyDatabase();
  server = await startTestServer({ databaseUrl: database.url });
  a = await makeSide("project-a", "in-a", 3);
  b = await makeSide(`project-${MARKER}`, MARKER, 5);
});
afterEach(() => server.expectHealthy());
afterAll(async () => {
  await server?.stop();
  await database?.close();
});

const inProject = (id: number | string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { "content-type": "application/json", "plimsoll-project": String(id), ...init.headers },
});
const post = (body: unknown): RequestInit => ({ method: "POST", body: JSON.stringify(body) });
const withKey = (key: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...more },
});

const makeProject = (name: string) => server.mutate<ProjectView>("projects.create", { name });

async function makeKeyIn(projectId: number, scopes: string[], name = unique("key")): Promise<CreatedKey> {
  const answer = await server.request<{ result: { data: CreatedKey } }>(
    "/api/trpc/keys.create",
    inProject(projectId, post({ name, scopes })),
  );
  return answer.body.result.data;
}

async function makeSide(name: string, word: string, turns: number): Promise<Side> {
  const project = await makeProject(name);
  const key = await makeKeyIn(project.id, ["admin"], `key-${word}`);
  const fields = { harness: `${word}@host`, model: `model-${word}` };
  const events = Array.from({ length: turns }, () => turn(`session-${word}`, 1_000, fields));
  const { body } = await server.send(
    [
      ...events,
      {
        ...fields,
        id: "s",
        type: "session",
        at: Date.now(),
        session: `session-${word}`,
        title: `title-${word}`,
        status: "started",
      },
      { ...fields, id: "h", type: "harness", at: Date.now(), status: "hello", name: `harness-${word}` },
      {
        ...fields,
        id: "m",
        type: "masked",
        at: events[0]!.at,
        session: `session-${word}`,
        observations: 1,
        tokens_before: 9,
        tokens_after: 1,
      },
    ],
    key.secret,
  );
  expect(body.rejected).toEqual([]);
  await call(key.secret, "windows.set", { model: `model-${word}`, tokens: 50_000 }, "mutation");
  const page = await call<SessionPage>(key.secret, "sessions.list", dayRange, "query");
  const sessionId = page.items[0]!.id;
  const detail = await call<{ agents: { id: string }[] }>(
    key.secret,
    "sessions.get",
    { id: sessionId },
    "query",
  );
  return { project, key, sessionId, agentId: detail.agents[0]!.id };
}

type Kind = "query" | "mutation";

function ask(key: string, path: string, input: unknown, kind: Kind, more: Record<string, string> = {}) {
  const init = withKey(key, more);
  return kind === "query"
    ? server.request(`/api/trpc/${path}?input=${encodeURIComponent(JSON.stringify(input ?? {}))}`, init)
    : server.request(`/api/trpc/${path}`, { ...init, ...post(input ?? {}) });
}

async function call<T>(key: string, path: string, input: unknown, kind: Kind): Promise<T> {
  const { status, text, body } = await ask(key, path, input, kind);
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
  return (body as { result: { data: T } }).result.data;
}

/** The code and status that a call was refused with, in tRPC's shape or the plain one. */
function refusal({ status, body }: HttpAnswer): { status: number; code: string | undefined } {
  const { error } = body as { error?: { code?: string; data?: { error?: { code: string } } } };
  return { status, code: error?.data?.error?.code ?? (error?.code as string | undefined) };
}

function expectNothingOfB(text: string, what: string): void {
  for (const trace of [MARKER, b.sessionId, b.agentId, b.key.id, b.key.prefix])
    expect(text, what).not.toContain(trace);
}

interface Row {
  kind: Kind;
  input?: (side: Side) => unknown;
  /** Whether the answer to B's own key holds something of B: else the row proves nothing. */
  shows: boolean;
  /** Status of the same call about B with a key of A; absent where the input names nothing of B. */
  foreign?: number;
}

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
  harnesses: { kind: "query", shows: true },
  "sessions.list": { kind: "query", input: () => dayRange, shows: true },
  "sessions.get": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "sessions.turns": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "sessions.chart": { kind: "query", input: ({ sessionId: id }) => ({ id }), shows: true, foreign: 404 },
  "keys.list": { kind: "query", shows: true },
  "keys.create": { kind: "mutation", input: () => ({ name: "another", scopes: ["read"] }), shows: false },
  "keys.revoke": { kind: "mutation", input: ({ key }) => ({ id: key.id }), shows: true, foreign: 404 },
  "windows.list": { kind: "query", shows: true },
  "windows.set": { kind: "mutation", input: () => ({ model: "other", tokens: 1_000 }), shows: false },
  "windows.remove": {
    kind: "mutation",
    input: ({ project }) => ({ model: project.name.replace("project", "model") }),
    shows: false,
    foreign: 200,
  },
  "ingest.counts": { kind: "query", input: () => dayRange, shows: false },
  doctor: { kind: "query", shows: false },
  instance: { kind: "query", shows: false },
  "demo.get": { kind: "query", shows: false },
  "demo.start": { kind: "mutation", shows: false },
  "demo.stop": { kind: "mutation", shows: false },
  "login.create": { kind: "mutation", shows: false },
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

  it.each(entries.filter(([, row]) => row.kind === "query"))("%s", async (path, row) => {
    const own = await ask(a.key.secret, path, inputOf(row, a), row.kind);
    expect(own.status).toBe(200);
    expectNothingOfB(own.text, path);
    if (!row.shows) return;
    const other = await ask(b.key.secret, path, inputOf(row, b), row.kind);
    expect(
      [MARKER, b.sessionId, b.agentId].some((trace) => other.text.includes(trace)),
      path,
    ).toBe(true);
  });

  it.each(entries.filter(([, row]) => row.foreign !== undefined))(
    "%s about the other one's",
    async (path, row) => {
      const answer = await ask(a.key.secret, path, inputOf(row, b), row.kind);
      expect(answer.status).toBe(row.foreign);
      const { error } = answer.body as { error?: { message: string } };
      // The refusal may repeat what was asked for, and nothing else.
      if (error === undefined) expectNothingOfB(answer.text, path);
      else expect(error.message).not.toContain(MARKER);
    },
  );

  it.each(entries)("%s with the other project's name or id", async (path, row) => {
    for (const project of [String(b.project.id), b.project.name, "nowhere"]) {
      const answer = await ask(a.key.secret, path, inputOf(row, a), row.kind, {
        "plimsoll-project": project,
      });
      expect(refusal(answer)).toEqual({ status: 403, code: "wrong_project" });
    }
  });

  it("and what it tried changed nothing there", async () => {
    const { windows } = await call<{ windows: { model: string }[] }>(
      b.key.secret,
      "windows.list",
      {},
      "query",
    );
    expect(windows.map(({ model }) => model)).toEqual([`model-${MARKER}`]);
    const { keys } = await call<{ keys: KeyView[] }>(b.key.secret, "keys.list", {}, "query");
    expect(keys).toMatchObject([{ id: b.key.id, revoked_at: null }]);
    const { projects } = await call<{ projects: ProjectView[] }>(b.key.secret, "projects.list", {}, "query");
    expect(projects).toEqual([b.project]);
  });

  it("nor creates projects, nor login links, which open every project", async () => {
    for (const path of ["projects.create", "login.create"]) {
      const answer = await ask(a.key.secret, path, inputOf(PROCEDURES[path]!, a), "mutation");
      expect(refusal(answer), path).toEqual({ status: 403, code: "wrong_project" });
    }
  });
});

describe("a key never reaches another project over HTTP", () => {
  const paths = ({ sessionId }: Side) => [
    "/metrics",
    `/api/v1/sessions.csv?${rangeQuery}`,
    `/api/v1/sessions/${sessionId}/turns.csv`,
    `/api/v1/status?${rangeQuery}`,
    "/api/v1/fleet",
    `/api/v1/series?${rangeQuery}&metric=turns&group_by=harness`,
    "/api/v1/harnesses",
    `/api/v1/sessions?${rangeQuery}`,
    `/api/v1/sessions/${sessionId}`,
    `/api/v1/sessions/${sessionId}/turns`,
    `/api/v1/sessions/${sessionId}/chart`,
    `/api/v1/ingest/counts?${rangeQuery}`,
    "/api/v1/projects",
  ];

  it("whose readable paths are all listed here", async () => {
    const { body } = await server.get<{ paths: Record<string, Record<string, unknown>> }>("/openapi.json");
    const described = Object.entries(body.paths)
      .filter(([, operations]) => "get" in operations)
      .map(([path]) => path);
    const listed = paths(a).map((path) => path.split("?")[0]!.replace(a.sessionId, "{id}"));
    expect(listed).toEqual(expect.arrayContaining(described));
    expect(JSON.stringify(body)).not.toContain(MARKER);
  });

  it("with what it reads", async () => {
    for (const path of paths(a)) {
      const { status, text } = await server.get(path, a.key.secret);
      expect(status, path).toBe(200);
      expectNothingOfB(text, path);
    }
    for (const path of paths(b).filter((path) => !/ingest/.test(path))) {
      const { text } = await server.get(path, b.key.secret);
      expect(
        [MARKER, b.sessionId, b.agentId].some((trace) => text.includes(trace)),
        path,
      ).toBe(true);
    }
  });

  it("with an id of the other project", async () => {
    for (const path of paths(b).filter((path) => path.includes(b.sessionId))) {
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
      const { checks } = await call<DoctorReport>(key, "doctor", {}, "query");
      return checks.find(({ name }) => name === "acknowledged turns are counted")?.message;
    };
    // Three and five turns, and one each from the live stream.
    expect(await stored(a.key.secret)).toMatch(/^4 /);
    expect(await stored(b.key.secret)).toMatch(/^6 /);
  });
});

describe("a person", () => {
  const titles = async (init: RequestInit, query = "") =>
    (await server.request<SessionPage>(`/api/v1/sessions?${rangeQuery}${query}`, init)).body.items.map(
      ({ title }) => title,
    );

  it("uses every project, one at a time, by id or name", async () => {
    expect(await titles({})).toEqual([]);
    expect(await titles(inProject(a.project.id))).toEqual(["title-in-a"]);
    expect(await titles(inProject(encodeURIComponent(b.project.name)))).toEqual([`title-${MARKER}`]);
    expect(await titles({}, `&project=${b.project.id}`)).toEqual([`title-${MARKER}`]);
  });

  it("hears of a project that is not there", async () => {
    for (const name of ["999", "nowhere"]) {
      const answer = await server.request<ErrorBody>("/api/v1/fleet", inProject(name));
      expect(answer.status).toBe(404);
      expect(answer.body.error).toEqual({ code: "not_found", message: `There is no project ${name}.` });
    }
  });

  it("gives a project a name that nobody takes for an id", async () => {
    for (const name of ["", "  ", "42", "a\nb", "x".repeat(61)]) {
      await expect(makeProject(name), JSON.stringify(name)).rejects.toThrow("400");
    }
    const { id, name } = await makeProject("  Über uns  ");
    expect(name).toBe("Über uns");
    expect((await server.request("/api/v1/fleet", inProject(encodeURIComponent(name)))).status).toBe(200);
    await expect(makeProject("Über uns")).rejects.toThrow("409");
    await server.mutate("projects.delete", { id, name });
  });
});

describe("an archived project", () => {
  it("refuses events with the reason, is read, and takes events again", async () => {
    const name = unique("archived");
    const { id } = await makeProject(name);
    const { secret } = await makeKeyIn(id, ["ingest", "read"]);
    const other = await startTestServer({ databaseUrl: database.url });
    try {
      expect((await server.send(turn("s", 1), secret)).status).toBe(200);
      expect((await other.send(turn("s", 2), secret)).status).toBe(200);
      await server.mutate("projects.archive", { id });
      const refused = await server.send(turn("s", 3), secret);
      expect(refusal(refused)).toEqual({ status: 403, code: "project_archived" });
      expect(refused.headers.get("retry-after")).toBeNull();
      expect(refused.text).toContain(name);
      // The other process hears of it.
      await until(async () => (await other.send(turn("s", 4), secret)).status === 403);
      const demo = await server.request("/api/trpc/demo.start", inProject(id, post({})));
      expect(refusal(demo)).toEqual({ status: 403, code: "project_archived" });
      for (const path of ["/api/v1/fleet", `/api/v1/sessions?${rangeQuery}`, "/metrics"])
        expect((await server.get(path, secret)).status, path).toBe(200);

      await server.mutate("projects.unarchive", { id });
      expect((await server.send(turn("s", 5), secret)).status).toBe(200);
      await until(async () => (await other.send(turn("s", 6), secret)).status === 200);
    } finally {
      await other.stop();
    }
  });
});

describe("a deleted project", () => {
  it("is gone at once for everybody, and its rows a minute later", async () => {
    const name = unique("doomed");
    const { id } = await makeProject(name);
    const { secret } = await makeKeyIn(id, ["admin"]);
    await server.send(turn("s", 1), secret);
    await expect(server.mutate("projects.delete", { id, name: "another" })).rejects.toThrow(name);
    await server.mutate("projects.delete", { id, name });

    expect(refusal(await server.send(turn("s", 2), secret))).toEqual({
      status: 401,
      code: "unauthenticated",
    });
    expect((await server.get("/api/v1/fleet", secret)).status).toBe(401);
    for (const asked of [id, name])
      expect((await server.request("/api/v1/fleet", inProject(asked))).status).toBe(404);
    await expect(server.mutate("projects.unarchive", { id })).rejects.toThrow("404");

    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const tables = Object.keys(PROJECT_TABLES).map((table) => `SELECT project_id FROM ${table}`);
    const counted = `SELECT count(*) FROM (SELECT id FROM projects UNION ALL ${tables.join(" UNION ALL ")}) WHERE id = $1`;
    const rows = async () => Number((await client.query(counted, [id])).rows[0].count);
    try {
      expect(await rows()).toBeGreaterThan(5);
      // A process that starts later resumes what is due.
      await client.query("UPDATE projects SET deleting_at = deleting_at - interval '2 min' WHERE id = $1", [
        id,
      ]);
      const next = await startTestServer({ databaseUrl: database.url });
      await until(async () => (await rows()) === 0);
      await next.stop();
      // Nobody writes to it any more.
      await server.send(turn("elsewhere", 1), a.key.secret);
      expect(await rows()).toBe(0);
    } finally {
      await client.end();
    }
    expect((await server.get("/api/v1/fleet", a.key.secret)).status).toBe(200);
  });
});
