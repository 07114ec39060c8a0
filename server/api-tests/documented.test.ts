import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type {
  AlertDeliveryPage,
  AlertEndpointWithSecret,
  AlertRuleView,
  SessionPage,
} from "@plimsoll/protocol/api";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMachineApp, type MachineAppDeps, type MachineEnv } from "../http/app.ts";
import { projectRoot } from "../root.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { dayRange, finishedReplay, rangeQuery, turn, UNKNOWN_MODEL, unique } from "./support.ts";

interface Operation {
  operationId?: string;
  parameters?: { name: string; in: string; required?: boolean }[];
  responses: Record<string, { content?: Record<string, { schema: Record<string, unknown> }> }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown> };
}

let server: TestServer;
let document: Document;
let session: string;
let sessionId: string;
let replayId: string;
let ruleId: string;
let endpointId: string;
let deliveryId: string;

beforeAll(async () => {
  server = await startTestServer({ env: { PLIMSOLL_WEBHOOK_ALLOW: "loopback" } });
  document = (await server.request<Document>("/openapi.json", { headers: { authorization: "" } })).body;
  session = unique("session");
  await server.send([
    turn(session, 100_000, { composition: { system: 10, history: 99_990 }, cost_usd: 0.5, duration_ms: 10 }),
    turn(session, 190_000, { estimated: true }),
    turn(session, 20_000),
    turn(session, undefined),
    turn(session, 5_000, { agent: "child", parent_agent: "main", model: UNKNOWN_MODEL }),
    { id: "h", type: "harness", at: Date.now(), harness: "phantom@api", status: "hello", name: "Phantom" },
    {
      id: "s",
      type: "session",
      at: Date.now(),
      harness: "phantom@api",
      session,
      status: "started",
      title: "T",
    },
  ]);
  for (const expected of [0, 1]) {
    const policy = { settings: { thresholds: { ceiling: 50_000 + expected } } };
    const rollout = expected === 1 ? { strategy: "linear", share: 0.5, bake_s: 3_600 } : undefined;
    await server.mutate("policies.save", { policy, expected, reason: "a version to list", rollout });
  }
  const { items } = await server.trpc<SessionPage>("sessions.list", { ...dayRange, q: session });
  sessionId = items[0]!.id;
  replayId = await finishedReplay((path, input, kind) =>
    kind === "query" ? server.trpc(path, input) : server.mutate(path, input),
  );
  const rule = { name: "a rule", condition: { type: "window_suspect" }, message: "Look at it" };
  ({ id: ruleId } = await server.mutate<AlertRuleView>("alerts.rules.create", { rule }));
  const input = { name: "hook", target: { kind: "webhook", url: "http://127.0.0.1:9" } };
  const { endpoint } = await server.mutate<AlertEndpointWithSecret>("alerts.endpoints.create", input);
  endpointId = endpoint.id;
  await server.mutate("alerts.endpoints.test", { id: endpointId });
  const deliveries = await server.trpc<AlertDeliveryPage>("alerts.deliveries.list", {});
  deliveryId = deliveries.items[0]!.id;
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

/** What each path takes besides its own id. */
const QUERIES: Record<string, string[]> = {
  "/api/v1/status": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/sessions": [
    rangeQuery,
    `${rangeQuery}&limit=1&sort=load&order=asc`,
    `${rangeQuery}&q=nothing-like-it`,
    `${rangeQuery}&model=m&reason=subtick&warned=1&tag=kept&sort=title`,
  ],
  "/api/v1/fleet": ["", "machine=nobody&repository=nothing&branch=main"],
  "/api/v1/session-values": ["", "repository=github.com/acme/billing"],
  "/api/v1/session-count": [rangeQuery, `${rangeQuery}&reason=unexplained`],
  "/api/v1/series": [
    ...[
      "utilization_peak",
      "utilization_p50",
      "utilization_p95",
      "context_tokens_peak",
      "turns",
      "input_tokens",
    ],
    ...["cache_read_tokens", "output_tokens", "cost_usd", "boundaries", "reclaimed_tokens", "crossings"],
    ...["cache_rebuilds", "cache_rebuilt_tokens"],
  ].flatMap((metric) => [
    `${rangeQuery}&metric=${metric}`,
    `${rangeQuery}&metric=${metric}&group_by=harness&step=3600`,
  ]),
  "/api/v1/ingest/counts": [rangeQuery],
  "/api/v1/digest": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/cache-rebuilds": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/falls": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/contents": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/quality": [rangeQuery, `${rangeQuery}&harness=nobody&signal=repeated`],
  "/api/v1/breakdown": ["restarts", "cost_usd", "uncached_tokens"].flatMap((by) => [
    `${rangeQuery}&by=${by}`,
    `${rangeQuery}&by=${by}&harness=nobody`,
  ]),
  "/api/v1/harness-lines": ["", "harness=nobody"],
  "/api/v1/ingest/received": [""],
  "/api/v1/ingest/refusals": [""],
  "/api/v1/ingest/unmapped": [""],
  "/api/v1/spending": [`${rangeQuery}&time_zone=Asia/Kathmandu`, `${rangeQuery}&harness=nobody`],
  "/api/v1/windows/unknown": [rangeQuery, `${rangeQuery}&harness=nobody`],
  "/api/v1/policy/versions": ["", "limit=1", "cursor=2"],
  "/api/v1/alerts": ["", "state=ended&limit=1", "state=unhandled&severity=critical&q=a"],
  "/api/v1/alerts/deliveries": ["", "state=failed&limit=1"],
  "/api/v1/retention/preview": ["", "session_days=30", "session_days=30&rollup_days=60"],
  "/api/v1/audit": ["", "limit=1", "action=project_created", "topic=keys", rangeQuery],
};

/** The procedure behind each path. */
const PROCEDURES: Record<string, string> = {
  "/api/v1/status": "status",
  "/api/v1/fleet": "fleet",
  "/api/v1/series": "series",
  "/api/v1/digest": "digest",
  "/api/v1/breakdown": "breakdown",
  "/api/v1/cache-rebuilds": "rebuilds",
  "/api/v1/falls": "falls",
  "/api/v1/contents": "contents",
  "/api/v1/quality": "quality",
  "/api/v1/quota": "quota",
  "/api/v1/spending": "spending.days",
  "/api/v1/harnesses": "harnesses",
  "/api/v1/harness-lines": "harnessLines",
  "/api/v1/machines": "machines.list",
  "/api/v1/people": "people.names",
  "/api/v1/sessions": "sessions.list",
  "/api/v1/extent": "extent",
  "/api/v1/session-count": "sessions.count",
  "/api/v1/session-values": "sessions.values",
  "/api/v1/session-views": "sessions.views.list",
  "/api/v1/sessions/{id}": "sessions.get",
  "/api/v1/sessions/{id}/turns": "sessions.turns",
  "/api/v1/sessions/{id}/chart": "sessions.chart",
  "/api/v1/ingest/counts": "ingest.counts",
  "/api/v1/ingest/received": "ingest.received",
  "/api/v1/ingest/refusals": "ingest.refusals",
  "/api/v1/ingest/unmapped": "ingest.unmapped",
  "/api/v1/windows/unknown": "windows.unknown",
  "/api/v1/mappings": "mappings.list",
  "/api/v1/policy/versions": "policies.versions",
  "/api/v1/policy/versions/{generation}": "policies.version",
  "/api/v1/policy/harnesses": "policies.harnesses",
  "/api/v1/policy/rollout": "policies.rollout",
  "/api/v1/policy/effects": "policies.effects",
  "/api/v1/policy/rejudging": "policies.rejudging",
  "/api/v1/policy/replays/{id}": "replays.status",
  "/api/v1/policy/replays/{id}/sessions/{session}": "replays.session",
  "/api/v1/alerts": "alerts.list",
  "/api/v1/alerts/rules": "alerts.rules.list",
  "/api/v1/alerts/rules/{id}": "alerts.rules.get",
  "/api/v1/alerts/timeline": "alerts.timeline",
  "/api/v1/alerts/export": "alerts.rules.export",
  "/api/v1/alerts/silences": "alerts.silences.list",
  "/api/v1/alerts/endpoints": "alerts.endpoints.list",
  "/api/v1/alerts/endpoints/{id}": "alerts.endpoints.get",
  "/api/v1/alerts/deliveries": "alerts.deliveries.list",
  "/api/v1/alerts/endpoints/{endpoint}/deliveries/{id}": "alerts.deliveries.get",
  "/api/v1/retention": "retention.get",
  "/api/v1/retention/preview": "retention.preview",
  "/api/v1/projects": "projects.list",
  "/api/v1/audit": "audit.list",
};

/** Operations that change something or belong to no procedure, and so are not called below. */
const OTHERS = [
  "post /api/v1/events",
  "post /otlp/v1/traces",
  "post /otlp/v1/logs",
  "post /otlp/v1/metrics",
  "post /api/v1/session-tags",
  "put /api/v1/sessions/{id}/note",
  "put /api/v1/session-views/{id}",
  "delete /api/v1/session-views/{id}",
  "post /api/v1/sessions/delete",
  "post /api/v1/sessions/undelete",
  "post /api/v1/harnesses/delete",
  "post /api/v1/harnesses/undelete",
  "put /api/v1/retention",
  "put /api/v1/spending/budget",
  "put /api/v1/mappings/{name}",
  "delete /api/v1/mappings/{name}",
  "get /api/v1/policy",
  "put /api/v1/policy",
  "post /api/v1/policy/replays",
  "post /api/v1/policy/rollout",
  "post /api/v1/policy/replays/{id}/cancel",
  "post /api/v1/alerts/acknowledge",
  "post /api/v1/alerts/rules",
  "put /api/v1/alerts/rules/{id}",
  "delete /api/v1/alerts/rules/{id}",
  "post /api/v1/alerts/rules/{id}/switch",
  "post /api/v1/alerts/presets",
  "post /api/v1/alerts/import",
  "post /api/v1/alerts/backtest",
  "post /api/v1/alerts/silences",
  "post /api/v1/alerts/silences/{id}/end",
  "post /api/v1/alerts/endpoints",
  "put /api/v1/alerts/endpoints/{id}",
  "delete /api/v1/alerts/endpoints/{id}",
  "post /api/v1/alerts/endpoints/{id}/rotate",
  "post /api/v1/alerts/endpoints/{id}/pause",
  "post /api/v1/alerts/endpoints/{id}/resume",
  "post /api/v1/alerts/endpoints/{id}/test",
  "post /api/v1/alerts/endpoints/{endpoint}/deliveries/{id}/redeliver",
  "post /api/v1/projects",
  "patch /api/v1/projects/{id}",
  "delete /api/v1/projects/{id}",
  "post /api/v1/projects/{id}/archive",
  "post /api/v1/projects/{id}/unarchive",
  "put /api/v1/projects/{id}/names",
];

/** Routes beside the procedures: found in the code, so that a new one without a description fails. */
async function plainRoutes(): Promise<string[]> {
  // Whatever a route is made with. No route is called here.
  const anything: unknown = new Proxy(() => anything, { get: () => anything });
  const folder = join(projectRoot(), "server/http");
  const sources = (await readdir(folder)).filter((name) => /(?<!\.test|\.d)\.ts$/.test(name));
  const modules = await Promise.all(
    sources.map((name) => import(join(folder, name)) as Promise<Record<string, unknown>>),
  );
  let found: { method: string; path: string }[] = [];
  const routes = modules
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith("Routes"))
    .map(([, make]) => (make as (deps: unknown) => (app: Hono<MachineEnv>) => void)(anything));
  const keep = (app: Hono<MachineEnv>) => {
    found = app.routes;
  };
  const parts: Partial<MachineAppDeps> = { routes: [...routes, keep] };
  createMachineApp(
    new Proxy(parts, { get: (given, name) => given[name as "routes"] ?? anything }) as MachineAppDeps,
  );
  return [
    ...new Set(found.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")}`)),
  ];
}

function schemaOf(path: string, method: string, status: string): z.ZodType {
  const response = document.paths[path]?.[method]?.responses[status];
  const schema = response?.content?.["application/json"]?.schema;
  if (schema === undefined) throw new Error(`${method} ${path} does not describe ${status}`);
  return z.fromJSONSchema(resolved(schema) as never);
}

/** The document's errors stand among its components; whatever they refer to has to be there. */
function resolved(schema: Record<string, unknown>): unknown {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1];
  if (name === undefined) return schema;
  const component = document.components?.schemas?.[name];
  expect(component, name).toBeDefined();
  return component;
}

/** Figures of the moment differ from one call to the next. */
const timeless = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (key, inner) => (key === "generated_at" || key === "disk" ? "now" : inner)),
  );

describe("/openapi.json", () => {
  it("is valid OpenAPI 3.1, open to all, and names this server", async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(JSON.stringify(document)).toContain(server.url);
  });

  it("describes everything that may be called, and nothing else", async () => {
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    const plain = await plainRoutes();
    expect(plain).toContain("post /api/v1/login");
    expect(plain).toContain("get /api/v1/sign-in/callback");
    // tRPC is for our own clients; what it does for others is in the REST paths. MCP refuses other methods than POST.
    const routes = plain.filter((route) => !["all /api/trpc/*", "all /api/v1/mcp"].includes(route));
    const procedures = Object.keys(PROCEDURES).map((path) => `get ${path}`);
    expect(described.sort()).toEqual([...new Set([...OTHERS, ...procedures, ...routes])].sort());
  });

  it.each<
    [method: string, path: string, status: number, sent?: { query?: string; body?: unknown; as?: string }]
  >([
    ["post", "/api/v1/login", 400, { body: {} }],
    ["post", "/api/v1/login", 401, { body: { token: "wrong" } }],
    ["post", "/api/v1/logout", 200],
    ["get", "/api/v1/sign-in", 200],
    ["get", "/api/v1/sign-in/start", 404],
    ["get", "/api/v1/sign-in/callback", 404],
    ["post", "/api/v1/device/code", 200, { body: { machine: "laptop" } }],
    ["post", "/api/v1/device/code", 400, { body: {} }],
    ["post", "/api/v1/device/token", 200, { body: { device_code: "unknown" } }],
    ["post", "/api/v1/device/token", 400, { body: {} }],
    ["post", "/api/v1/device/revoke", 401],
    ["get", "/api/v1/local-proof", 200, { query: `?challenge=${"0".repeat(64)}` }],
    ["get", "/api/v1/local-proof", 400],
    ["get", "/api/v1/sessions.csv", 200, { query: `?${rangeQuery}`, as: "local" }],
    ["get", "/api/v1/sessions.csv", 400, { as: "local" }],
    ["post", "/api/v1/sessions.csv", 400, { body: {}, as: "local" }],
    ["get", "/api/v1/backup", 401],
    ["post", "/api/v1/restore", 401],
    ["post", "/api/v1/mcp", 401],
    ["post", "/api/v1/mcp", 400, { body: [], as: "local" }],
    ["get", "/api/v1/live", 401],
    ["get", "/healthz", 200],
    ["get", "/readyz", 200],
    ["get", "/metrics", 200, { as: "local" }],
    ["get", "/metrics", 401],
  ])(
    "describes what %s %s answers with %d",
    async (method, path, status, { query = "", body, as = "" } = {}) => {
      const answer = await server.request(path + query, {
        method: method.toUpperCase(),
        headers: { ...(as !== "local" && { authorization: "" }), "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expect(answer.status, answer.text).toBe(status);
      const { content } = document.paths[path]![method]!.responses[status]!;
      const type = Object.keys(content!)[0]!;
      expect(answer.headers.get("content-type")).toContain(type);
      if (type !== "application/json") return;
      expect(schemaOf(path, method, String(status)).safeParse(answer.body).error?.issues ?? []).toEqual([]);
    },
  );

  it("gives every operation an id and an error for every client's mistake", () => {
    const ids = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).map((operation) => operation.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(undefined);
  });
});

describe.each(Object.keys(PROCEDURES))("GET %s", (path) => {
  const queries = QUERIES[path] ?? [""];
  const idFor = (of: string) => {
    if (of.includes("/deliveries/")) return deliveryId;
    if (of.includes("/endpoints/")) return endpointId;
    if (of.includes("/replays/")) return replayId;
    return of.includes("/rules/") ? ruleId : sessionId;
  };
  const urlOf = (query: string) =>
    `${path.replace("{id}", idFor(path)).replace("{session}", sessionId).replace("{endpoint}", endpointId).replace("{generation}", "1")}${query && `?${query}`}`;

  it("answers with what the document says, and with what its procedure says", async () => {
    const schema = schemaOf(path, "get", "200");
    for (const query of queries) {
      const { status, body, headers } = await server.get(urlOf(query));
      expect(status, query).toBe(200);
      expect(headers.get("content-type")).toContain("application/json");
      const checked = schema.safeParse(body);
      expect(checked.error?.issues ?? [], query).toEqual([]);
      const input = Object.fromEntries(new URLSearchParams(query)) as Record<string, unknown>;
      if (path.includes("{id}")) input.id = idFor(path);
      if (path.includes("{session}")) input.session = sessionId;
      if (path.includes("{endpoint}")) input.endpoint = endpointId;
      if (path.includes("{generation}")) input.generation = 1;
      for (const number of ["limit", "step", "cursor"])
        if (number in input) input[number] = Number(input[number]);
      expect(timeless(await server.trpc(PROCEDURES[path]!, input)), query).toEqual(timeless(body));
    }
  });

  it("refuses a caller without a key in the one shape of errors", async () => {
    const { status, body } = await server.request(urlOf(queries[0]!), { headers: { authorization: "" } });
    expect(status).toBe(401);
    expect(schemaOf(path, "get", "401").safeParse(body).error?.issues ?? []).toEqual([]);
    expect(body).toMatchObject({ error: { code: "unauthenticated" } });
  });
});

describe("POST /api/v1/events", () => {
  it("answers with what the document says", async () => {
    const good = await server.send([turn(unique("session"), 1), { type: "nonsense" }]);
    const schema = schemaOf("/api/v1/events", "post", "200");
    expect(schema.safeParse(good.body).error?.issues ?? []).toEqual([]);
    const bad = await server.request("/api/v1/events", {
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json" },
    });
    expect(schemaOf("/api/v1/events", "post", "400").safeParse(bad.body).error?.issues ?? []).toEqual([]);
  });
});
