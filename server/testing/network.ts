import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Certificate,
  hasOpenssl,
  makeCertificate,
} from "../../packages/guard/src/testing/certificate.ts";
import { freePort } from "./nginx.ts";
import { startTestServer, type TestServer } from "./server.ts";

/** An address of this machine that is not loopback; undefined if it has none. */
export const networkAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

/** Without an address besides loopback, there is no network to listen on. */
export const canListen = hasOpenssl && networkAddress !== undefined;

export const ACCESS_TOKEN = "correct-horse-battery-staple-and-more";

export interface NetworkAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json: unknown;
}

export interface Sending {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Without TLS. */
  plain?: boolean;
}

/** A server that listens on the network address of this machine, with a certificate for it. */
export interface NetworkServer extends TestServer {
  /** Such as https://192.0.2.2:4180. */
  publicUrl: string;
  folder: string;
  certificate: Certificate;
  /** Sends a request over the network. */
  ask(path: string, sending?: Sending): Promise<NetworkAnswer>;
}

/**
 * @param env settings besides; an empty value removes one
 * @param address of this machine
 */
export async function startNetworkServer(
  env: Record<string, string> = {},
  address = networkAddress!,
): Promise<NetworkServer> {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-network-"));
  const certificate = makeCertificate(folder, "server", [`IP:${address}`]);
  const port = Number(env.PORT ?? (await freePort()));
  const publicUrl = `https://${address}:${port}`;
  const server = await startTestServer({
    env: {
      PORT: String(port),
      PLIMSOLL_LISTEN: address,
      PLIMSOLL_PUBLIC_URL: publicUrl,
      PLIMSOLL_TLS_CERT: certificate.certFile,
      PLIMSOLL_TLS_KEY: certificate.keyFile,
      PLIMSOLL_ACCESS_TOKEN: ACCESS_TOKEN,
      ...env,
    },
  });
  return {
    ...server,
    publicUrl,
    folder,
    certificate,
    ask: (path, sending = {}) => ask({ address, port, ca: certificate.cert }, path, sending),
    async stop(signal) {
      const code = await server.stop(signal);
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

export function ask(
  { address, port, ca }: { address: string; port: number; ca: string },
  path: string,
  { method, headers = {}, body, plain = false }: Sending,
): Promise<NetworkAnswer> {
  const options = {
    host: address,
    port,
    path,
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
      }),
      ...headers,
    },
    agent: false,
  };
  return new Promise((resolve, reject) => {
    // A test that names another host still means this server.
    const outgoing = plain
      ? overHttp(options)
      : overHttps({ ...options, ca, checkServerIdentity: () => undefined });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      incoming.on("error", reject);
      incoming.on("end", () => {
        const status = incoming.statusCode ?? 0;
        resolve({ status, headers: incoming.headers, text, json: jsonOf(text) });
      });
    });
    outgoing.end(body);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
