import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSpool } from "@plimsoll/guard/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { type ForwarderEnd, runForwarder } from "./forwarder.ts";

const JSON_TYPE = "application/json";
const HOUR = 3_600_000;

/** What a server answers to one request; `nothing` leaves it open. */
type Reply = { status: number; type: string } | "nothing";
const OK: Reply = { status: 200, type: JSON_TYPE };

describe("a forwarder", () => {
  let folder: string;
  let stop: AbortController;
  const ends: (() => unknown)[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "forward-"));
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    for (const end of ends.splice(0)) await end();
    await rm(folder, { recursive: true, force: true });
  });

  async function listening(server: Server, port = 0): Promise<string> {
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    ends.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** A server with the replies of a test; the last one repeats. */
  async function serverWith(...replies: Reply[]) {
    const got: { path: string; key: unknown; body: string }[] = [];
    const server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const reply = replies.length > 1 ? replies.shift()! : replies[0]!;
        if (reply === "nothing") return;
        const { url = "", headers } = incoming;
        got.push({ path: url, key: headers["x-api-key"], body: Buffer.concat(chunks).toString() });
        response.writeHead(reply.status, { "Content-Type": reply.type }).end("{}");
      });
    });
    return { got, server, url: await listening(server) };
  }

  async function forwarderTo(url: string | undefined, idleMs = HOUR) {
    const spool = fileSpool(join(folder, "spool"));
    const target = async () => url;
    let ready = (_port: number) => {};
    const isReady = new Promise<number>((resolve) => (ready = resolve));
    const ended = runForwarder({ port: 0, target, spool, signal: stop.signal, idleMs }, ready);
    const port = await isReady;
    return { ended, port, url: `http://127.0.0.1:${port}` };
  }

  const kept = async () => (await readdir(join(folder, "spool")).catch(() => [])).length;
  const post = async (
    url: string,
    body: BodyInit,
    path = "/otlp/v1/logs",
    headers: Record<string, string> = {},
  ): Promise<[number, string]> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": JSON_TYPE, "x-api-key": "plim_k", ...headers },
      body,
    });
    return [response.status, await response.text()];
  };

  it("sends on what it took, in order and with the key of each request", async () => {
    const { got, url } = await serverWith(OK);
    const forwarder = await forwarderTo(url);
    expect(await post(forwarder.url, "one")).toEqual([200, "{}"]);
    await until(() => got.length === 1);
    expect(await post(forwarder.url, "two", "/otlp/v1/traces", { "x-api-key": "plim_other" })).toEqual([
      200,
      "{}",
    ]);
    await until(() => got.length === 2);
    expect(got).toEqual([
      { path: "/otlp/v1/logs", key: "plim_k", body: "one" },
      { path: "/otlp/v1/traces", key: "plim_other", body: "two" },
    ]);
    await until(async () => (await kept()) === 0);
  });

  it.each<[string, Reply[]]>([
    ["fails", [{ status: 500, type: "text/html" }, OK]],
    ["is overloaded", [{ status: 503, type: JSON_TYPE }, OK]],
    ["answers like another program", [{ status: 200, type: "text/html" }, OK]],
    ["redirects", [{ status: 302, type: "text/html" }, OK]],
  ])("answers at once while the server %s, and sends later", async (_, replies) => {
    const { got, url } = await serverWith(...replies);
    const forwarder = await forwarderTo(url);
    expect(await post(forwarder.url, "one")).toEqual([200, "{}"]);
    await until(() => got.length === 2);
    expect(got.map(({ body }) => body)).toEqual(["one", "one"]);
    await until(async () => (await kept()) === 0);
  });

  it("answers while the server hangs, and leaves what it has to the next forwarder", async () => {
    const { url } = await serverWith("nothing");
    const first = await forwarderTo(url);
    for (const body of ["one", "two", "three"]) expect(await post(first.url, body)).toEqual([200, "{}"]);
    await until(async () => (await kept()) > 0);
    stop.abort();
    expect(await first.ended).toBe<ForwarderEnd>("stopped");
    stop = new AbortController();
    const { got, url: later } = await serverWith(OK);
    await forwarderTo(later);
    await until(() => got.length === 3);
    expect(got.map(({ body }) => body)).toEqual(["one", "two", "three"]);
  });

  it("forgets what the server refuses for good, or belongs to no connection any more", async () => {
    const { got, url } = await serverWith({ status: 401, type: JSON_TYPE });
    await post((await forwarderTo(url)).url, "one");
    await until(() => got.length === 1);
    await until(async () => (await kept()) === 0);
    await post((await forwarderTo(undefined)).url, "two");
    await until(async () => (await kept()) === 0);
    expect(got).toHaveLength(1);
  });

  it("takes silently what is not to be forwarded", async () => {
    const { got, url } = await serverWith(OK);
    const forwarder = await forwarderTo(url);
    const large = Buffer.alloc(9 * 1024 * 1024);
    expect(await post(forwarder.url, "metrics", "/otlp/v1/metrics")).toEqual([200, "{}"]);
    expect(await post(forwarder.url, "elsewhere", "/otlp/v1/logs/../../api/v1/events")).toEqual([200, "{}"]);
    expect(await post(forwarder.url, "no key", "/otlp/v1/logs", { "x-api-key": "" })).toEqual([200, "{}"]);
    expect(await post(forwarder.url, large)).toEqual([200, "{}"]);
    expect(await post(forwarder.url, "")).toEqual([200, "{}"]);
    const type = { "content-type": "application/x-protobuf" };
    expect(await post(forwarder.url, "last", "/otlp/v1/logs", type)).toEqual([200, ""]);
    await until(() => got.length === 1);
    expect(got[0]).toMatchObject({ body: "last" });
  });

  it("outlives requests that end early or are none", async () => {
    const { got, url } = await serverWith(OK);
    const forwarder = await forwarderTo(url);
    const raw = connect(forwarder.port, "127.0.0.1");
    raw.resume();
    raw.end("nonsense\r\n\r\n");
    await once(raw, "close");
    const half = request(`${forwarder.url}/otlp/v1/logs`, {
      method: "POST",
      headers: { "content-length": "100", "x-api-key": "plim_k" },
    });
    half.on("error", () => {});
    half.write("half");
    await once(half, "socket");
    half.destroy();
    expect(await post(forwarder.url, "whole")).toEqual([200, "{}"]);
    await until(() => got.length === 1);
    expect(got[0]).toMatchObject({ body: "whole" });
  });

  it("ends where another one runs, and when nothing reports any more", async () => {
    const running = await forwarderTo(undefined, 50);
    const spool = fileSpool(join(folder, "spool"));
    const options = { target: async () => undefined, spool, signal: stop.signal, idleMs: HOUR };
    expect(await runForwarder({ ...options, port: running.port })).toBe<ForwarderEnd>("port_taken");
    expect(await running.ended).toBe<ForwarderEnd>("idle");
  });
});
