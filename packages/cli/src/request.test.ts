import { readFile } from "node:fs/promises";
import { type AddressInfo, connect as connectTo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import { connect } from "./connection.ts";
import { request } from "./request.ts";
import { startFakeServer } from "./testing/fake-server.ts";
import { type Plimsoll, startPlimsoll } from "./testing/real-server.ts";

const NOT_OURS = /it is not the server that this command's local token belongs to. The token was not sent/;

describe("with the local token", () => {
  let server: Plimsoll;
  let token: string;
  const listeners: Server[] = [];
  beforeAll(async () => {
    server = await startPlimsoll();
    token = (await readFile(join(server.home, "local-token"), "utf8")).trim();
  });
  afterEach(() => {
    for (const listener of listeners.splice(0)) listener.close();
  });
  afterAll(() => server?.stop());

  const connectionTo = (url: string) => connect({ url }, { PLIMSOLL_HOME: server.home });

  /** A program of somebody else on this machine. Records what it hears, and answers, or passes it on to the server. */
  async function listen(
    address: string,
    port: number,
    answer: string | "relay",
  ): Promise<{ url: string; heard: () => string }> {
    let heard = "";
    const listener = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (data) => {
        heard += data;
      });
      if (answer === "relay") {
        const real = connectTo(Number(new URL(server.url).port), "127.0.0.1");
        real.on("error", () => socket.destroy());
        // The server answers only for its own name.
        socket.on("data", (data) =>
          real.write(String(data).replace(/host: .*/i, `Host: ${new URL(server.url).host}`)),
        );
        real.pipe(socket);
      } else socket.once("data", () => socket.end(answer));
    });
    await new Promise<void>((resolve, reject) =>
      listener.once("error", reject).listen(port, address, resolve),
    );
    listeners.push(listener);
    const own = (listener.address() as AddressInfo).port;
    return { url: `http://${address.includes(":") ? `[${address}]` : address}:${own}`, heard: () => heard };
  }

  const json = (body: string) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

  it.each([
    [
      "that answers nothing we know",
      "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ],
    ["that answers an error page", json("<html></html>")],
    ["that makes up a proof", json(JSON.stringify({ instance: "x", proof: "0".repeat(64) }))],
    ["that sends no end of data", `HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n${"x".repeat(100_000)}`],
  ])("a listener %s gets no credential", async (_, answer) => {
    const fake = await listen("127.0.0.1", 0, answer);
    const connection = await connectionTo(fake.url);
    await expect(request(connection, "/api/v1/fleet")).rejects.toThrow(/not the server|too long/);
    expect(fake.heard()).toContain("GET /api/v1/local-proof?challenge=");
    expect(fake.heard()).not.toMatch(/authorization/i);
    expect(fake.heard()).not.toContain(token);
  });

  it("a listener that passes the challenge on to the server gets no credential", async () => {
    const relay = await listen("127.0.0.1", 0, "relay");
    await expect(request(await connectionTo(relay.url), "/api/v1/fleet")).rejects.toThrow(NOT_OURS);
    expect(relay.heard()).toContain("local-proof");
    expect(relay.heard()).not.toMatch(/authorization/i);
  });

  it("not even one with the same port on another address of this machine", async () => {
    const { port } = new URL(server.url);
    const relay = await listen("::1", Number(port), "relay").catch(() => undefined);
    // A machine without IPv6 has no such address.
    if (relay === undefined) return;
    await expect(request(await connectionTo(relay.url), "/api/v1/fleet")).rejects.toThrow(NOT_OURS);
    expect(relay.heard()).not.toMatch(/authorization/i);
    const byName = await connectionTo(`http://localhost:${port}`);
    await request(byName, "/api/v1/fleet").then(
      (response) => expect(response.status).toBe(200),
      (error) => expect(String(error)).toMatch(NOT_OURS),
    );
    expect(relay.heard()).not.toMatch(/authorization/i);
  });

  it("the server proves itself, and the token itself is never sent", async () => {
    const connection = await connectionTo(server.url);
    const sent: (string | null)[] = [];
    const send = (url: string, init: RequestInit) => {
      sent.push(new Headers(init.headers).get("authorization"));
      return fetch(url, init);
    };
    expect((await request(connection, "/api/v1/fleet", {}, send)).status).toBe(200);
    expect((await request(connection, "/api/v1/harnesses", {}, send)).status).toBe(200);
    expect(sent).toEqual([sent[0], sent[0]]);
    expect(sent[0]).toMatch(/^Plimsoll-Local [0-9a-f]{64}$/);
    expect(sent[0]).not.toContain(token);
    const anything = { safeParse: (data: unknown) => ({ success: true as const, data }) };
    const client = createClient(connection);
    expect(await client.query("projects.list", {}, anything)).toMatchObject({
      projects: [{ name: "default" }],
    });
  });

  it("the proof of one run of the server is of no use to the next, and a command goes on", async () => {
    const other = await startPlimsoll();
    try {
      const first = await connect({ url: other.url }, { PLIMSOLL_HOME: other.home });
      let proof = "";
      const send = (url: string, init: RequestInit) => {
        proof = new Headers(init.headers).get("authorization") ?? "";
        return fetch(url, init);
      };
      expect((await request(first, "/api/v1/fleet", {}, send)).status).toBe(200);
      const old = proof;
      await other.restart();
      const stale = await fetch(`${other.url}/api/v1/fleet`, { headers: { authorization: old } });
      expect(stale.status).toBe(401);
      expect((await request(first, "/api/v1/fleet", {}, send)).status).toBe(200);
      expect(proof).not.toBe(old);
    } finally {
      await other.stop();
    }
  });
});

it("follows no redirect, and names where it leads", async () => {
  const target = await startFakeServer({
    routes: {
      "/api/v1/fleet": (_, response) => response.writeHead(308, { location: "https://p.example/x" }).end(),
    },
  });
  try {
    const connection = await connect({ url: target.url, key: "plim_x" }, {});
    await expect(request(connection, "/api/v1/fleet")).rejects.toThrow(
      `${target.url} redirects to https://p.example.`,
    );
  } finally {
    await target.close();
  }
});
