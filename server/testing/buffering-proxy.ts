import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Transform } from "node:stream";
import { createGzip } from "node:zlib";

const BLOCK_BYTES = 16 * 1024;
const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "x-accel-buffering"];

export interface ProxyOptions {
  /** Where the server listens on loopback. */
  upstream: number;
  /** What keeps the proxy from compressing: nginx asks for an encoding, others for `no-transform`. */
  heeds: "content-encoding" | "no-transform";
  /** Response headers taken away before the proxy looks at them, in lower case. */
  drop?: readonly string[];
}

export interface BufferingProxy {
  port: number;
  /** All that came from the server, whether passed on or held back. */
  received(): string;
  stop(): Promise<void>;
}

/**
 * A reverse proxy with buffering and compression switched on: it passes an answer on in blocks of 16 KiB unless
 * `X-Accel-Buffering: no` forbids it, and compresses for whoever takes gzip unless told not to. It is stricter than
 * nginx, which lets a block that is not full go while it does not compress. For tests.
 */
export async function bufferingProxy({ upstream, heeds, drop = [] }: ProxyOptions): Promise<BufferingProxy> {
  let received = "";
  const server = createServer((asked, answer) => {
    const { method, url: path } = asked;
    const headers = { ...asked.headers, "x-forwarded-for": asked.socket.remoteAddress ?? "" };
    const forward = request({ host: "127.0.0.1", port: upstream, method, path, headers, agent: false });
    forward.on("error", () => answer.destroy());
    answer.on("close", () => forward.destroy());
    asked.pipe(forward);
    forward.on("response", (response) => {
      const told = without(response.headers, drop);
      const compresses = acceptsGzip(asked.headers) && !forbidsGzip(told, heeds);
      const passed = without(told, compresses ? [...HOP_BY_HOP, "content-length"] : HOP_BY_HOP);
      answer.writeHead(response.statusCode ?? 502, {
        ...passed,
        ...(compresses ? { "content-encoding": "gzip" } : {}),
      });
      answer.flushHeaders();
      response.on("data", (chunk: Buffer) => {
        received += chunk.toString();
      });
      response.on("error", () => answer.destroy());
      response
        .pipe(told["x-accel-buffering"] === "no" ? new PassThrough() : inBlocks())
        .pipe(compresses ? createGzip() : new PassThrough())
        .pipe(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function without(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

const acceptsGzip = (headers: IncomingHttpHeaders) => /\bgzip\b/.test(String(headers["accept-encoding"]));

function forbidsGzip(headers: IncomingHttpHeaders, heeds: ProxyOptions["heeds"]): boolean {
  if (heeds === "no-transform") return /\bno-transform\b/.test(headers["cache-control"] ?? "");
  return headers["content-encoding"] !== undefined;
}

/** Gives nothing away before a block is full or the answer is whole. */
function inBlocks(): Transform {
  let held = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      held = Buffer.concat([held, chunk]);
      const whole = held.length - (held.length % BLOCK_BYTES);
      if (whole > 0) this.push(held.subarray(0, whole));
      held = held.subarray(whole);
      done();
    },
    flush(done) {
      done(null, held);
    },
  });
}
