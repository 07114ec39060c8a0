import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { isBlockedPort } from "@plimsoll/protocol/pure";
import type { Logger } from "pino";
import type { WatchedCertificate } from "../certificate.ts";
import { databaseUnavailable, isUnavailable } from "../db/unavailable.ts";
import { PlimsollError, statusOf, toErrorBody } from "../errors.ts";
import { listensOnLoopback } from "../listening.ts";
import { type Browsers, type BrowserVisit, sessionCookie, sessionOf } from "../tenants/access/browser.ts";
import type { TrustedProxies } from "../tenants/access/client-address.ts";
import {
  type HostFault,
  type HostRules,
  hostFault,
  isHttps,
  isLoopbackName,
  targetOf,
} from "../tenants/access/origin.ts";
import { type Access, factsOf } from "../tenants/access/principal.ts";
import type { MachineApp } from "./app.ts";
import { limitConnections } from "./connection-limit.ts";
import type { EventsReply } from "./events.ts";
import { FAILURE_PAGE_HEADERS, failurePage } from "./failure-page.ts";
import { alsoOnLoopback, createFront, type Front, transportOf } from "./front.ts";
import { contentSecurityPolicy, HSTS, MACHINE_HEADERS, makeNonce, PAGE_HEADERS } from "./headers.ts";
import type { Instruments } from "./instruments.ts";
import type { LiveStreams } from "./live.ts";
import { allowLongBodies } from "./long-bodies.ts";
import { PageQueue } from "./page-queue.ts";
import { errorHeaders, errorResponse, foreseen, logError, nextRequestId, nothingAt } from "./respond.ts";
import { isBuiltAsset, isDecodable, isForPeople, isNextInternal, routeOf, takesEvents } from "./routes.ts";

export interface ServeOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Its port is set to the one listened on. */
  hostRules: HostRules;
  /** Those that may bring requests over plain HTTP, besides this machine, if `host` is not loopback. */
  proxies: TrustedProxies;
  /** Of this server's TLS. */
  certificate?: WatchedCertificate | undefined;
  /** Takes the events of a request and says what became of them. Asked directly: it is the one route that needs speed. */
  events(incoming: IncomingMessage): Promise<EventsReply>;
  machine: MachineApp;
  /** Next's request handler. */
  pages(incoming: IncomingMessage, outgoing: ServerResponse): unknown;
  /** Next's upgrade handler, for its development server. */
  pageUpgrade?: ((incoming: IncomingMessage, socket: Duplex, head: Buffer) => unknown) | undefined;
  access: Pick<Access, "clientOf">;
  browsers: Pick<Browsers, "verify">;
  /** Why the database does not answer; undefined while it does. */
  databaseFailure: () => PlimsollError | undefined;
  streams: Pick<LiveStreams, "close">;
  instruments: Pick<Instruments, "request">;
  log: Logger;
  /** Milliseconds that requests under way get to finish at the end. */
  graceMs?: number;
}

export interface RunningServer {
  port: number;
  /** Where programs of this machine reach it, such as http://127.0.0.1:4180, without a slash at the end. */
  url: string;
  /** Takes no more, ends live streams, lets requests finish, then cuts what is left. May be repeated. */
  close(): Promise<void>;
}

/** Longer than the minute after which load balancers drop an idle connection: they must be the ones to. */
const KEEP_ALIVE_MS = 65_000;
/** Milliseconds a page waits for the check of its cookie. */
const VERIFY_MS = 1_500;
/** For all of a request to arrive. */
const REQUEST_MS = 120_000;
/** Addresses that stand for all of this machine's, loopback included. */
const WILDCARDS = ["0.0.0.0", "::"];
const LOOPBACK = "127.0.0.1";

/**
 * Listens on one port for machines and people.
 * @throws PlimsollError `port_in_use` or `setting_invalid`
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const {
    host,
    hostRules,
    proxies,
    certificate,
    events,
    machine,
    pages,
    access,
    browsers,
    databaseFailure,
    streams,
    instruments,
    log,
    graceMs = 5_000,
  } = options;
  const upgraded = new Set<Duplex>();
  const development = options.pageUpgrade !== undefined;
  const queue = new PageQueue();
  const isReachable = !listensOnLoopback({ PLIMSOLL_LISTEN: host });

  const machines = getRequestListener((request, bindings) => machine.fetch(request, bindings as never), {
    // A request too broken for the app to see, such as one with a malformed Host.
    errorHandler: () => errorResponse(new PlimsollError("bad_request", "The request cannot be read.")),
  });

  async function page(incoming: IncomingMessage, outgoing: ServerResponse, url: string, open: boolean) {
    try {
      const nonce = makeNonce();
      const policy = contentSecurityPolicy(nonce, development);
      // Next takes the nonce for its scripts from the policy in the request. A visitor's own headers are replaced.
      incoming.headers["content-security-policy"] = policy;
      incoming.headers["x-nonce"] = nonce;
      setHeaders(outgoing, { ...PAGE_HEADERS, "Content-Security-Policy": policy });
      if (!open || url.startsWith("/login")) outgoing.setHeader("Cache-Control", "no-store");
      if (!development && isNextInternal(url)) throw nothingAt(incoming);
      if (!isDecodable(url))
        throw new PlimsollError("bad_request", "The address has an incomplete % escape.");
      if (!open && !(await letIn(incoming, outgoing, url))) return;
      const { method = "" } = incoming;
      if (!development && method !== "GET" && method !== "HEAD") {
        throw new PlimsollError("bad_request", `Pages answer GET and HEAD, not ${method}.`);
      }
      if (isBuiltAsset(url) || (await queue.enter(incoming, outgoing))) await pages(incoming, outgoing);
    } catch (error) {
      const forPeople = incoming.headers.accept?.includes("text/html") === true;
      refuse(incoming, outgoing, url, foreseen(error), forPeople);
    }
  }

  async function answerEvents(incoming: IncomingMessage, outgoing: ServerResponse, url: string) {
    try {
      const { answer, headers } = await events(incoming);
      const body = JSON.stringify(answer);
      outgoing.writeHead(200, {
        ...MACHINE_HEADERS,
        ...headers,
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
      });
      outgoing.end(body);
    } catch (thrown) {
      refuse(incoming, outgoing, url, foreseen(thrown), false);
    }
  }

  function refuse(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    url: string,
    error: unknown,
    forPeople: boolean,
  ): void {
    const requestId = nextRequestId();
    logError(log, error, { method: incoming.method ?? "", path: url.split("?", 1)[0]!, requestId });
    if (outgoing.headersSent) {
      outgoing.destroy();
      return;
    }
    const headers = { ...MACHINE_HEADERS, ...errorHeaders(error), "X-Request-Id": requestId };
    outgoing.writeHead(statusOf(error), forPeople ? { ...headers, ...FAILURE_PAGE_HEADERS } : headers);
    outgoing.end(forPeople ? failurePage(error) : JSON.stringify(toErrorBody(error)));
  }

  /**
   * A page is let in unverified while the database does not answer. It holds no data then: its calls are verified by
   * themselves.
   * @returns false when it has answered with the way to the login page
   */
  async function letIn(incoming: IncomingMessage, outgoing: ServerResponse, url: string): Promise<boolean> {
    const { cookie, host } = incoming.headers;
    const session = sessionOf({ cookie, host });
    if (session !== undefined && databaseFailure() !== undefined) return true;
    const visit =
      session === undefined ? undefined : await verified(session, access.clientOf(factsOf(incoming)));
    if (visit === "unknown") return true;
    if (session === undefined || !visit) {
      if (incoming.method !== "GET" && incoming.method !== "HEAD") {
        throw new PlimsollError("unauthenticated", "Log in first.");
      }
      const next = url === "/" ? "" : `?next=${encodeURIComponent(url)}`;
      outgoing.writeHead(302, { Location: `/login${next}`, "Cache-Control": "no-store" }).end();
      return false;
    }
    if (visit.renew) {
      const secure = isHttps(incoming, hostRules.publicUrl);
      outgoing.appendHeader("Set-Cookie", sessionCookie(session, { host, secure }));
    }
    return true;
  }

  async function verified(session: string, address: string): Promise<BrowserVisit | "unknown" | undefined> {
    const late = new AbortController();
    const unknown = sleep(VERIFY_MS, "unknown" as const, { signal: late.signal });
    unknown.catch(() => {});
    try {
      return await Promise.race([browsers.verify(session, address), unknown]);
    } catch (cause) {
      if (isUnavailable(cause)) return "unknown";
      throw databaseUnavailable(cause);
    } finally {
      late.abort();
    }
  }

  const limits = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS, noDelay: true };
  const front = createFront(limits, certificate);
  const { server } = front;
  // Beyond the default so that a connection kept alive is never cut between two of its requests.
  server.headersTimeout = KEEP_ALIVE_MS + 1_000;
  allowLongBodies(server);

  server.on("request", (incoming, outgoing) => {
    const fault = hostFault(incoming, hostRules);
    const target = incoming.url ?? "/";
    const url = targetOf(target)?.path ?? target;
    incoming.url = url;
    const route = routeOf(url);
    // A stream lasts as long as its page is open; its duration says nothing.
    if (route !== "live") {
      const started = performance.now();
      outgoing.on("finish", () =>
        instruments.request(route, outgoing.statusCode, (performance.now() - started) / 1000),
      );
    }
    const transport = transportOf(incoming.socket, proxies);
    if (transport === "tls" && !isLoopbackName(incoming.headers.host))
      outgoing.setHeader("Strict-Transport-Security", HSTS);
    if (fault !== undefined) {
      const accepts = isForPeople(route) && incoming.headers.accept?.includes("text/html") === true;
      refuse(incoming, outgoing, url, refusedHost(fault, incoming.headers.host), accepts);
    } else if (isReachable && transport === "open" && route !== "health") {
      const { publicUrl = "" } = hostRules;
      if (isForPeople(route)) outgoing.writeHead(308, { Location: publicUrl + url }).end();
      else refuse(incoming, outgoing, url, withoutTls(publicUrl), false);
    } else if (route === "events" && takesEvents(incoming.method, url))
      void answerEvents(incoming, outgoing, url);
    else if (isForPeople(route)) void page(incoming, outgoing, url, route === "asset");
    else void machines(incoming, outgoing);
  });

  // Only in development, and nobody else may listen (see openPages): without a listener, Node answers a request that
  // offers an upgrade, such as the first request of `curl --http2`, like any other.
  const { pageUpgrade } = options;
  if (pageUpgrade) {
    server.on("upgrade", (incoming, socket, head) => {
      const webSocket = incoming.headers.upgrade?.toLowerCase() === "websocket";
      if (!webSocket || hostFault(incoming, hostRules) !== undefined) {
        socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      upgraded.add(socket);
      socket.on("close", () => upgraded.delete(socket));
      socket.on("error", () => socket.destroy());
      pageUpgrade(incoming, socket, head);
    });
  }

  limitConnections(server, log);
  const port = await listenOnAllowedPort(server, host, options.port);
  const loopback = isReachable && !WILDCARDS.includes(host) ? alsoOnLoopback(server) : undefined;
  if (loopback) await listen(loopback, LOOPBACK, port);
  hostRules.port = port;

  let closed: Promise<void> | undefined;
  return {
    port,
    url: `http://${isReachable ? LOOPBACK : host.includes(":") ? `[${host}]` : host}:${port}`,
    close() {
      closed ??= close(front, graceMs, () => {
        loopback?.close();
        streams.close();
        for (const socket of upgraded) socket.destroy();
      });
      return closed;
    },
  };
}

const HOST_TEXTS: Record<HostFault, (host: string | undefined) => string> = {
  missing: () => "The request names no host. Send a Host header.",
  several: () => "The request names several hosts. Send one Host header.",
  foreign: (host) =>
    `This server is not known as ${host}. If it should be, add the name to PLIMSOLL_ALLOWED_HOSTS.`,
  other_target: (host) =>
    `The address in the request line does not name ${host}. Send a path, or the same host.`,
};

const refusedHost = (fault: HostFault, host: string | undefined) =>
  new PlimsollError("bad_request", HOST_TEXTS[fault](host));

const withoutTls = (publicUrl: string) =>
  new PlimsollError("bad_request", `This server takes requests over a network only with HTTPS: ${publicUrl}`);

function setHeaders(outgoing: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
}

/**
 * Asked before anything is started, so that whoever starts a second server hears at once that its port is taken, and not
 * after a database was made.
 * @throws PlimsollError `port_in_use` or `setting_invalid` when nothing may listen there
 */
export async function checkPort(host: string, port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, host, port);
  await new Promise((resolve) => probe.close(resolve));
}

/** A system may be set to give any port, so another is asked for if browsers block the first. */
async function listenOnAllowedPort(server: NetServer, host: string, asked: number): Promise<number> {
  for (;;) {
    await listen(server, host, asked);
    const { port } = server.address() as AddressInfo;
    if (!isBlockedPort(port)) return port;
    await new Promise((resolve) => server.close(resolve));
  }
}

function listen(server: NetServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

function explain(cause: NodeJS.ErrnoException, host: string, port: number): unknown {
  switch (cause.code) {
    case "EADDRINUSE":
      return new PlimsollError("port_in_use", `Port ${port} on ${host} is in use.`, {
        cause,
        hint: `Is Plimsoll running already? Stop what uses the port, or take another: PORT=${port === 65_535 ? port - 1 : port + 1}. PORT=0 takes a free one.`,
      });
    case "EACCES":
      return new PlimsollError("setting_invalid", `This user may not listen on port ${port}.`, {
        cause,
        hint: "Ports below 1024 need special rights. Take another: PORT=4180.",
      });
    case "EADDRNOTAVAIL":
      return new PlimsollError("setting_invalid", `This machine has no address ${host}.`, {
        cause,
        hint: "Set PLIMSOLL_LISTEN to one of this machine's addresses. The default is 127.0.0.1.",
      });
    default:
      return cause;
  }
}

async function close({ server, cut }: Front, graceMs: number, endStreams: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  endStreams();
  // A connection becomes idle when its last request is answered, and would then be kept alive.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const last = setTimeout(cut, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(last);
}
