import { type IncomingMessage, request } from "node:http";
import { createGunzip } from "node:zlib";
import { LiveMessage } from "@plimsoll/protocol/api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BufferingProxy, bufferingProxy, type ProxyOptions } from "../testing/buffering-proxy.ts";
import { type HttpStack, startHttpStack } from "../testing/http-stack.ts";
import { hasNginx, startNginx } from "../testing/nginx.ts";
import { untilPasses } from "../testing/until.ts";

/** The name in `PLIMSOLL_ALLOWED_HOSTS`, under which a browser asks the proxy. */
const NAME = "plimsoll.example.com";

let server: HttpStack;
const stops: (() => Promise<void> | void)[] = [];

beforeEach(async () => {
  server = await startHttpStack({ names: [NAME], heartbeatMs: 50 });
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  await server.stop();
});

async function proxied(options: Omit<ProxyOptions, "upstream">): Promise<BufferingProxy> {
  const proxy = await bufferingProxy({ upstream: server.port, ...options });
  stops.push(proxy.stop);
  return proxy;
}

async function nginx(more?: string): Promise<number> {
  const { port, stop } = await startNginx(server.port, more);
  stops.push(stop);
  return port;
}

/** Asks as a browser does, which takes compressed answers. */
async function ask(port: number, path: string, headers: Record<string, string>) {
  const outgoing = request({
    host: "127.0.0.1",
    port,
    path,
    headers: { host: NAME, "accept-encoding": "gzip, deflate, br", ...headers },
    agent: false,
  });
  stops.push(() => void outgoing.destroy());
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve).once("error", reject).end();
  });
  outgoing.on("error", () => {});
  incoming.on("error", () => {});
  let text = "";
  const body = incoming.headers["content-encoding"] === "gzip" ? incoming.pipe(createGunzip()) : incoming;
  body.setEncoding("utf8");
  body.on("data", (chunk: string) => {
    text += chunk;
  });
  body.on("error", () => {});
  return { incoming, text: () => text, messages: () => messagesOf(text), leave: () => outgoing.destroy() };
}

function messagesOf(text: string): LiveMessage[] {
  return [...text.matchAll(/^event: message\ndata: (.*)$/gm)].map(([, data]) =>
    LiveMessage.parse(JSON.parse(data!)),
  );
}

const policy = { type: "policy", generation: 0 };
const changed = (sessions: string[] | null) => ({ type: "changed", sessions });

/** A browser with a cookie hears each message when it is sent, and the server sees that it left. */
async function hearsAtOnce(port: number): Promise<void> {
  const { session } = await server.browsers.login(await server.browsers.createLoginToken(), "");
  const cookie = `plimsoll_session=${session}`;
  const stream = await ask(port, "/api/v1/live", { cookie, "sec-fetch-site": "same-origin" });
  expect(stream.incoming.statusCode).toBe(200);
  await untilPasses(() => expect(stream.messages()).toEqual([policy, changed(null)]));
  for (const id of ["a", "b", "c"]) {
    server.hub.changed(1, [id]);
    await untilPasses(() => expect(stream.messages().at(-1)).toEqual(changed([id])));
  }
  await untilPasses(() => expect(stream.text()).toContain(": still here"));
  stream.leave();
  await untilPasses(() => expect(server.streams.clients()).toBe(0));
}

/** What the proxy does with answers that do not forbid it. */
async function compressesTheRest(port: number): Promise<void> {
  const { authorization } = await server.key("read");
  const metrics = await ask(port, "/metrics", { authorization });
  expect(metrics.incoming.headers["content-encoding"]).toBe("gzip");
  await untilPasses(() => expect(metrics.text()).toContain("plimsoll_"));
}

describe.each(["content-encoding", "no-transform"] as const)("behind a proxy that heeds %s", (heeds) => {
  it("the live stream arrives message by message", async () => {
    await hearsAtOnce((await proxied({ heeds })).port);
  });

  it("everything else is compressed", async () => {
    await compressesTheRest((await proxied({ heeds })).port);
  });
});

it.each([
  ["X-Accel-Buffering", "content-encoding"],
  ["Content-Encoding", "content-encoding"],
  ["Cache-Control", "no-transform"],
] as const)("without %s such a proxy would hold the stream back", async (header, heeds) => {
  const proxy = await proxied({ heeds, drop: [header.toLowerCase()] });
  const { authorization } = await server.key("read");
  const stream = await ask(proxy.port, "/api/v1/live", { authorization });
  server.hub.changed(1, ["a"]);
  await untilPasses(() =>
    expect(messagesOf(proxy.received())).toEqual([policy, changed(null), changed(["a"])]),
  );
  // What the proxy had passed on would have come before this answer.
  await ask(proxy.port, "/metrics", { authorization });
  expect(stream.text()).toBe("");
});

it("a name that is not allowed is turned away behind a proxy too", async () => {
  const proxy = await proxied({ heeds: "content-encoding" });
  const { authorization } = await server.key("read");
  const { incoming } = await ask(proxy.port, "/api/v1/live", { authorization, host: "elsewhere.example" });
  expect(incoming.statusCode).toBe(400);
});

describe.skipIf(!hasNginx)("behind nginx", () => {
  it("the live stream arrives message by message", async () => {
    await hearsAtOnce(await nginx());
  });

  it("everything else is compressed", async () => {
    await compressesTheRest(await nginx());
  });

  it("without the headers nothing of the stream would arrive, not even its beginning", async () => {
    const port = await nginx("proxy_ignore_headers X-Accel-Buffering; proxy_hide_header Content-Encoding;");
    const { authorization } = await server.key("read");
    let heard = false;
    void ask(port, "/api/v1/live", { authorization }).then(
      () => {
        heard = true;
      },
      () => {},
    );
    await untilPasses(() => expect(server.streams.clients()).toBe(1));
    // What nginx had passed on would have come before this answer.
    await ask(port, "/metrics", { authorization });
    expect(heard).toBe(false);
  });
});
