import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PlimsollError } from "../errors.ts";
import { type Principal, requirePermission } from "../tenants/access/principal.ts";
import { LOCAL } from "../testing/actor.ts";
import { type HttpStack, startHttpStack } from "../testing/http-stack.ts";
import { untilPasses } from "../testing/until.ts";

let server: HttpStack;

const FAILURES: Record<string, Error> = {
  bug: new Error("SELECT secret FROM somewhere"),
  busy: new PlimsollError("overloaded", "Busy.", { details: { retry_after_seconds: 7 } }),
  away: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
};

beforeAll(async () => {
  server = await startHttpStack({
    names: ["plimsoll.example.com"],
    events: async ({ headers }) => {
      const failure = FAILURES[String(headers["x-failure"])];
      if (failure !== undefined) throw failure;
      return { answer: { accepted: 1, rejected: [] }, headers: {} };
    },
    routes: [
      (app) => {
        app.get("/api/v1/broken", () => {
          throw FAILURES.bug;
        });
        app.get("/api/v1/busy", () => {
          throw FAILURES.busy;
        });
      },
    ],
    trpc: async (request, { authenticate }) => {
      const principal = await authenticate();
      return Response.json({ path: new URL(request.url).pathname, kind: principal?.kind ?? null });
    },
    rest: async (request, { authenticate }) => {
      requirePermission(await authenticate(), "read");
      return Response.json({ rest: new URL(request.url).pathname });
    },
  });
});
afterAll(() => server.stop());

const own = () => `127.0.0.1:${server.port}`;

/** Logs a browser in and gives the Cookie header it would send. */
async function logIn(host = own()): Promise<{ cookie: string }> {
  const token = await server.browsers.createLoginToken();
  const { status, headers } = await server.send("/api/v1/login", { body: { token }, headers: { host } });
  expect(status).toBe(200);
  return { cookie: headers["set-cookie"]![0]!.split(";", 1)[0]! };
}

describe("the Host check", () => {
  it.each(["evil.example.com", "evil.example.com:80", "localhost:1"])("turns %s away", async (host) => {
    const asked = ["/healthz", "/metrics", "/api/v1/events", "/", "/_next/static/x.js"].map((path) => [
      path,
      "GET",
    ]);
    for (const [path, method] of [...asked, ["/api/v1/events", "POST"]]) {
      const { status, json } = await server.send(path!, { method, headers: { host } });
      expect(status).toBe(400);
      expect(json).toMatchObject({
        error: { code: "bad_request", message: expect.stringContaining("PLIMSOLL_ALLOWED_HOSTS") },
      });
    }
  });

  it("lets its own names and the configured ones in", async () => {
    for (const host of [own(), `localhost:${server.port}`, "plimsoll.example.com"]) {
      expect((await server.send("/healthz", { headers: { host } })).status).toBe(200);
    }
  });

  /** Sends a head as it is, and returns the status and the body. */
  async function raw(head: string): Promise<{ status: number; body: string }> {
    const socket = connect(server.port, "127.0.0.1");
    socket.end(`${head.replaceAll("\n", "\r\n")}\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);
    return { status: Number(answer.split(" ", 2)[1]), body: /\{.*\}/s.exec(answer)?.[0] ?? "" };
  }

  it.each(["/healthz", "/api/v1/events", "/api/trpc/fleet", "/", "/_next/static/x.js"])(
    "turns away several hosts, none, and a target of another host at %s",
    async (path) => {
      for (const [head, reason] of [
        [`GET ${path} HTTP/1.1\nHost: ${own()}\nHost: evil.example`, "several"],
        [`GET ${path} HTTP/1.1\nHost: ${own()}\nhost: ${own()}`, "several"],
        [`POST ${path} HTTP/1.1\nHost: ${own()}\nHOST: evil.example\nContent-Length: 0`, "several"],
        [`GET ${path} HTTP/1.0`, "no host"],
        [`GET ${path} HTTP/1.1\nHost:`, "no host"],
        [`GET http://evil.example${path} HTTP/1.1\nHost: ${own()}`, "request line"],
        [`GET http://${own()}@evil.example${path} HTTP/1.1\nHost: ${own()}`, "request line"],
        [`GET http://${own()}${path} HTTP/1.1\nHost: evil.example`, "PLIMSOLL_ALLOWED_HOSTS"],
        [`GET ftp://${own()}${path} HTTP/1.1\nHost: ${own()}`, "request line"],
      ]) {
        const { status, body } = await raw(head!);
        expect(status, head).toBe(400);
        expect(JSON.parse(body), head).toMatchObject({
          error: { code: "bad_request", message: expect.stringContaining(reason!) },
        });
      }
      expect(await raw(`GET ${path} HTTP/1.1`)).toMatchObject({ status: 400 });
    },
  );

  it("reads the path of an address in the request line that names this server", async () => {
    expect(await raw(`GET http://${own()}/healthz HTTP/1.1\nHost: ${own()}`)).toMatchObject({ status: 200 });
    const { status } = await raw(`GET http://${own().toUpperCase()}?x HTTP/1.1\nHost: ${own()}`);
    expect(status).toBe(302);
  });

  it("answers a broken Host in the one shape", async () => {
    const { status, json } = await server.send("/healthz", { headers: { host: "a b" } });
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { code: "bad_request" } });
  });
});

describe("errors", () => {
  const failing = (failure: string) =>
    server.send("/api/v1/events", { body: [], headers: { "x-failure": failure } });

  it.each([
    ["routes", () => server.send("/api/v1/busy")],
    ["events", () => failing("busy")],
  ])("of %s have one shape, and a request id", async (_what, sent) => {
    const { status, json, headers } = await sent();
    expect(status).toBe(503);
    expect(json).toEqual({
      error: { code: "overloaded", message: "Busy.", details: { retry_after_seconds: 7 } },
    });
    expect(headers).toMatchObject({ "retry-after": "7", "x-request-id": expect.stringMatching(/^\w+-\w+$/) });
  });

  it("tell a sender that the database is away, and not where it is", async () => {
    const { status, json, text, headers } = await failing("away");
    expect(status).toBe(503);
    expect(json).toMatchObject({ error: { code: "database_unreachable" } });
    expect(headers["retry-after"]).toBe("1");
    expect(text).not.toContain("ECONNREFUSED");
  });

  it.each([
    ["routes", () => server.send("/api/v1/broken")],
    ["events", () => failing("bug")],
  ])("of %s keep the text of what nobody foresaw inside", async (_what, sent) => {
    const { status, text } = await sent();
    expect(status).toBe(500);
    expect(text).not.toContain("SELECT");
  });

  it("say how to be let in", async () => {
    const { status, headers, json } = await server.send("/api/v1/status");
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe("Bearer");
    expect(json).toMatchObject({ error: { code: "unauthenticated" } });
  });

  it("tell what is not there", async () => {
    const { status, json } = await server.send("/api/other");
    expect(status).toBe(404);
    expect(json).toMatchObject({
      error: { code: "not_found", message: "There is nothing at GET /api/other." },
    });
    expect((await server.send("/api/v1/events/x", { method: "PUT" })).status).toBe(401);
  });
});

describe("what is mounted", () => {
  it("reaches the routes, tRPC and the REST API", async () => {
    expect((await server.send("/api/v1/events", { body: [] })).json).toEqual({ accepted: 1, rejected: [] });
    expect((await server.send("/api/trpc/fleet?x=1")).json).toEqual({ path: "/api/trpc/fleet", kind: null });
    const { authorization } = await server.key("read");
    const headers = { authorization };
    expect((await server.send("/api/trpc/fleet", { headers })).json).toMatchObject({ kind: "key" });
    expect((await server.send("/api/v1/status", { headers })).json).toEqual({ rest: "/api/v1/status" });
    expect((await server.send("/openapi.json", { headers })).json).toEqual({ rest: "/openapi.json" });
  });

  it("asks for the scope", async () => {
    const { authorization } = await server.key("ingest");
    const { status, json } = await server.send("/api/v1/status", { headers: { authorization } });
    expect(status).toBe(403);
    expect(json).toMatchObject({ error: { code: "forbidden_scope", details: { required: "read" } } });
  });
});

describe("login", () => {
  it("exchanges a token once for a cookie that opens the API", async () => {
    const token = await server.browsers.createLoginToken();
    const first = await server.send("/api/v1/login", { body: { token } });
    expect(first.status).toBe(200);
    expect(first.headers["cache-control"]).toBe("no-store");
    const cookie = first.headers["set-cookie"]![0]!;
    expect(cookie).toMatch(
      /^plimsoll_session_\d+=\w{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const headers = { cookie: cookie.split(";", 1)[0]! };
    expect((await server.send("/api/v1/status", { headers })).status).toBe(200);
    const second = await server.send("/api/v1/login", { body: { token } });
    expect(second.status).toBe(401);
    expect(second.headers["set-cookie"]).toBeUndefined();
  });

  it("marks the cookie Secure behind https", async () => {
    const token = await server.browsers.createLoginToken();
    const { headers } = await server.send("/api/v1/login", {
      body: { token },
      headers: { "x-forwarded-proto": "https" },
    });
    expect(headers["set-cookie"]![0]).toMatch(/; HttpOnly; Secure; SameSite=Strict$/);
  });

  it("is refused to pages of other origins, and their token still works after", async () => {
    const token = await server.browsers.createLoginToken();
    const elsewhere: Record<string, string>[] = [
      { origin: "http://localhost:3000" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const headers of elsewhere) {
      const { status } = await server.send("/api/v1/login", { body: { token }, headers });
      expect(status).toBe(403);
    }
    const headers = { origin: `http://${own()}` };
    expect((await server.send("/api/v1/login", { body: { token }, headers })).status).toBe(200);
  });

  it("reads no more than it needs", async () => {
    expect((await server.send("/api/v1/login", { body: "{" })).json).toMatchObject({
      error: { code: "bad_request" },
    });
    const { status, json } = await server.send("/api/v1/login", { body: { token: "x".repeat(5_000) } });
    expect(status).toBe(413);
    expect(json).toMatchObject({ error: { code: "too_large" } });
  });

  it("takes the cookie for changes from our own origin only", async () => {
    const { cookie } = await logIn();
    const post = (origin: string) =>
      server.send("/api/v1/things", { body: {}, headers: { cookie, origin, host: own() } });
    expect((await post("http://localhost:3000")).status).toBe(403);
    expect((await post(`http://${own()}`)).status).toBe(200);
  });

  it("ends with a logout, from our own pages", async () => {
    const { cookie } = await logIn();
    const logOut = (origin: string) =>
      server.send("/api/v1/logout", { method: "POST", headers: { cookie, origin } });
    const foreign = await logOut("http://evil.example.com");
    expect(foreign.status).toBe(403);
    const { status, headers } = await logOut(`http://${own()}`);
    expect(status).toBe(200);
    expect(headers["set-cookie"]![0]).toMatch(/^plimsoll_session_\d+=; .*Max-Age=0/);
    expect((await server.send("/api/v1/status", { headers: { cookie } })).status).toBe(401);
    expect((await logOut(`http://${own()}`)).status).toBe(200);
  });

  it("takes the local token on this machine", async () => {
    const headers = { authorization: `Bearer ${server.local}` };
    expect((await server.send("/api/v1/status", { headers })).status).toBe(200);
  });

  it.each([
    ...["X-Forwarded-For", "X-Forwarded", "Forwarded-For", "X-Envoy-External-Address", "Fly-Client-IP"],
    ...["X-Amzn-Trace-Id", "X-Forwarded-Prefix", "Via", "X-Real-Ip", "CF-Ray", ""],
  ])("does not take the local token through a proxy that adds %s", async (name) => {
    const headers = { authorization: `Bearer ${server.local}`, ...(name !== "" && { [name]: "10.0.0.1" }) };
    expect((await server.send("/api/v1/status", { headers })).status).toBe(name === "" ? 200 : 401);
  });
});

describe("two processes of one database", () => {
  it("agree at once on a revoked key and on a logout", async () => {
    const rest = async (_: Request, { authenticate }: { authenticate(): Promise<Principal | undefined> }) => {
      requirePermission(await authenticate(), "read");
      return Response.json({});
    };
    // A browser asks both under the one name of what stands before them.
    const host = "plimsoll.example.com";
    const other = await startHttpStack({ database: server.database, rest, names: [host] });
    try {
      const { authorization, id } = await server.key("read");
      const { cookie } = await logIn(host);
      const status = async (at: HttpStack, headers: Record<string, string>) =>
        (await at.send("/api/v1/status", { headers: { ...headers, host } })).status;
      for (const headers of [{ authorization }, { cookie }] as Record<string, string>[]) {
        expect([await status(server, headers), await status(other, headers)]).toEqual([200, 200]);
      }
      await server.keys.revoke(1, id, LOCAL);
      await server.send("/api/v1/logout", {
        method: "POST",
        headers: { cookie, host, origin: `http://${host}` },
      });
      await untilPasses(async () => {
        expect(await status(other, { authorization })).toBe(401);
        expect(await status(other, { cookie })).toBe(401);
      });
    } finally {
      await other.stop();
    }
  });
});
