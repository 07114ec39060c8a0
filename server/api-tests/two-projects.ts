import { randomUUID } from "node:crypto";
import type {
  AlertDeliveryPage,
  AlertEndpointWithSecret,
  AlertPage,
  AlertRuleView,
  AlertSilenceView,
  CreatedKey,
  ProjectView,
  QualityView,
  SessionPage,
} from "@plimsoll/protocol/api";
import { expect } from "vitest";
import { type HttpAnswer, startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { dayRange, finishedReplay, turn, unique } from "./support.ts";

/** In every name of project B, so that a leak is found wherever it is. */
export const MARKER = "only-in-b";

/** A project with one session. */
export interface Side {
  project: ProjectView;
  /** May do everything in its project. */
  key: CreatedKey;
  sessionId: string;
  agentId: string;
  viewId: string;
  /** A finished replay of its turns. */
  replayId: string;
  /** An alert rule, one of its alerts, and a silence. */
  ruleId: string;
  alertId: string;
  silenceId: string;
  /** A webhook of no public address, and the test that did not get there. */
  endpointId: string;
  deliveryId: string;
}

/** A server with two projects: `a` has three turns, `b` has five. */
export interface TwoProjects {
  databaseUrl: string;
  server: TestServer;
  a: Side;
  b: Side;
  stop(): Promise<unknown>;
}

/** @param start starts the server with these settings */
export async function startTwoProjects(
  start: (env: Record<string, string>) => Promise<TestServer> = (env) => startTestServer({ env }),
): Promise<TwoProjects> {
  const server = await start({ PLIMSOLL_WEBHOOK_ALLOW: "loopback" });
  try {
    const a = await makeSide(server, "project-a", "in-a", 3);
    const b = await makeSide(server, `project-${MARKER}`, MARKER, 5);
    return { databaseUrl: server.databaseUrl!, server, a, b, stop: () => server.stop() };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** A request that names its project in a header. */
export const inProject = (id: number | string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { "content-type": "application/json", "plimsoll-project": String(id), ...init.headers },
});
export const post = (body: unknown): RequestInit => ({ method: "POST", body: JSON.stringify(body) });
export const withKey = (key: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...more },
});

export const makeProject = (server: TestServer, name: string) =>
  server.mutate<ProjectView>("projects.create", { name });

export async function makeKeyIn(
  server: TestServer,
  projectId: number,
  scopes: string[],
  name = unique("key"),
): Promise<CreatedKey> {
  const answer = await server.request<{ result: { data: CreatedKey } }>(
    "/api/trpc/keys.create",
    inProject(projectId, post({ name, scopes })),
  );
  return answer.body.result.data;
}

async function makeSide(server: TestServer, name: string, word: string, turns: number): Promise<Side> {
  const project = await makeProject(server, name);
  const key = await makeKeyIn(server, project.id, ["admin"], `key-${word}`);
  const fields = { harness: `${word}@host`, model: `model-${word}` };
  // No turn reads from the cache what the one before wrote to it.
  const usage = { input_tokens: 2_000, cache_read_tokens: 0, cache_write_tokens: 2_000, output_tokens: 10 };
  const events = Array.from({ length: turns }, () =>
    turn(`session-${word}`, 2_000, {
      ...{ ...fields, usage, outcome: { calls: 2, failed: 1 } },
      contents: { parts: [{ kind: "tool", tool: `tool-${word}`, tokens: 900, count: 2 }], largest: [] },
    }),
  );
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
        machine: `machine-${word}`,
        repository: `git@example.org:${word}/repository.git`,
      },
      { ...fields, id: "h", type: "harness", at: Date.now(), status: "hello", name: `harness-${word}` },
      {
        ...fields,
        ...{ id: "q", type: "quota", at: Date.now(), machine: `machine-${word}`, provider: "anthropic" },
        ...{ limit: `limit-${word}`, used_percent: 40, resets_at: Date.now() + 3_600_000 },
      },
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
      {
        ...fields,
        id: "c",
        type: "compacted",
        at: Date.now(),
        session: `session-${word}`,
        trigger: "auto",
        tokens_before: 900,
        tokens_after: 100,
      },
      {
        ...fields,
        id: "r",
        type: "restarted",
        at: Date.now(),
        session: `session-${word}`,
        number: 2,
        previous_turns: 1,
        carryover_turns: 0,
        reason: "context",
      },
    ],
    key.secret,
  );
  expect(body.rejected).toEqual([]);
  await call(server, key.secret, "windows.set", { model: `model-${word}`, tokens: 50_000 }, "mutation");
  const mapping = {
    version: 1,
    name: `mapping-${word}`,
    match: { otlp: { scope: word } },
    usage: { input: "$.n" },
  };
  await call(server, key.secret, "mappings.save", mapping, "mutation");
  const layers = [{ scope: { harness: `${word}@host` }, settings: { thresholds: { ceiling: 40_000 } } }];
  const rollout = { strategy: "canary", harnesses: [`harness-${word}`], bake_s: 3_600 };
  const saved = { policy: { layers }, expected: 0, reason: `for ${word}`, rollout };
  await call(server, key.secret, "policies.save", saved, "mutation");
  // Agents are counted a moment after their first events.
  const quality = () => call<QualityView>(server, key.secret, "quality", dayRange, "query");
  await until(async () => (await quality()).groups.length > 0);
  const page = await call<SessionPage>(server, key.secret, "sessions.list", dayRange, "query");
  const sessionId = page.items[0]!.id;
  const detail = await call<{ agents: { id: string }[] }>(
    server,
    key.secret,
    "sessions.get",
    { id: sessionId },
    "query",
  );
  const tagged = { ids: [sessionId], tag: `tag-${word}`, action: "add" };
  await call(server, key.secret, "sessions.tag", tagged, "mutation");
  const noted = { id: sessionId, note: `note-${word}`, expected: 0 };
  await call(server, key.secret, "sessions.saveNote", noted, "mutation");
  const viewId = randomUUID();
  const view = { id: viewId, name: `view-${word}`, query: "", is_default: false };
  await call(server, key.secret, "sessions.views.save", view, "mutation");
  const replayId = await finishedReplay((path, input, kind) => call(server, key.secret, path, input, kind));
  const alerts = await makeAlert(server, key.secret, word);
  const endpoint = await makeEndpoint(server, key.secret, word);
  const agentId = detail.agents[0]!.id;
  return { project, key, sessionId, agentId, viewId, replayId, ...alerts, ...endpoint };
}

/** A rule that fires at once, and a silence. */
async function makeAlert(server: TestServer, key: string, word: string) {
  const rule = { name: `rule-${word}`, condition: { type: "fleet", load_at_least: 0.001, share: 0.01 } };
  const { id: ruleId } = await call<AlertRuleView>(server, key, "alerts.rules.create", { rule }, "mutation");
  const silence = {
    matchers: [{ label: "harness", is: `${word}@elsewhere` }],
    comment: `silence-${word}`,
    ends_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const { id: silenceId } = await call<AlertSilenceView>(
    server,
    key,
    "alerts.silences.create",
    silence,
    "mutation",
  );
  const firing = () => call<AlertPage>(server, key, "alerts.list", {}, "query");
  await until(async () => (await firing()).items.length > 0);
  return { ruleId, silenceId, alertId: (await firing()).items[0]!.id };
}

async function makeEndpoint(server: TestServer, key: string, word: string) {
  const input = { name: `endpoint-${word}`, target: { kind: "webhook", url: "http://127.0.0.1:9" } };
  const { endpoint } = await call<AlertEndpointWithSecret>(
    server,
    key,
    "alerts.endpoints.create",
    input,
    "mutation",
  );
  await call(server, key, "alerts.endpoints.test", { id: endpoint.id }, "mutation");
  const { items } = await call<AlertDeliveryPage>(server, key, "alerts.deliveries.list", {}, "query");
  return { endpointId: endpoint.id, deliveryId: items[0]!.id };
}

export type ProcedureKind = "query" | "mutation";

/** Calls a procedure with a key. */
export function ask(
  server: TestServer,
  key: string,
  path: string,
  input: unknown,
  kind: ProcedureKind,
  more: Record<string, string> = {},
) {
  const init = withKey(key, more);
  return kind === "query"
    ? server.request(`/api/trpc/${path}?input=${encodeURIComponent(JSON.stringify(input ?? {}))}`, init)
    : server.request(`/api/trpc/${path}`, { ...init, ...post(input ?? {}) });
}

/** The answer of a procedure. Throws if it refuses. */
export async function call<T>(
  server: TestServer,
  key: string,
  path: string,
  input: unknown,
  kind: ProcedureKind,
): Promise<T> {
  const { status, text, body } = await ask(server, key, path, input, kind);
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
  return (body as { result: { data: T } }).result.data;
}

/** The code and status that a call was refused with, in tRPC's shape or the plain one. */
export function refusal({ status, body }: HttpAnswer): { status: number; code: string | undefined } {
  const { error } = body as { error?: { code?: string; data?: { error?: { code: string } } } };
  return { status, code: error?.data?.error?.code ?? (error?.code as string | undefined) };
}
