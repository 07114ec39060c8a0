import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type Certificate,
  hasOpenssl,
  makeCertificate,
} from "../../packages/guard/src/testing/certificate.ts";
import { openCertificate, type WatchedCertificate } from "../certificate.ts";
import { parseNetworks } from "../networks.ts";
import { createFront, type Front, transportOf } from "./front.ts";

const LIMITS = { keepAliveTimeout: 65_000, requestTimeout: 120_000, noDelay: true };
const log = pino({ level: "silent" });

describe.skipIf(!hasOpenssl)("one port for TLS and plain HTTP", () => {
  let folder: string;
  let first: Certificate;
  let second: Certificate;
  let certificate: WatchedCertificate;
  let front: Front;
  let port: number;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "plimsoll-front-"));
    first = makeCertificate(folder, "first", ["IP:127.0.0.1"]);
    second = makeCertificate(folder, "second", ["IP:127.0.0.1"]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function start(): Promise<void> {
    const files = { cert: join(folder, "live.crt"), key: join(folder, "live.key") };
    copyFileSync(first.certFile, files.cert);
    copyFileSync(first.keyFile, files.key);
    certificate = await openCertificate(files, log);
    front = createFront(LIMITS, certificate);
    front.server.on("request", async (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const { encrypted = false } = incoming.socket as TLSSocket;
      outgoing.end(JSON.stringify({ encrypted, bytes: Buffer.concat(chunks).length }));
    });
    await new Promise<void>((resolve) => front.server.listen(0, "127.0.0.1", resolve));
    port = (front.server.address() as AddressInfo).port;
  }
  afterEach(async () => {
    certificate.stop();
    front.cut();
    await new Promise((resolve) => front.server.close(resolve));
  });

  function ask(secure: boolean, ca?: string, body = ""): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request = secure ? overHttps : overHttp;
      const options = { host: "127.0.0.1", port, method: "POST", agent: false, ...(ca && { ca }) };
      const outgoing = request(options, async (incoming) => {
        let text = "";
        for await (const chunk of incoming) text += chunk;
        resolve(JSON.parse(text));
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  const said = (socket: Socket) =>
    new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (data) => {
        text += data;
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(text));
    });

  it("hears both, with bodies larger than one read", async () => {
    await start();
    const body = "x".repeat(3_000_000);
    expect(await ask(true, first.cert, body)).toEqual({ encrypted: true, bytes: 3_000_000 });
    expect(await ask(false, undefined, body)).toEqual({ encrypted: false, bytes: 3_000_000 });
  });

  it("hears a request whose bytes come one by one, and several on one connection", async () => {
    await start();
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const answer = said(socket);
    const text = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (const letter of text) await new Promise((resolve) => socket.write(letter, resolve));
    expect((await answer).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  it("uses a new certificate for new connections, and keeps the old one open", async () => {
    await start();
    const socket = connect({ port, host: "127.0.0.1" });
    const answer = said(socket);
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n");
    await ask(true, first.cert);
    copyFileSync(second.certFile, join(folder, "live.crt"));
    copyFileSync(second.keyFile, join(folder, "live.key"));
    await certificate.look();
    await expect(ask(true, first.cert)).rejects.toThrow(/self.signed/);
    expect(await ask(true, second.cert)).toMatchObject({ encrypted: true });
    socket.end("Connection: close\r\n\r\n");
    expect(await answer).toContain("HTTP/1.1 200");
  });

  it.each([
    ["a broken handshake", Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5])],
    ["an alert", Buffer.from([0x15, 3, 1, 0, 2, 2, 40])],
    ["another protocol", Buffer.from("SSH-2.0-OpenSSH_9.9\r\n")],
    ["zeros", Buffer.alloc(100)],
  ])("survives %s", async (_, bytes) => {
    await start();
    const socket = connect({ port, host: "127.0.0.1" });
    const answer = said(socket);
    socket.end(bytes);
    expect(await answer).not.toContain("200");
    expect(await ask(true, first.cert)).toMatchObject({ encrypted: true });
  });

  it("cuts connections that say nothing, and those within a handshake", async () => {
    await start();
    const silent = connect({ port, host: "127.0.0.1" });
    const begun = connect({ port, host: "127.0.0.1" });
    begun.write(Buffer.from([0x16, 3, 1]));
    const ended = Promise.all([said(silent), said(begun)]);
    await ask(true, first.cert);
    front.cut();
    expect(await ended).toEqual(["", expect.any(String)]);
  });
});

describe("how a request came", () => {
  const proxies = parseNetworks("10.0.0.0/8")!;
  it.each([
    ["127.0.0.1", false, "local"],
    ["::1", false, "local"],
    ["::ffff:127.0.0.1", false, "local"],
    ["10.1.2.3", false, "proxy"],
    ["::ffff:10.1.2.3", false, "proxy"],
    ["192.0.2.7", false, "open"],
    ["::ffff:192.0.2.7", false, "open"],
    [undefined, false, "open"],
    ["192.0.2.7", true, "tls"],
    ["127.0.0.1", true, "tls"],
  ])("%s, encrypted %s: %s", (remoteAddress, encrypted, expected) => {
    expect(transportOf({ remoteAddress, encrypted } as unknown as Socket, proxies)).toBe(expected);
  });
});
