import type { AuditPage } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENDPOINTS } from "../../../fuzz/endpoints.ts";
import {
  ACCESS_TOKEN,
  canListen,
  type NetworkServer,
  networkAddress,
  startNetworkServer,
} from "../../testing/network.ts";

/** Needs no credential, or takes one in its body. */
const OPEN = [
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/login",
  "/_next/image",
  "/api/v1/login",
  "/api/v1/logout",
];
const isOpen = (path: string) =>
  OPEN.includes(path) ||
  path === "/" ||
  path.startsWith("/api/v1/local") ||
  path.startsWith("/api/v1/sign-in") ||
  path.startsWith("/api/v1/device");
const routes = ENDPOINTS.filter(({ path }) => !isOpen(path)).map(
  ({ method, path }) => [method, path.replace(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000")] as const,
);

describe.skipIf(!canListen)("from another machine", () => {
  let server: NetworkServer;
  let cookie: string;
  beforeAll(async () => {
    server = await startNetworkServer();
    const body = JSON.stringify({ access_token: ACCESS_TOKEN });
    const { headers } = await server.ask("/api/v1/login", { body });
    cookie = headers["set-cookie"]![0]!.split(";", 1)[0]!;
  });
  afterAll(() => server?.stop());

  it("knows many routes to attack", () => expect(routes.length).toBeGreaterThan(100));

  it.each(routes)("%s %s is refused without valid credentials", async (method, path) => {
    const body = method === "GET" ? undefined : "{}";
    const asking = (headers: Record<string, string>, plain = false) =>
      server.ask(path, { method, headers, plain, ...(body !== undefined && { body }) });
    const key = "plim_0000000000000000000000000000000000000000000";
    for (const headers of [
      {},
      { authorization: `Bearer ${server.token}` },
      { authorization: `Plimsoll-Local ${"0".repeat(64)}` },
      { authorization: `Bearer ${key}` },
      { authorization: `Bearer ${ACCESS_TOKEN}` },
      { authorization: `Bearer ${server.token}`, "x-forwarded-for": "127.0.0.1" },
      { cookie: `plimsoll_session_${server.port}=${"a".repeat(43)}` },
    ] as Record<string, string>[]) {
      const { status, text } = await asking(headers);
      // 429: after many wrong credentials, this client has to wait.
      expect([401, 429], `${JSON.stringify(headers)} ${text}`).toContain(status);
    }
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: server.publicUrl.replace("https:", "http:") },
      { "sec-fetch-site": "same-site" },
    ] as Record<string, string>[])
      expect((await asking({ ...headers, cookie })).status).toBe(403);
    expect((await asking({ cookie, host: "evil.example" })).status).toBe(400);
    expect((await asking({ cookie }, true)).status).toBe(400);
  });

  it("claims no address of its own choice, whatever it sends", async () => {
    const body = JSON.stringify({ access_token: "wrong" });
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip"])
      await server.ask("/api/v1/login", { body, headers: { [name]: "203.0.113.99" } });
    const { items } = await server.trpc<AuditPage>("audit.list", { action: "login_failed" });
    expect(new Set(items.map(({ actor }) => actor.address))).toEqual(new Set([networkAddress]));
  });

  it("is refused unread after many wrong access tokens, and a login link still works", async () => {
    const attempt = (access_token: string) =>
      server.ask("/api/v1/login", { body: JSON.stringify({ access_token }) });
    const statuses: number[] = [];
    for (let guess = 0; guess < 40; guess++) statuses.push((await attempt(`guess ${guess}`)).status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    const right = await attempt(ACCESS_TOKEN);
    expect(right.status).toBe(429);
    expect(Number(right.headers["retry-after"])).toBeGreaterThan(0);
    const { url } = await server.mutate<{ url: string }>("login.create");
    const body = JSON.stringify({ token: new URL(url).hash.slice(1) });
    expect((await server.ask("/api/v1/login", { body })).status).toBe(200);
  });

  it.each([
    ["no secret", {}],
    ["two", { token: "a", access_token: ACCESS_TOKEN }],
    ["a number", { access_token: 1 }],
    ["an empty text", { access_token: "" }],
    ["a long text", { access_token: "x".repeat(3_000) }],
  ])("%s is no login", async (_, body) => {
    expect((await server.ask("/api/v1/login", { body: JSON.stringify(body) })).status).toBe(400);
  });

  it("a page elsewhere cannot sign a browser in", async () => {
    const body = JSON.stringify({ access_token: ACCESS_TOKEN });
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }] as Record<
      string,
      string
    >[])
      expect((await server.ask("/api/v1/login", { body, headers })).status).toBe(403);
  });
});
