import { afterAll, beforeAll, expect, it } from "vitest";
import { ENDPOINTS } from "../../../fuzz/endpoints.ts";
import { startTestServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let cookie: string;
let own: string;

beforeAll(async () => {
  server = await startTestServer();
  own = server.url;
  const { url } = await server.mutate<{ url: string }>("login.create");
  const { headers } = await ask(
    "POST",
    "/api/v1/login",
    {},
    JSON.stringify({ token: new URL(url).hash.slice(1) }),
  );
  cookie = headers.get("set-cookie")!.split(";", 1)[0]!;
});
afterAll(() => server?.stop());

function ask(method: string, path: string, headers: Record<string, string>, body?: string) {
  return fetch(`${own}${path}`, {
    ...{ method, redirect: "manual" },
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body }),
  });
}

/** What a browser says of a page that is not ours. */
const ELSEWHERE: Record<string, string>[] = [
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "cross-site", origin: "null" },
  { origin: "null" },
  { origin: "http://evil.example" },
  { origin: "http://localhost:3000" },
];

/** Needs no login, or takes no cookie but to end it. */
const OPEN = ["/healthz", "/readyz", "/openapi.json", "/login", "/_next/image", "/api/v1/login"];
/** Machines without a cookie ask here. */
const isOfMachines = (path: string) => /^\/api\/v1\/device\/(?:code|token)$/.test(path);
/** The identity provider's site sends a browser here, which has no cookie of ours yet. */
const isSignIn = (path: string) => path.startsWith("/api/v1/sign-in");
const isPage = (path: string) => path === "/";

const routes = ENDPOINTS.filter(
  ({ path }) => !OPEN.includes(path) && !isPage(path) && !isOfMachines(path) && !isSignIn(path),
)
  .filter(({ path }) => !path.startsWith("/api/v1/local"))
  .map(
    ({ method, path }) => [method, path.replace(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000")] as const,
  );

it("the routes include tRPC, the test of an alert endpoint and the backup", () => {
  const names = routes.map(([method, path]) => `${method} ${path}`);
  expect(names).toContain("POST /api/trpc/alerts.endpoints.test");
  expect(names).toContain("POST /api/v1/alerts/endpoints/00000000-0000-4000-8000-000000000000/test");
  expect(names).toContain("GET /api/v1/backup");
  expect(names).toContain("POST /api/v1/restore");
  expect(names.filter((name) => name.includes("/api/trpc/")).length).toBeGreaterThan(80);
});

it.each(routes)("%s %s takes the cookie from no page of another origin", async (method, path) => {
  const reads = method === "GET";
  const changes = [{}, { "sec-fetch-site": "none" }];
  for (const headers of [...ELSEWHERE, ...(reads ? [] : changes)] as Record<string, string>[]) {
    const answer = await ask(method, path, { ...headers, cookie }, reads ? undefined : "{}");
    expect(answer.status, `${JSON.stringify(headers)} ${await answer.text()}`).toBe(403);
  }
});

it("a page of ours and a person may read and change", async () => {
  for (const headers of [
    {},
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin" },
    { origin: own },
  ]) {
    expect((await ask("GET", "/api/trpc/keys.list", { ...headers, cookie } as never)).status).toBe(200);
    expect((await ask("HEAD", "/api/v1/backup", { ...headers, cookie } as never)).status).toBe(200);
  }
  const body = JSON.stringify({ name: "ours", scopes: ["read"] });
  const headers = { "sec-fetch-site": "same-origin", origin: own, cookie };
  expect((await ask("POST", "/api/trpc/keys.create", headers, body)).status).toBe(200);
});
