import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { HealthNotice, LiveMessage } from "@plimsoll/protocol/api";
import { afterEach, describe, expect, it } from "vitest";
import { PlimsollError, statusOf } from "../errors.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import type { ChangeListener } from "../live/hub.ts";
import { LOCAL } from "../testing/actor.ts";
import { ANSWERING, type HttpStack, startHttpStack } from "../testing/http-stack.ts";
import { untilPasses } from "../testing/until.ts";
import { createLiveStreams } from "./live.ts";

let server: HttpStack;
afterEach(() => server?.stop());

interface Stream {
  incoming: IncomingMessage;
  text(): string;
  messages(): LiveMessage[];
  /** The generations it has heard of. */
  policies(): number[];
  ended(): boolean;
  leave(): void;
}

const messagesIn = (text: string): LiveMessage[] =>
  [...text.matchAll(/^event: message\ndata: (.*)$/gm)].map(([, data]) =>
    LiveMessage.parse(JSON.parse(data!)),
  );

async function open(headers: Record<string, string>, port = server.port, query = ""): Promise<Stream> {
  let text = "";
  let ended = false;
  const outgoing = request({ host: "127.0.0.1", port, path: `/api/v1/live${query}`, headers, agent: false });
  outgoing.on("error", () => {});
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve).once("error", reject).end();
  });
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    text += chunk;
  });
  incoming.on("end", () => {
    ended = true;
  });
  incoming.on("error", () => {});
  return {
    incoming,
    text: () => text,
    messages: () => messagesIn(text).filter(({ type }) => type === "changed"),
    policies: () =>
      messagesIn(text).flatMap((message) => (message.type === "policy" ? message.generation : [])),
    ended: () => ended,
    leave: () => outgoing.destroy(),
  };
}

const NO_POLICIES = { bookOf: async () => PolicyBook.empty, onChanged: () => () => {} };
const changed = (sessions: string[] | null) => ({ type: "changed", sessions });

describe("/api/v1/live", () => {
  it("needs the scope read", async () => {
    server = await startHttpStack();
    expect((await server.send("/api/v1/live")).status).toBe(401);
    const { authorization } = await server.key("ingest");
    expect((await server.send("/api/v1/live", { headers: { authorization } })).status).toBe(403);
  });

  it("says at once to read everything, then what changes, with ids", async () => {
    server = await startHttpStack();
    const { authorization } = await server.key("read");
    const stream = await open({ authorization });
    expect(stream.incoming.statusCode).toBe(200);
    expect(stream.incoming.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    await untilPasses(() => expect(stream.messages()).toEqual([changed(null)]));
    server.hub.changed(1, ["a", "b"]);
    server.hub.changed(2, ["of another project"]);
    await untilPasses(() => expect(stream.messages()).toEqual([changed(null), changed(["a", "b"])]));
    expect(stream.text()).toMatch(/^retry: 2000\n\nid: 1\n/);
    expect(stream.text()).toContain("id: 2\n");
    stream.leave();
  });

  it("is heard by a browser, in another process' words too", async () => {
    server = await startHttpStack();
    const { session } = await server.browsers.login(await server.browsers.createLoginToken(), "");
    const stream = await open({
      cookie: `plimsoll_session_${server.port}=${session}`,
      "sec-fetch-site": "same-origin",
    });
    const payload = JSON.stringify({ from: "another process", changes: [[1, ["a"]]] });
    await server.database.prisma.$executeRaw`SELECT pg_notify('plimsoll_live', ${payload})`;
    await untilPasses(() => expect(stream.messages()).toEqual([changed(null), changed(["a"])]));
    stream.leave();
  });

  it("shows signs of life, counts its clients, and notices that they left", async () => {
    server = await startHttpStack({ heartbeatMs: 20 });
    const { authorization } = await server.key("read");
    const stream = await open({ authorization });
    await untilPasses(() => expect(stream.text().match(/^: still here$/gm)?.length).toBeGreaterThan(2));
    const metrics = await server.send("/metrics", { headers: { authorization } });
    expect(metrics.text).toContain("plimsoll_live_clients 1");
    stream.leave();
    await untilPasses(() => expect(server.streams.clients()).toBe(0));
  });

  it("ends when the key is revoked", async () => {
    server = await startHttpStack({ heartbeatMs: 20 });
    const { authorization, id } = await server.key("read");
    const stream = await open({ authorization });
    await server.keys.revoke(1, id, LOCAL);
    await untilPasses(() => expect(stream.ended()).toBe(true));
  });

  it("ends when the key is revoked while wrong keys from its address are throttled", async () => {
    server = await startHttpStack({ heartbeatMs: 20 });
    const { authorization, id } = await server.key("read");
    const stream = await open({ authorization });
    let status = 0;
    while (status !== 429) {
      ({ status } = await server.send("/metrics", { headers: { authorization: "Bearer wrong" } }));
    }
    await server.keys.revoke(1, id, LOCAL);
    await untilPasses(() => expect(stream.ended()).toBe(true));
  });

  it("ends when the project is deleted", async () => {
    server = await startHttpStack({ heartbeatMs: 20 });
    const { id } = await server.projects.create("billing", LOCAL);
    const stream = await open({ authorization: `Bearer ${server.local}`, "plimsoll-project": "billing" });
    await untilPasses(() => expect(stream.text()).toContain("still here"));
    await server.projects.delete(id, "billing", LOCAL);
    await untilPasses(() => expect(stream.ended()).toBe(true));
  });

  it("ends when the server loses sight of what changes; who comes back is told to read everything", async () => {
    server = await startHttpStack();
    const { authorization } = await server.key("read");
    const stream = await open({ authorization });
    await untilPasses(() => expect(stream.messages()).toHaveLength(1));
    await server.database.prisma.$queryRaw`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'plimsoll listen' AND datname = current_database()`;
    await untilPasses(() => expect(stream.ended()).toBe(true));
    expect(stream.messages()).toEqual([changed(null)]);
    const back = await untilPasses(async () => {
      const again = await open({ authorization });
      if (again.incoming.statusCode !== 200) again.leave();
      expect(again.incoming.statusCode).toBe(200);
      return again;
    });
    await untilPasses(() => expect(back.messages()).toEqual([changed(null)]));
    back.leave();
  });

  it("holds so many clients and no more", async () => {
    server = await startHttpStack({ maxClients: 1 });
    const { authorization } = await server.key("read");
    const stream = await open({ authorization });
    const { status, json, headers } = await server.send("/api/v1/live", { headers: { authorization } });
    expect(status).toBe(503);
    expect(json).toMatchObject({ error: { code: "overloaded" } });
    expect(headers["retry-after"]).toBe("1");
    stream.leave();
  });

  it("holds 64 streams of a key, whatever other keys and browsers hold, and gives places back", async () => {
    server = await startHttpStack();
    const { authorization } = await server.key("read");
    const other = await server.key("read");
    const streams = await Promise.all(Array.from({ length: 200 }, () => open({ authorization })));
    const statuses = streams.map(({ incoming }) => incoming.statusCode);
    expect(statuses.sort()).toEqual([...Array(64).fill(200), ...Array(136).fill(429)]);
    const refused = await server.send("/api/v1/live", { headers: { authorization } });
    expect(refused.json).toMatchObject({
      error: { code: "quota_exceeded", details: { retry_after_seconds: 10 } },
    });
    expect(refused.headers["retry-after"]).toBe("10");
    const policy = await open({ authorization }, server.port, "?only=policy");
    expect(policy.incoming.statusCode).toBe(200);
    const { session } = await server.browsers.login(await server.browsers.createLoginToken(), "");
    const browser = { cookie: `plimsoll_session_${server.port}=${session}`, "sec-fetch-site": "same-origin" };
    for (const headers of [{ authorization: other.authorization }, browser]) {
      const stream = await open(headers);
      await untilPasses(() => expect(stream.messages()).toEqual([changed(null)]));
      streams.push(stream);
    }
    const held = streams.filter(({ incoming }) => incoming.statusCode === 200);
    for (const stream of held.slice(0, 10)) stream.leave();
    await untilPasses(() => expect(server.streams.clients()).toBe(57));
    const again = await Promise.all(Array.from({ length: 11 }, () => open({ authorization })));
    expect(again.map(({ incoming }) => incoming.statusCode).sort()).toEqual([...Array(10).fill(200), 429]);
    for (const stream of [...held, ...again, policy]) stream.leave();
    await untilPasses(() => expect(server.streams.clients()).toBe(0));
  });

  it("ends cleanly when the server closes", async () => {
    server = await startHttpStack();
    const { authorization } = await server.key("read");
    const stream = await open({ authorization });
    await untilPasses(() => expect(stream.messages()).toHaveLength(1));
    await server.close();
    expect(stream.ended()).toBe(true);
    expect(stream.incoming.complete).toBe(true);
  });

  it("says which policy is the newest at once, and whenever there is another", async () => {
    server = await startHttpStack();
    const stream = await open(await server.key("read"));
    await untilPasses(() => expect(stream.policies()).toEqual([0]));
    await savePolicy(server, 0);
    await untilPasses(() => expect(stream.policies()).toEqual([0, 1]));
    const late = await open(await server.key("read"));
    await untilPasses(() => expect(late.policies()).toEqual([1]));
  });

  it("says nothing but policies to a harness that may read only those, or asks for only those", async () => {
    server = await startHttpStack();
    const streams = [
      await open(await server.key("policy:read")),
      await open(await server.key("read"), server.port, "?only=policy"),
    ];
    for (const stream of streams) await untilPasses(() => expect(stream.policies()).toEqual([0]));
    server.hub.changed(1, ["s1"]);
    await savePolicy(server, 0);
    for (const stream of streams) {
      await untilPasses(() => expect(stream.policies()).toEqual([0, 1]));
      expect(stream.messages()).toEqual([]);
    }
  });

  it("hears of a policy that another process saved", async () => {
    server = await startHttpStack();
    const other = await startHttpStack({ database: server.database });
    try {
      const stream = await open(await server.key("policy:read"));
      await untilPasses(() => expect(stream.policies()).toEqual([0]));
      await savePolicy(other, 0);
      await untilPasses(() => expect(stream.policies()).toEqual([0, 1]));
      stream.leave();
    } finally {
      await other.stop();
    }
  });
});

const savePolicy = ({ policies }: HttpStack, expected: number) =>
  policies.save({
    projectId: 1,
    body: { settings: { thresholds: { ceiling: "40%" } } },
    expected,
    reason: "a test",
    actor: LOCAL,
  });

it("ends its streams when the database is lost, refuses new ones meanwhile, and takes them again", async () => {
  let connected = true;
  let lose = () => {};
  const streams = createLiveStreams({
    onEnded: () => () => {},
    watch: ANSWERING,
    policies: NO_POLICIES,
    hub: {
      subscribe: () => () => {},
      connected: () => connected,
      onLost: (listener) => {
        lose = listener;
        return () => {};
      },
    },
    access: { authorize: async () => ({ kind: "key", projectId: 1, scopes: new Set(["read"]) }) },
  });
  const http = createServer((incoming, outgoing) => {
    streams.serve(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(statusOf(error)).end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  try {
    const stream = await open({}, port);
    connected = false;
    lose();
    await untilPasses(() => expect(stream.ended()).toBe(true));
    expect(streams.clients()).toBe(0);
    expect((await open({}, port)).incoming.statusCode).toBe(503);
    connected = true;
    const again = await open({}, port);
    await untilPasses(() => expect(again.messages()).toEqual([changed(null)]));
    again.leave();
  } finally {
    streams.close();
    await new Promise((resolve) => http.close(resolve));
  }
});

it("gives a reader that falls behind the sum of what it missed, from bounded memory", async () => {
  let tell: ChangeListener = () => {};
  const streams = createLiveStreams({
    onEnded: () => () => {},
    watch: ANSWERING,
    policies: NO_POLICIES,
    hub: {
      subscribe: (_, listener) => {
        tell = listener;
        return () => {};
      },
      connected: () => true,
      onLost: () => () => {},
    },
    access: { authorize: async () => ({ kind: "key", projectId: 1, scopes: new Set(["read"]) }) },
  });
  let outgoing: ServerResponse | undefined;
  const http = createServer((incoming, response) => {
    outgoing = response;
    void streams.serve(incoming, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const socket = connect((http.address() as AddressInfo).port, "127.0.0.1");
  try {
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await untilPasses(() => expect(streams.clients()).toBe(1));
    let sent = 0;
    for (let round = 0; round < 20_000; round++) {
      const names = Array.from({ length: 50 }, (_, i) => `a session's id of thirty-six ${round}-${i}`);
      sent += names.join().length;
      tell(names);
      // Lets the socket take what it will.
      if (round % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sent).toBeGreaterThan(30_000_000);
    expect(outgoing!.writableLength).toBeLessThan(100_000);

    let received = 0;
    let tail = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk.length;
      tail = (tail + chunk).slice(-1_000);
    });
    socket.resume();
    await untilPasses(() => expect(tail).toContain('"sessions":null'));
    tell(["the last"]);
    await untilPasses(() => expect(tail).toContain("the last"));
    expect(received).toBeLessThan(sent / 2);
  } finally {
    socket.destroy();
    streams.close();
    http.close();
  }
});

/** Streams with changes at will, over real sockets. */
async function changingStreams(times: { heartbeatMs: number; endMs?: number }) {
  const listeners = new Set<ChangeListener>();
  let endKeys = () => {};
  let revoked = false;
  const streams = createLiveStreams({
    ...times,
    onEnded: (listener) => {
      endKeys = listener;
      return () => {};
    },
    watch: ANSWERING,
    policies: NO_POLICIES,
    hub: {
      subscribe: (_, listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      connected: () => true,
      onLost: () => () => {},
    },
    access: {
      authorize: async () => {
        if (revoked) throw new PlimsollError("unauthenticated", "revoked");
        return { kind: "key", keyId: "k", projectId: 1, scopes: new Set(["read"]) };
      },
    },
  });
  const sockets = new Set<Socket>();
  const http = createServer((incoming, outgoing) => {
    streams.serve(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(statusOf(error)).end());
  }).on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const names = Array.from({ length: 150 }, (_, n) => `a session's id of thirty-six letters ${n}`);
  return {
    streams,
    sockets,
    port: (http.address() as AddressInfo).port,
    /** Fills the buffers of a socket that is not read. */
    async fill() {
      for (let round = 0; round < 3_000; round++) {
        for (const listener of listeners) listener(names);
        await new Promise(setImmediate);
      }
    },
    revoke() {
      revoked = true;
      endKeys();
    },
    close() {
      streams.close();
      http.closeAllConnections();
      http.close();
    },
  };
}

it.each([
  ["never reads", 0],
  ["reads a byte at a time", 1],
])(
  "cuts a client that %s, and no other, and tells it to read everything when it is back",
  async (_, bytes) => {
    const server = await changingStreams({ heartbeatMs: 100 });
    try {
      const quick = await open({}, server.port);
      const slow = connect({
        port: server.port,
        host: "127.0.0.1",
        // Takes one byte of the system's buffer each time it is resumed.
        onread: { buffer: Buffer.alloc(1), callback: () => false },
      });
      slow.on("error", () => {});
      slow.write("GET /api/v1/live HTTP/1.1\r\nHost: x\r\n\r\n");
      await untilPasses(() => expect(server.streams.clients()).toBe(2));
      const reads = setInterval(() => bytes > 0 && slow.resume(), 20);
      await server.fill();
      await untilPasses(() => expect(server.streams.clients()).toBe(1));
      await untilPasses(() => expect(server.sockets.size).toBe(1));
      clearInterval(reads);
      expect(quick.ended()).toBe(false);
      const back = await open({}, server.port);
      await untilPasses(() => expect(back.messages()).toEqual([changed(null)]));
      slow.destroy();
    } finally {
      server.close();
    }
  },
  30_000,
);

it("cuts a client that never reads when its key is revoked", async () => {
  const server = await changingStreams({ heartbeatMs: 60_000, endMs: 200 });
  try {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write("GET /api/v1/live HTTP/1.1\r\nHost: x\r\n\r\n");
    await untilPasses(() => expect(server.streams.clients()).toBe(1));
    await server.fill();
    server.revoke();
    await untilPasses(() => expect(server.streams.clients()).toBe(0));
    await untilPasses(() => expect(server.sockets.size).toBe(0));
    socket.destroy();
  } finally {
    server.close();
  }
});

it("tells pages every moment, and at once when it changes, whether the database answers", async () => {
  let outage: { message: string; for_ms: number } | undefined;
  let change = () => {};
  const streams = createLiveStreams({
    onEnded: () => () => {},
    policies: NO_POLICIES,
    watch: {
      outage: () => outage,
      failure: () => outage && new PlimsollError("database_unreachable", outage.message),
      onChange: (listener) => {
        change = listener;
        return () => {};
      },
    },
    hub: { subscribe: () => () => {}, connected: () => true, onLost: () => () => {} },
    access: {
      authorize: async ({ headers }) => ({
        kind: "key",
        projectId: 1,
        scopes: new Set([headers["x-scope"] as "read" | "policy:read"]),
      }),
    },
    healthMs: 20,
  });
  const http = createServer((incoming, outgoing) => {
    streams.serve(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(statusOf(error)).end());
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const healthIn = (text: string) =>
    [...text.matchAll(/^event: health\ndata: (.*)$/gm)].map(([, data]) =>
      HealthNotice.parse(JSON.parse(data!)),
    );
  try {
    const page = await open({ "x-scope": "read" }, port);
    const harness = await open({ "x-scope": "policy:read" }, port);
    await untilPasses(() => expect(healthIn(page.text()).length).toBeGreaterThan(2));
    expect(healthIn(page.text()).at(-1)).toEqual({ database: null });
    outage = { message: "The database does not answer.", for_ms: 2_000 };
    change();
    await untilPasses(() => expect(healthIn(page.text()).at(-1)).toEqual({ database: outage }));
    expect(healthIn(harness.text())).toEqual([]);
    expect((await open({ "x-scope": "read" }, port)).incoming.statusCode).toBe(503);
    page.leave();
    harness.leave();
  } finally {
    streams.close();
    await new Promise((resolve) => http.close(resolve));
  }
});
