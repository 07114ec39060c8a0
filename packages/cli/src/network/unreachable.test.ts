import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Certificate, hasOpenssl, makeCertificate } from "../../../guard/src/testing/certificate.ts";
import { sendBatch } from "../import/send.ts";
import { startConnectProxy } from "../testing/connect-proxy.ts";
import { sendRequest } from "./send-request.ts";
import { retryWorth, unreachable } from "./unreachable.ts";

const ends: (() => unknown)[] = [];
const environment = { ...process.env };
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  for (const name of ["HTTPS_PROXY", "NO_PROXY", "https_proxy", "no_proxy"]) {
    if (environment[name] === undefined) delete process.env[name];
    else process.env[name] = environment[name];
  }
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** What a command says of a request that fails, and whether it is worth another. */
async function failing(url: string, init: RequestInit = {}) {
  const error: unknown = await sendRequest(url, init).then(
    () => "an answer",
    (thrown: unknown) => thrown,
  );
  const { message, hint = "" } = unreachable({ url: "URL" }, error);
  return { message, hint, retry: retryWorth(error) };
}

async function closedPort(): Promise<number> {
  const server = createTcp();
  const port = await listen(server);
  await ends.pop()?.();
  return port;
}

describe("a connection that fails", () => {
  it("is refused", async () => {
    expect(await failing(`http://127.0.0.1:${await closedPort()}`)).toMatchObject({
      message: "Cannot reach Plimsoll at URL (connection refused, ECONNREFUSED).",
      hint: expect.stringContaining("Is it running?"),
      retry: "yes",
    });
  });

  it("is refused at every address of a name", async () => {
    expect((await failing(`http://localhost:${await closedPort()}`)).message).toContain("connection refused");
  });

  it("finds no such host", async () => {
    const { message, retry } = await failing("http://no-such-host.invalid:4180");
    // Without a name server, this machine cannot know.
    expect(message).toMatch(/no such host, ENOTFOUND|the name server did not answer, EAI_AGAIN/);
    expect(retry).toBe(message.includes("ENOTFOUND") ? "if_offline" : "yes");
  });

  it("gets no answer in time", async () => {
    const port = await listen(createTcp(() => {}));
    expect(await failing(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(50) })).toMatchObject({
      message: "Cannot reach Plimsoll at URL (no answer in time).",
      hint: expect.stringContaining("HTTPS_PROXY"),
      retry: "yes",
    });
  });

  it("is cut", async () => {
    const port = await listen(createTcp((socket) => socket.destroy()));
    expect(await failing(`http://127.0.0.1:${port}`)).toMatchObject({
      message: expect.stringContaining("the connection was cut, ECONNRESET"),
      retry: "yes",
    });
  });

  it("meets something that speaks no HTTP", async () => {
    const port = await listen(createTcp((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")));
    expect(await failing(`http://127.0.0.1:${port}`)).toMatchObject({
      message: expect.stringContaining("the answer is not HTTP"),
      hint: expect.stringContaining("https://"),
      retry: "no",
    });
  });

  it("meets something that speaks no TLS", async () => {
    const port = await listen(createHttp((_, response) => response.end()));
    expect(await failing(`https://127.0.0.1:${port}`)).toMatchObject({
      message: expect.stringContaining("the server answered without TLS"),
      hint: expect.stringContaining("http://"),
      retry: "no",
    });
  });

  it.each([
    ["CERT_HAS_EXPIRED", "the certificate is not valid at this time", /clock/],
    ["CERT_NOT_YET_VALID", "the certificate is not valid at this time", /clock/],
    ["SELF_SIGNED_CERT_IN_CHAIN", "does not trust the certificate", /NODE_EXTRA_CA_CERTS/],
    ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "TLS failed", /openssl/],
  ])("is given up for %s, wherever that is in the chain of causes", (code, words, hint) => {
    const cause = new AggregateError([Object.assign(new Error("x"), { code })]);
    const error = new TypeError("fetch failed", { cause });
    expect(unreachable({ url: "URL" }, error).message).toContain(`${words}, ${code}`);
    expect(unreachable({ url: "URL" }, error).hint).toMatch(hint);
    expect(retryWorth(error)).toBe("no");
  });

  it("names a reason that this version does not know", () => {
    const error = new Error("wrapped", { cause: new Error("x") });
    expect(unreachable({ url: "URL" }, error).message).toBe("Cannot reach Plimsoll at URL (wrapped).");
    expect(unreachable({ url: "URL" }, "thrown").message).toBe("Cannot reach Plimsoll at URL (thrown).");
    const circle = new Error("circle");
    circle.cause = circle;
    expect(retryWorth(circle)).toBe("yes");
  });
});

describe.skipIf(!hasOpenssl)("a connection with TLS", () => {
  let folder: string;
  let good: Certificate;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "plimsoll-tls-"));
    good = makeCertificate(folder, "good", ["DNS:plimsoll.example", "IP:127.0.0.1"]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const startTls = (certificate: Certificate) =>
    listen(createHttps(certificate, (_, response) => response.end('{"accepted": 1}')));

  it("does not trust the certificate, and names NODE_EXTRA_CA_CERTS", async () => {
    expect(await failing(`https://127.0.0.1:${await startTls(good)}`)).toMatchObject({
      message: expect.stringContaining("this machine does not trust the certificate, DEPTH_ZERO_SELF_SIGNED"),
      hint: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
      retry: "no",
    });
  });

  it("ends an import at once, and lets tail go on", async () => {
    const url = `https://127.0.0.1:${await startTls(good)}`;
    const connection = { url, token: "plim_x", tokenSource: "--key" as const };
    const waits: number[] = [];
    const event = { id: "1", type: "session", status: "started", at: 1, harness: "h", session: "s" } as const;
    const stop = new AbortController();
    const send = (patienceMs: number) =>
      sendBatch(connection, [event], {
        patienceMs,
        signal: stop.signal,
        pause: async (ms) => {
          waits.push(ms);
          if (waits.length === 3) stop.abort();
        },
      });
    await expect(send(600_000)).rejects.toThrow(/does not trust the certificate/);
    expect(waits).toEqual([]);
    await expect(send(Number.POSITIVE_INFINITY)).rejects.toThrow("Nothing was sent.");
    expect(waits).toHaveLength(3);
  });

  describe("through a proxy", () => {
    /** The certificate is trusted by nobody here, so it is what a tunnel ends in. */
    const TUNNELLED = /does not trust the certificate/;

    it("opens a tunnel to the host that only the proxy knows", async () => {
      const proxy = await startConnectProxy();
      ends.push(proxy.close);
      process.env.HTTPS_PROXY = proxy.url;
      const port = await startTls(good);
      expect((await failing(`https://plimsoll.example:${port}`)).message).toMatch(TUNNELLED);
      expect(proxy.asked).toEqual([`plimsoll.example:${port}`]);
    });

    it("logs in at the proxy, and says where a login is missing", async () => {
      const proxy = await startConnectProxy({ login: "user:p%40ss" });
      ends.push(proxy.close);
      const port = await startTls(good);
      process.env.HTTPS_PROXY = `http://user:p%2540ss@127.0.0.1:${proxy.port}`;
      expect((await failing(`https://plimsoll.example:${port}`)).message).toMatch(TUNNELLED);
      process.env.HTTPS_PROXY = `http://user:wrong@127.0.0.1:${proxy.port}`;
      const { message, hint, retry } = await failing(`https://plimsoll.example:${port}`);
      expect(message).toBe(
        `Cannot reach Plimsoll at URL (the proxy wants a login, http://127.0.0.1:${proxy.port}, HTTP 407).`,
      );
      expect(hint).toContain("HTTPS_PROXY");
      expect(retry).toBe("no");
    });

    it.each([
      [403, "the proxy refused", "no"],
      [503, "the proxy cannot be reached", "yes"],
    ])("says that the proxy answered %d", async (status, words, retry) => {
      const proxy = await startConnectProxy({ status });
      ends.push(proxy.close);
      process.env.HTTPS_PROXY = proxy.url;
      expect(await failing("https://plimsoll.example")).toMatchObject({
        message: expect.stringContaining(words),
        retry,
      });
    });

    it("says that the proxy is away, or is no proxy", async () => {
      process.env.HTTPS_PROXY = `http://127.0.0.1:${await closedPort()}`;
      expect((await failing("https://plimsoll.example")).message).toMatch(
        /the proxy cannot be reached, http:\/\/127\.0\.0\.1:\d+, ECONNREFUSED/,
      );
      const other = await listen(createTcp((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")));
      process.env.HTTPS_PROXY = `http://127.0.0.1:${other}`;
      expect((await failing("https://plimsoll.example")).message).toContain("the proxy cannot be reached");
    });

    it("goes around the proxy for what NO_PROXY names, and for HTTP", async () => {
      const proxy = await startConnectProxy();
      ends.push(proxy.close);
      process.env.HTTPS_PROXY = proxy.url;
      process.env.NO_PROXY = "no-such-host.invalid";
      expect((await failing("https://no-such-host.invalid")).message).toMatch(/ENOTFOUND|EAI_AGAIN/);
      expect((await failing("http://no-such-host.invalid")).message).toMatch(/ENOTFOUND|EAI_AGAIN/);
      expect(proxy.asked).toEqual([]);
    });
  });
});
