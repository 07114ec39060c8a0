import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { type Receiver, startReceiver } from "../../testing/receiver.ts";
import type { ResolveAll } from "./addresses.ts";
import { type AttemptOptions, retryAfterMs, sendRequest } from "./send-request.ts";

const open = parseNetworks("127.0.0.1")!;
const closed = parseNetworks("192.0.2.255")!;
let receivers: Receiver[] = [];

async function receiver(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...args);
  receivers.push(started);
  return started;
}
afterEach(async () => {
  await Promise.all(receivers.map((one) => one.close()));
  receivers = [];
});

const send = (url: string, options: Partial<AttemptOptions> = {}, headers: Record<string, string> = {}) =>
  sendRequest({ method: "POST", url, headers, body: '{"a":1}' }, { open, ...options });

describe("a request to an endpoint", () => {
  it("arrives whole, and its answer is kept", async () => {
    const { url, requests, answer } = await receiver();
    answer((_, response) => response.writeHead(202).end("taken"));
    expect(await send(`${url}/hook?a=b`, {}, { "webhook-id": "x" })).toEqual({
      outcome: "delivered",
      status: 202,
      retryAfterMs: undefined,
      answer: "taken",
    });
    expect(requests).toMatchObject([
      {
        method: "POST",
        path: "/hook?a=b",
        body: '{"a":1}',
        headers: { "webhook-id": "x", "user-agent": "Plimsoll" },
      },
    ]);
  });

  it.each([
    [301, "redirect"],
    [307, "redirect"],
    [400, "refused"],
    [401, "http_status"],
    [404, "http_status"],
    [410, "gone"],
    [413, "refused"],
    [422, "refused"],
    [429, "http_status"],
    [500, "http_status"],
    [503, "http_status"],
  ])("that is answered %i ends as %s", async (status, outcome) => {
    const { url, answer } = await receiver();
    answer((_, response) => response.writeHead(status, { "retry-after": "120" }).end());
    expect(await send(url)).toMatchObject({ outcome, status, retryAfterMs: 120_000 });
  });

  it("follows no redirect", async () => {
    const target = await receiver();
    const { url, answer } = await receiver();
    answer((_, response) => response.writeHead(302, { location: target.url }).end());
    expect(await send(url)).toMatchObject({ outcome: "redirect", status: 302 });
    expect(target.requests).toEqual([]);
  });

  it("reaches no private address, by number or by name", async () => {
    const { url, port, requests } = await receiver();
    expect(await send(url, { open: closed })).toMatchObject({ outcome: "address_not_allowed" });
    const resolve: ResolveAll = async () => [{ address: "127.0.0.1", family: 4 }];
    const byName = await send(`http://hook.example:${port}`, { open: closed, resolve });
    expect(byName).toMatchObject({ outcome: "address_not_allowed", status: undefined });
    expect(byName.answer).toContain("PLIMSOLL_WEBHOOK_ALLOW");
    expect(requests).toEqual([]);
  });

  it("goes to the address that was checked, even if the name means another one a moment later", async () => {
    const { port, requests } = await receiver();
    let asked = 0;
    const resolve: ResolveAll = async () => {
      asked += 1;
      return [{ address: asked === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
    };
    expect(await send(`http://hook.example:${port}`, { resolve })).toMatchObject({ outcome: "delivered" });
    expect(await send(`http://hook.example:${port}`, { resolve })).toMatchObject({
      outcome: "address_not_allowed",
    });
    expect(asked).toBe(2);
    expect(requests).toHaveLength(1);
  });

  it("is ended if the answer does not come in time, or does not end", async () => {
    const { url, answer } = await receiver();
    answer(() => {});
    expect(await send(url, { timeoutMs: 100 })).toMatchObject({ outcome: "timeout", status: undefined });
    answer((_, response) => response.write("half"));
    expect(await send(url, { timeoutMs: 100 })).toMatchObject({ outcome: "timeout" });
  });

  it("takes in little of an answer of 1 GB", async () => {
    const { url, answer } = await receiver();
    let sent = 0;
    let closedBySender = false;
    answer(async (_, response) => {
      response.on("close", () => {
        closedBySender = true;
      });
      response.writeHead(200, { "content-length": String(1e9) });
      const chunk = Buffer.alloc(65_536, "x");
      while (sent < 1e9 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk))
          await new Promise((done) => response.once("drain", done).once("close", done));
      }
    });
    const { outcome, answer: kept } = await send(url);
    expect(outcome).toBe("delivered");
    expect(kept).toBe("x".repeat(4_096));
    await expect.poll(() => closedBySender).toBe(true);
    expect(sent).toBeLessThan(100e6);
  });

  it("says what failed", async () => {
    const gone = await receiver();
    const { url } = gone;
    await gone.close();
    expect(await send(url)).toMatchObject({ outcome: "connection_refused" });
    const cut = await receiver();
    cut.answer((_, response) => response.destroy());
    expect(await send(cut.url)).toMatchObject({ outcome: "connection_lost" });
    const unknown: ResolveAll = () =>
      Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
    expect(await send("http://hook.example", { resolve: unknown })).toMatchObject({
      outcome: "dns",
      answer: "no such name",
    });
  });

  it("cannot be given more headers by a value", async () => {
    const { url, requests } = await receiver();
    const result = await send(url, {}, { "webhook-id": "a\r\nx-evil: 1" });
    expect(result.outcome).not.toBe("delivered");
    expect(requests).toEqual([]);
  });

  it("is refused where the certificate is not trusted, and sent where it is", async () => {
    const folder = mkdtempSync(join(tmpdir(), "plimsoll-tls-"));
    try {
      const [key, cert] = [join(folder, "key"), join(folder, "cert")];
      execFileSync(
        "openssl",
        [
          ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=hook.example".split(
            " ",
          ),
          ...["-addext", "subjectAltName=DNS:hook.example", "-keyout", key, "-out", cert],
        ],
        { stdio: "ignore" },
      );
      const ca = readFileSync(cert, "utf8");
      const { port, requests } = await receiver({ key: readFileSync(key), cert: ca });
      const resolve: ResolveAll = async () => [{ address: "127.0.0.1", family: 4 }];
      const url = `https://hook.example:${port}`;
      expect(await send(url, { resolve })).toMatchObject({ outcome: "tls" });
      expect(await send(`https://other.example:${port}`, { resolve, ca })).toMatchObject({ outcome: "tls" });
      expect(requests).toEqual([]);
      expect(await send(url, { resolve, ca })).toMatchObject({ outcome: "delivered" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("Retry-After", () => {
  it.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ["120", 120_000],
    ["Thu, 01 Jan 1970 00:01:00 GMT", 50_000],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["soon", undefined],
    ["-5", undefined],
    ["99999999999999999999", undefined],
  ])("%s is %s ms", (header, ms) => {
    expect(retryAfterMs(header, 10_000)).toBe(ms);
  });
});
