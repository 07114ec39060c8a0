import type { ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import {
  LOCAL_PROOF_PATH,
  LocalProofQuery,
  type LoginAnswer,
  type ServerHealth,
} from "@plimsoll/protocol/api";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Logger } from "pino";
import { z } from "zod";
import type { DatabaseWatch } from "../db/database-watch.ts";
import { PlimsollError } from "../errors.ts";
import { type Browsers, expiredCookie, sessionCookie, sessionOf } from "../tenants/access/browser.ts";
import type { LocalToken } from "../tenants/access/local-token.ts";
import { checkOrigin, isHttps } from "../tenants/access/origin.ts";
import { type Access, actorOf, factsOf, type Principal } from "../tenants/access/principal.ts";
import type { Quota } from "../tenants/access/quota.ts";
import type { BodyRoom } from "./body-room.ts";
import { withCallBody } from "./call-body.ts";
import { MACHINE_HEADERS } from "./headers.ts";
import type { Readiness } from "./health.ts";
import type { Instruments } from "./instruments.ts";
import type { LiveStreams } from "./live.ts";
import { type GaugeSource, type ProjectGauges, renderMetrics } from "./metrics.ts";
import { errorResponse, foreseen, logError, nextRequestId } from "./respond.ts";
import { dropRestOfBody } from "./rest-of-body.ts";

export type MachineEnv = { Bindings: HttpBindings };
export type MachineContext = Context<MachineEnv>;

/** Handles whole requests of a part mounted from outside (tRPC, the REST API). */
export type FetchHandler = (request: Request, context: RequestContext) => Response | Promise<Response>;

export interface RequestContext {
  /** See Access.authenticate; asked only when needed. */
  authenticate(): Promise<Principal | undefined>;
}

export interface MachineAppDeps {
  log: Logger;
  version: string;
  access: Access;
  browsers: Pick<Browsers, "login" | "logout" | "loginWithAccessToken">;
  /** PLIMSOLL_PUBLIC_URL. */
  publicUrl: string | undefined;
  localToken: Pick<LocalToken, "prove">;
  streams: LiveStreams;
  instruments: Instruments;
  gauges: GaugeSource;
  watch: Pick<DatabaseWatch, "outage">;
  readiness: Readiness;
  room: BodyRoom;
  /** Bounds the calls of each key. */
  reads: Pick<Quota, "take">;
  /** Of parts that stand by themselves. */
  routes?: ((app: Hono<MachineEnv>) => void)[];
  /** Everything under /api/trpc. */
  trpc?: FetchHandler;
  /** /openapi.json and what is left of /api/v1. */
  rest?: FetchHandler;
}

export interface MachineApp {
  fetch(request: Request, bindings: HttpBindings): Response | Promise<Response>;
}

const LOGIN_BODY_BYTES = 4_096;
const LoginBody = z.union([
  z.strictObject({ token: z.string().min(1).max(200) }),
  z.strictObject({ access_token: z.string().min(1).max(2_000) }),
]);

/** Everything a machine calls but `POST /api/v1/events`, and how a browser logs in. */
export function createMachineApp(deps: MachineAppDeps): MachineApp {
  const { log, access, browsers, localToken, streams } = deps;
  const app = new Hono<MachineEnv>();

  for (const route of deps.routes ?? []) route(app);

  app.get("/healthz", (c) => {
    const database = deps.watch.outage() ?? null;
    return c.json({ status: "ok", version: deps.version, database } satisfies ServerHealth);
  });

  app.get("/readyz", async (c) => {
    const { reasons, faults, fullProjects } = await deps.readiness();
    // Ids, not names: this route needs no key.
    const queues = fullProjects.length === 0 ? {} : { full_projects: fullProjects };
    if (reasons.length === 0) {
      const state = faults.length === 0 ? { status: "ready" } : { status: "degraded", reasons: faults };
      return c.json({ ...state, ...queues });
    }
    throw new PlimsollError("overloaded", `Not ready. ${[...reasons, ...faults].join(" ")}`, {
      details: { reasons: [...reasons, ...faults], ...queues },
    });
  });

  app.get("/metrics", async (c) => {
    const { projectId } = await access.authorizeRead(c.env.incoming);
    const gauges = await readGauges(projectId);
    const { contentType, body } = await renderMetrics(deps.instruments, gauges);
    return c.body(body, 200, { "Content-Type": contentType, "Cache-Control": "no-store" });
  });

  async function readGauges(projectId: number): Promise<ProjectGauges | undefined> {
    try {
      return await deps.gauges(projectId);
    } catch (err) {
      log.warn({ err }, "the figures of a project could not be read for a scrape");
      return undefined;
    }
  }

  app.get("/api/v1/live", async (c) => {
    await streams.serve(c.env.incoming, c.env.outgoing as ServerResponse);
    return RESPONSE_ALREADY_SENT;
  });

  app.get(LOCAL_PROOF_PATH, async (c) => {
    const query = LocalProofQuery.safeParse({ challenge: c.req.query("challenge") });
    if (!query.success) throw new PlimsollError("bad_request", "challenge must be 64 hex digits.");
    const { localAddress = "", localPort = 0 } = c.env.incoming.socket;
    return c.json(await localToken.prove(query.data.challenge, { address: localAddress, port: localPort }));
  });

  app.post("/api/v1/login", limitedBody(LOGIN_BODY_BYTES), async (c) => {
    const facts = factsOf(c.env.incoming);
    // Else a page elsewhere could log this browser in with a link of its own. A browser says where it is.
    if ((facts.origin ?? facts.secFetchSite) !== undefined && !checkOrigin(facts)) {
      throw new PlimsollError("forbidden_scope", "Log in from this server's own page.");
    }
    const body = LoginBody.safeParse(await c.req.json().catch(() => undefined));
    if (!body.success)
      throw new PlimsollError("bad_request", 'Send JSON: {"token": "..."} or {"access_token": "..."}.');
    const by = [access.clientOf(facts), c.req.header("user-agent")] as const;
    const { session, isPerson } =
      "token" in body.data
        ? await browsers.login(body.data.token, ...by)
        : { session: await browsers.loginWithAccessToken(body.data.access_token, ...by), isPerson: false };
    c.header("Set-Cookie", sessionCookie(session, askedOf(c)));
    c.header("Cache-Control", "no-store");
    return c.json({ ok: true, person: isPerson } satisfies LoginAnswer);
  });

  app.post("/api/v1/logout", async (c) => {
    const facts = factsOf(c.env.incoming);
    const session = sessionOf(facts);
    const principal = session && (await access.authenticate({ ...facts, authorization: undefined }));
    if (session && principal) await browsers.logout(session, actorOf(principal));
    c.header("Set-Cookie", expiredCookie(askedOf(c)));
    return c.json({ ok: true });
  });

  const { trpc, rest } = deps;
  if (trpc) app.all("/api/trpc/*", (c) => call(trpc, c));

  // The REST API is what is left, not a wildcard route: one that matches as well would make the router run
  // a chain of handlers for every request.
  app.notFound(async (c) => {
    const { path } = c.req;
    if (rest && (path.startsWith("/api/v1/") || path === "/openapi.json")) return call(rest, c);
    return errorResponse(new PlimsollError("not_found", `There is nothing at ${c.req.method} ${path}.`));
  });

  app.onError(async (thrown, c) => {
    const error = foreseen(thrown);
    const requestId = nextRequestId();
    logError(log, error, { method: c.req.method, path: c.req.path, requestId });
    const response = errorResponse(error);
    response.headers.set("X-Request-Id", requestId);
    if (error instanceof PlimsollError && error.code === "too_large") {
      if (!(await dropRestOfBody(c.env.incoming))) response.headers.set("Connection", "close");
    }
    return response;
  });

  /** A client that claims https wrongly only keeps the cookie from itself. */
  function askedOf(c: MachineContext): { host: string | undefined; secure: boolean } {
    const { incoming } = c.env;
    return { host: incoming.headers.host, secure: isHttps(incoming, deps.publicUrl) };
  }

  /** Has a part answer a call. Its body is read only for a sender who is known. */
  async function call(handle: FetchHandler, c: MachineContext): Promise<Response> {
    const { incoming } = c.env;
    const { raw } = c.req;
    const { method, headers } = raw;
    if (method === "GET" || method === "HEAD") {
      return handle(raw, { authenticate: () => access.authenticate(factsOf(incoming)) });
    }
    const sender = access.authenticate(factsOf(incoming));
    const context = { authenticate: () => sender };
    const principal = await sender.catch(() => undefined);
    if (principal === undefined) {
      // An input that can be parsed, so that the answer is about the sender.
      const unread = new Headers(headers);
      unread.set("Content-Type", "application/json");
      unread.delete("Content-Length");
      const response = await handle(new Request(raw.url, { method, headers: unread, body: "{}" }), context);
      if (!(await dropRestOfBody(incoming))) response.headers.set("Connection", "close");
      return response;
    }
    let isRead = false;
    try {
      return await withCallBody(deps.room, principal.projectId, incoming, (bytes) => {
        isRead = true;
        const body = bytes.length === 0 ? null : new Uint8Array(bytes);
        return handle(new Request(raw.url, { method, headers, body }), context);
      });
    } catch (error) {
      if (!isRead) deps.reads.take(principal.keyId, 1);
      throw error;
    }
  }

  return {
    async fetch(request, bindings) {
      const response = await app.fetch(request, bindings);
      for (const [name, value] of Object.entries(MACHINE_HEADERS)) {
        if (!response.headers.has(name)) response.headers.set(name, value);
      }
      return response;
    },
  };
}

/** Refuses a larger body. */
export function limitedBody(bytes: number) {
  return bodyLimit({
    maxSize: bytes,
    onError: () => {
      throw new PlimsollError("too_large", `At most ${bytes} bytes are read here.`);
    },
  });
}
