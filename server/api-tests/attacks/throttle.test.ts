import { afterEach, expect, it } from "vitest";
import { makeKey, makeToken } from "../../key-format.ts";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { makeKey as createKey, turn, unique } from "../support.ts";

let server: TestServer;
afterEach(async () => {
  await server.expectHealthy();
  await server.stop();
});

it("1,500 wrong keys are throttled, and no good key is refused or kept waiting meanwhile", async () => {
  server = await startTestServer({});
  const statuses = new Map<number, number>();
  const flood = Promise.all(
    Array.from({ length: 50 }, async () => {
      for (let n = 0; n < 30; n++) {
        const { status, headers } = await server.get("/api/v1/fleet", makeKey().secret);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      }
    }),
  );
  // A key that no process has seen yet must be looked up.
  for (let n = 0; n < 10; n++) {
    const { secret } = await createKey(server, "ingest", "read");
    expect((await server.send([turn(unique("session"), 1_000)], secret)).status).toBe(200);
    expect((await server.get("/api/v1/fleet", secret)).status).toBe(200);
  }
  await flood;
  expect(Object.fromEntries(statuses)).toEqual({ 401: 30, 429: 1_470 });
  expect(server.output().match(/too many wrong keys/g)).toHaveLength(1);
});

it("wrong login links lock nobody out", async () => {
  server = await startTestServer({});
  const login = (token: string, headers: Record<string, string> = {}) =>
    server.request("/api/v1/login", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "", ...headers },
      body: JSON.stringify({ token }),
    });
  const statuses: number[] = [];
  for (let n = 0; n < 40; n++) statuses.push((await login(makeToken())).status);
  expect(statuses).toEqual([...Array(30).fill(401), ...Array(10).fill(429)]);
  const { url } = await server.mutate<{ url: string }>("login.create", {});
  const good = await login(new URL(url).hash.slice(1));
  expect(good.status).toBe(200);
  expect(good.headers.get("set-cookie")).toContain("HttpOnly");
});

it("a request with a header of proxies is not local, whether its proxy is trusted or not", async () => {
  server = await startTestServer({ env: { PLIMSOLL_TRUSTED_PROXIES: "loopback" } });
  for (const [name, value] of [
    ["Via", "1.1 proxy"],
    ["X-Real-IP", "203.0.113.9"],
    ["X-Forwarded-For", "127.0.0.1"],
    ["X-Forwarded-Proto", "https"],
    ["Forwarded", "for=127.0.0.1"],
    ["CF-Connecting-IP", "203.0.113.9"],
  ] as const) {
    const { status, body } = await server.request("/api/v1/projects", { headers: { [name]: value } });
    expect(status, name).toBe(401);
    expect(body, name).toMatchObject({
      error: { message: expect.stringContaining("server's own machine") },
    });
    expect((await server.get("/api/v1/projects")).status, name).toBe(200);
  }
});

it("behind a trusted proxy, one visitor's wrong keys do not throttle another's, who cannot pretend", async () => {
  server = await startTestServer({ env: { PLIMSOLL_TRUSTED_PROXIES: "loopback" } });
  const wrong = async (forwardedFor: string) =>
    (
      await server.request("/api/v1/fleet", {
        headers: { authorization: `Bearer ${makeKey().secret}`, "x-forwarded-for": forwardedFor },
      })
    ).status;
  for (let n = 0; n < 30; n++) expect(await wrong(`10.0.0.${n}, 203.0.113.1`)).toBe(401);
  expect(await wrong("198.51.100.1, 203.0.113.1")).toBe(429);
  expect(await wrong("203.0.113.2")).toBe(401);
});

it("a project's key makes no login and no key for anything but its own project", async () => {
  server = await startTestServer({});
  const { secret } = await createKey(server, "admin");
  const other = await server.mutate<{ id: number }>("projects.create", { name: unique("other") });
  const post = (path: string, body: unknown) =>
    server.request(path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "plimsoll-project": String(other.id),
      },
      body: JSON.stringify(body),
    });
  for (const [path, body] of [
    ["/api/trpc/login.create", {}],
    ["/api/trpc/login.create?batch=1", { 0: {} }],
    ["/api/trpc/keys.create", { name: "x", scopes: ["admin"] }],
    ["/api/trpc/projects.create", { name: "x" }],
    ["/api/v1/projects", { name: "x" }],
  ] as const) {
    const { status } = await post(path, body);
    expect(status, path).toBe(403);
  }
  const own = await server.request("/api/trpc/login.create", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(own.status).toBe(403);
});
