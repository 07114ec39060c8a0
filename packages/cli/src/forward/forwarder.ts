import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Spool } from "@plimsoll/guard/report";
import { backoffMs } from "@plimsoll/protocol/pure";
import { sendRequest } from "../network/send-request.ts";
import { sleep } from "../sleep.ts";

export interface ForwarderOptions {
  /** On loopback; 0 for any. */
  port: number;
  /** Base URL of the server, asked before each attempt. Undefined if there is nothing to forward to any more. */
  target: () => Promise<string | undefined>;
  spool: Spool;
  /** Ends the forwarder. */
  signal: AbortSignal;
  /** The forwarder ends when no request came for so long, in ms; without a target, after a minute. */
  idleMs: number;
}

export const FORWARDER_ENDS = ["idle", "stopped", "port_taken"] as const;
/** `port_taken`: most likely another forwarder of this connection runs. */
export type ForwarderEnd = (typeof FORWARDER_ENDS)[number];

/** Bytes of the requests that are being received, and of one that is kept. */
const MOST_HELD_BYTES = 64 * 1024 * 1024;
const MOST_BODY_BYTES = 8 * 1024 * 1024;
const ANSWER_MS = 30_000;
/** A harness that was disconnected while it runs still exports every 10 s. */
const DISCONNECTED_MS = 60_000;
const BACKOFF = { firstMs: 1_000, mostMs: 60_000 };

/** A request as a line of the spool. */
interface Kept {
  path: string;
  headers: Record<string, string>;
  /** In base64. */
  body: string;
}

/**
 * Takes OTLP on loopback and answers at once, so that no exporter waits for the server or prints that it is away. Keeps what came
 * in the spool until the server has it.
 * @param onReady called with the port
 */
export async function runForwarder(
  { port, target, spool, signal, idleMs }: ForwarderOptions,
  onReady: (port: number) => void = () => {},
): Promise<ForwarderEnd> {
  const ended = new AbortController();
  const stopping = AbortSignal.any([signal, ended.signal]);
  let held = 0;
  let isSending = false;
  let lastAt = performance.now();

  async function sendAll(): Promise<void> {
    if (isSending) return;
    isSending = true;
    for (let attempt = 1; !stopping.aborted; ) {
      const batch = await spool.next(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
      if (batch === undefined) break;
      if (await deliver(batch.lines, await target())) {
        await batch.done();
        attempt = 1;
      } else await sleep(backoffMs(attempt++, BACKOFF, Math.random()), stopping);
    }
    isSending = false;
  }
  // A disk that is full or gone loses telemetry, and nothing else.
  const send = () => void sendAll().catch(() => (isSending = false));

  const server = createServer((request, response) => {
    lastAt = performance.now();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      held += chunk.length;
      if (size <= MOST_BODY_BYTES && held <= MOST_HELD_BYTES) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.on("error", () => {});
    request.on("close", () => (held -= size));
    request.on("end", () => {
      const type = request.headers["content-type"] ?? "application/json";
      response.writeHead(200, { "Content-Type": type }).end(/json/i.test(type) ? "{}" : undefined);
      const body = Buffer.concat(chunks);
      const kept = size > 0 && body.length === size ? keptOf(request, body) : undefined;
      if (kept === undefined) return;
      spool.add([JSON.stringify(kept)]).then(send, () => {});
    });
  });
  if (!(await listens(server, port))) return "port_taken";
  const address = server.address();
  onReady(typeof address === "object" && address !== null ? address.port : port);
  send();
  const end = await new Promise<ForwarderEnd>((resolve) => {
    const check = async () => {
      const idle = performance.now() - lastAt;
      if (idle >= idleMs || (idle >= DISCONNECTED_MS && (await target()) === undefined)) finish("idle");
    };
    const timer = setInterval(() => void check().catch(() => {}), Math.min(idleMs, DISCONNECTED_MS));
    const finish = (reason: ForwarderEnd) => {
      clearInterval(timer);
      resolve(reason);
    };
    const stop = () => finish("stopped");
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  ended.abort();
  server.close();
  server.closeAllConnections();
  return end;
}

const listens = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });

/** Undefined for what the server would not store: metrics, and what has no key. */
function keptOf({ url, headers }: IncomingMessage, body: Buffer): Kept | undefined {
  const path = /^\/otlp\/v1\/(?:logs|traces)$/.exec(url ?? "")?.[0];
  const names = ["x-api-key", "authorization", "content-type", "content-encoding"];
  const given = names.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : []));
  const kept = Object.fromEntries(given) as Record<string, string>;
  if (path === undefined || !(kept["x-api-key"] ?? kept.authorization)?.includes("plim_")) return undefined;
  return { path, headers: kept, body: body.toString("base64") };
}

/** @returns whether all can be forgotten, because the server has it or will never take it */
async function deliver(lines: readonly string[], url: string | undefined): Promise<boolean> {
  if (url === undefined) return true;
  for (const line of lines) if ((await attempt(JSON.parse(line) as Kept, url)) === "again") return false;
  return true;
}

async function attempt({ path, headers, body }: Kept, url: string): Promise<"stored" | "refused" | "again"> {
  try {
    const response = await sendRequest(url + path, {
      method: "POST",
      headers,
      body: Buffer.from(body, "base64"),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await response.body?.cancel();
    const isOtlp = /^application\/(?:x-protobuf|json)/.test(response.headers.get("content-type") ?? "");
    // Whatever else listens there may be the server again later.
    if (!isOtlp) return "again";
    if (response.ok) return "stored";
    return response.status === 429 || response.status >= 500 ? "again" : "refused";
  } catch {
    return "again";
  }
}
