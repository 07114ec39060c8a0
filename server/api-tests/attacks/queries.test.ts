import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { dayRange, rangeQuery, sendAndWait, turn, unique } from "../support.ts";

let server: TestServer;
const session = unique("session");

beforeAll(async () => {
  server = await startTestServer({});
  expect((await sendAndWait(server, [turn(session, 1_000)])).status).toBe(200);
});

afterAll(async () => {
  await server.expectHealthy();
  expect(server.output()).not.toContain("unexpectedly");
  await server.stop();
});

const SOME_ID = "00000000-0000-4000-8000-000000000000";
const ROUTES = [
  "/api/v1/status",
  "/api/v1/fleet",
  "/api/v1/series",
  "/api/v1/digest",
  "/api/v1/breakdown",
  "/api/v1/cache-rebuilds",
  "/api/v1/falls",
  "/api/v1/quality",
  "/api/v1/contents",
  "/api/v1/quota",
  "/api/v1/spending",
  "/api/v1/harnesses",
  "/api/v1/machines",
  "/api/v1/people",
  "/api/v1/harness-lines",
  "/api/v1/sessions",
  `/api/v1/sessions/${SOME_ID}`,
  `/api/v1/sessions/${SOME_ID}/turns`,
  "/api/v1/sessions.csv",
  `/api/v1/sessions/${SOME_ID}/turns.csv`,
  "/api/v1/projects",
  "/api/v1/audit.csv",
  "/api/v1/audit.ndjson",
  "/api/v1/ingest/counts",
  "/metrics",
  "/openapi.json",
  "/healthz",
];

/** Names of members that every object has. */
const INHERITED = [...Object.getOwnPropertyNames(Object.prototype), "prototype", "then"];

/** The answer must be an honest one: an error names what is wrong, and no fault is the server's. */
async function expectAnswered(path: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(`${server.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${server.token}`, ...init.headers },
  });
  const text = await response.text();
  expect(response.status, `${path}\n${text.slice(0, 500)}`).toBeLessThan(500);
  if (response.status >= 400 && !path.startsWith("/api/trpc")) {
    expect(JSON.parse(text), path).toMatchObject({
      error: { code: expect.any(String), message: expect.any(String) },
    });
  }
  return response.status;
}

describe("a query", () => {
  it.each(ROUTES)("of %s may name what every object has", async (route) => {
    for (const name of INHERITED) {
      await expectAnswered(`${route}?${rangeQuery}&metric=turns&${name}=a`);
      await expectAnswered(
        `${route}?${rangeQuery}&metric=${name}&group_by=${name}&sort=${name}&${name}[a]=1`,
      );
    }
  });

  it.each([
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "-000001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "+275760-09-13T00:00:00Z",
    "+294277-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "NaN",
    "",
    "0",
  ])("may begin or end at %j", async (time) => {
    const at = encodeURIComponent(time);
    for (const route of ROUTES) {
      await expectAnswered(`${route}?metric=turns&from=${at}&to=2026-01-01T00:00:00Z`);
      await expectAnswered(`${route}?metric=turns&from=2026-01-01T00:00:00Z&to=${at}`);
      await expectAnswered(`${route}?metric=utilization_p95&group_by=model&step=60&from=${at}&to=${at}`);
    }
  });

  it("may be about all time there is", async () => {
    for (const route of ROUTES) {
      await expectAnswered(`${route}?metric=turns&from=1970-01-01T00:00:00Z&to=9998-12-31T23:59:59Z`);
    }
  });

  it("says which time cannot be asked for", async () => {
    const { status, body } = await server.get(
      "/api/v1/status?from=0000-01-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    );
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        code: "invalid_field",
        message: expect.stringMatching(/^from: .*1970/),
        details: { path: "from" },
      },
    });
  });

  it("of any names and values is answered or refused, and is never a fault of the server", async () => {
    const name = fc.oneof(
      fc.constantFrom(
        ...INHERITED,
        "from",
        "to",
        "limit",
        "cursor",
        "q",
        "harness",
        "machine",
        "repository",
        "metric",
        "step",
        "group_by",
      ),
      fc.constantFrom(
        "sort",
        "order",
        "kind",
        "status",
        "agent_id",
        "id",
        "project",
        "input",
        "batch",
        "a[b]",
        "a.b",
      ),
      fc.string({ maxLength: 10, unit: "binary" }),
    );
    const value = fc.oneof(
      fc.constantFrom(
        "",
        "null",
        "undefined",
        "NaN",
        "Infinity",
        "-1",
        "1e999",
        "999999999999999999999",
        "0x10",
        "[]",
      ),
      fc.constantFrom(
        "{}",
        "%00",
        "%ff",
        "%",
        "%u0000",
        "%ed%a0%80",
        "%F0%9F%98",
        "turns",
        "model",
        "last_at",
        "asc",
      ),
      fc.constantFrom(
        "2026-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        SOME_ID,
        "' OR 1=1 --",
        "\u2028",
        "\u202e",
      ),
      fc.string({ maxLength: 20, unit: "binary" }).map((text) => encodeURIComponent(text.toWellFormed())),
      fc.integer().map(String),
    );
    const query = fc
      .array(fc.tuple(name, value), { maxLength: 6 })
      .map((pairs) =>
        pairs.map(([n, v]) => `${encodeURIComponent(n.toWellFormed())}=${v.replaceAll(" ", "+")}`).join("&"),
      );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...ROUTES), query, fc.boolean(), async (route, asked, withRange) => {
        await expectAnswered(
          encodeURI(`${route}?`) +
            (withRange ? `${rangeQuery}&metric=turns&` : "") +
            asked.replace(/[^\x21-\x7e]/g, encodeURIComponent),
        );
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 120) },
    );
  });
});

describe("a call of tRPC", () => {
  const QUERIES = [
    "status",
    "fleet",
    "fleetPart",
    "series",
    "digest",
    "breakdown",
    "rebuilds",
    "falls",
    "quality",
    "contents",
    "extent",
    "marks",
    "beforeAfter",
    "harnesses",
    "harnessLines",
    "machines.list",
    "quota",
    "spending.days",
    "people.names",
    "sessions.values",
    "sessions.list",
    "sessions.get",
    "projects.list",
  ];

  it("takes any input", async () => {
    const input = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
      fc
        .record({
          from: fc.constant(dayRange.from),
          to: fc.constant(dayRange.to),
          extra: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
      fc.constantFrom(
        '{"__proto__":{"from":"x"}}',
        '{"constructor":{"prototype":{"a":1}}}',
        `{"__proto__":null,"from":"${dayRange.from}","to":"${dayRange.to}"}`,
        '{"json":{"a":1},"meta":{"values":{"a":["Date"]}}}',
        "[[[[[[[[]]]]]]]]",
        "{",
        "",
        "null",
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...QUERIES, ...INHERITED),
        input,
        fc.boolean(),
        async (path, given, batch) => {
          const asked = encodeURIComponent(batch ? `{"0":${given}}` : given);
          await expectAnswered(`/api/trpc/${path}?${batch ? "batch=1&" : ""}input=${asked}`);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 100) },
    );
  });

  it("brings at most 30 calls in a batch", async () => {
    const batch = (calls: number) =>
      `/api/trpc/${Array(calls).fill("harnesses").join()}?batch=1&input=${encodeURIComponent(JSON.stringify(Object.fromEntries([...Array(calls).keys()].map((n) => [n, {}]))))}`;
    expect(await expectAnswered(batch(30))).toBe(200);
    expect(await expectAnswered(batch(31))).toBe(400);
    expect(await expectAnswered(batch(300))).toBe(400);
  });

  it("brings at most a megabyte, declared or not", async () => {
    const body = JSON.stringify({ name: "x".repeat(1024 * 1024), scopes: ["read"] });
    const json = { "content-type": "application/json" };
    expect(await expectAnswered("/api/trpc/keys.create", { method: "POST", headers: json, body })).toBe(413);
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body));
        controller.close();
      },
    });
    const streamed = { method: "POST", headers: json, body: chunks, duplex: "half" } as RequestInit;
    expect(await expectAnswered("/api/trpc/keys.create", streamed)).toBe(413);
    expect(await expectAnswered("/api/v1/projects", { method: "POST", headers: json, body })).toBe(413);
  });
});
