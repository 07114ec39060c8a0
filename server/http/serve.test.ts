import { Agent, createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../errors.ts";
import { type HttpStack, startHttpStack } from "../testing/http-stack.ts";
import { untilPasses } from "../testing/until.ts";

let server: HttpStack;
afterEach(() => server?.stop());

const logIn = async () => {
  const { session } = await server.browsers.login(await server.browsers.createLoginToken(), "");
  return { session, cookie: `plimsoll_session_${server.port}=${session}` };
};

describe("pages", () => {
  it("are for browsers that logged in; others are sent to the login page and back after", async () => {
    server = await startHttpStack();
    const { status, headers, text } = await server.send("/sessions?from=now-6h");
    expect(status).toBe(302);
    expect(headers.location).toBe("/login?next=%2Fsessions%3Ffrom%3Dnow-6h");
    expect(text).toBe("");
    expect((await server.send("/")).headers.location).toBe("/login");
    expect((await server.send("/", { method: "POST" })).status).toBe(401);

    const { cookie } = await logIn();
    const page = await server.send("/sessions", { headers: { cookie } });
    expect(page).toMatchObject({ status: 200, text: "a page" });
    expect(page.headers).toMatchObject({
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
  });

  it("need no login where logging in needs them", async () => {
    server = await startHttpStack();
    for (const path of ["/login", "/_next/static/a.js", "/icon.svg"]) {
      expect((await server.send(path)).status).toBe(200);
    }
  });

  it("prolong the login of who keeps coming", async () => {
    server = await startHttpStack();
    const { session, cookie } = await logIn();
    expect((await server.send("/", { headers: { cookie } })).headers["set-cookie"]).toBeUndefined();
    const soon = new Date(Date.now() + 5 * 86_400_000);
    await server.database.prisma.browserSession.updateMany({ data: { expiresAt: soon } });
    server.browsers.forget(null);
    const { headers } = await server.send("/", { headers: { cookie } });
    expect(headers["set-cookie"]![0]).toMatch(
      new RegExp(`^plimsoll_session_${server.port}=${session}; .*Max-Age=2592000`),
    );
  });

  it("answer a failure in the one shape", async () => {
    server = await startHttpStack({
      pages: async () => {
        throw new Error("boom with a secret");
      },
    });
    const { status, json } = await server.send("/login");
    expect(status).toBe(500);
    expect(json).toEqual({ error: { code: "internal", message: "Something went wrong in the server." } });
  });

  it("tell a person of a failure in a page, which asks again while asking may help", async () => {
    let failure: Error = new PlimsollError("database_unreachable", "The <database> is away.");
    server = await startHttpStack({
      pages: async () => {
        throw failure;
      },
    });
    const look = () =>
      fetch(`http://127.0.0.1:${server.port}/login`, { headers: { accept: "text/html,*/*;q=0.8" } });
    const away = await look();
    expect(away.status).toBe(503);
    expect(away.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(away.headers.get("retry-after")).toBe("1");
    const text = await away.text();
    expect(text).toContain("The &lt;database&gt; is away.");
    expect(text).toContain('http-equiv="refresh"');
    failure = new Error("boom with a secret");
    const broken = await look();
    expect(broken.status).toBe(500);
    const words = await broken.text();
    expect(words).toContain("Something went wrong in the server.");
    expect(words).not.toMatch(/secret|refresh/);
  });
});

describe("serve", () => {
  it("says which port is taken and what to do", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const { serve } = await import("./serve.ts");
    const taken = serve({ host: "127.0.0.1", port, hostRules: { port: 0, names: [] } } as never);
    await expect(taken).rejects.toMatchObject({
      code: "port_in_use",
      message: expect.stringContaining(String(port)),
      hint: expect.stringContaining(`PORT=${port + 1}`),
    });
    other.close();
  });

  it("lets a request under way finish, and takes no new one", async () => {
    let finish: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let arrived = false;
    server = await startHttpStack({
      routes: [
        (app) => {
          app.get("/api/v1/slow", async (c) => {
            arrived = true;
            await held;
            return c.json({ done: true });
          });
        },
      ],
    });
    // A connection that would be kept alive.
    const agent = new Agent({ keepAlive: true });
    const slow = new Promise<number | undefined>((resolve, reject) => {
      request({ agent, host: "127.0.0.1", port: server.port, path: "/api/v1/slow" }, (incoming) => {
        incoming.resume().on("end", () => resolve(incoming.statusCode));
      })
        .on("error", reject)
        .end();
    });
    await untilPasses(() => expect(arrived).toBe(true));
    const closing = server.close();
    await expect(server.send("/healthz")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    finish();
    expect(await slow).toBe(200);
    await closing;
    agent.destroy();
  });

  it("cuts what does not finish in time", async () => {
    let arrived = false;
    server = await startHttpStack({
      graceMs: 100,
      routes: [
        (app) => {
          app.get("/api/v1/never", () => {
            arrived = true;
            return new Promise<Response>(() => {});
          });
        },
      ],
    });
    const never = server.send("/api/v1/never");
    never.catch(() => {});
    await untilPasses(() => expect(arrived).toBe(true));
    await server.close();
    await expect(never).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("answers a client that offers an upgrade, as some do with every request", async () => {
    server = await startHttpStack();
    const socket = connect(server.port, "127.0.0.1");
    const host = `127.0.0.1:${server.port}`;
    socket.write(
      `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n`,
    );
    const answer = await new Promise<string>((resolve) => socket.once("data", (d) => resolve(String(d))));
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    socket.destroy();
  });
});
