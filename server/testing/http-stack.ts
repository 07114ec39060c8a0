import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import { BlockList } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scope } from "@plimsoll/protocol/api";
import { pino } from "pino";
import { LOCAL_TOKEN_FILE } from "../db/postgres/layout.ts";
import { probeWrite } from "../db/write-probe.ts";
import { createMachineApp, type MachineAppDeps } from "../http/app.ts";
import { BodyRoom } from "../http/body-room.ts";
import { createReadiness } from "../http/health.ts";
import { createInstruments } from "../http/instruments.ts";
import { createLiveStreams } from "../http/live.ts";
import type { ProjectGauges } from "../http/metrics.ts";
import { type ServeOptions, serve } from "../http/serve.ts";
import { createLiveHub } from "../live/hub.ts";
import { Policies } from "../policies/policies.ts";
import { openSecretBox } from "../secret-box.ts";
import { openAccess } from "../tenants/access/index.ts";
import type { HostRules } from "../tenants/access/origin.ts";
import { readSetAside } from "../write/project/set-aside.ts";
import type { QueueState } from "../write/receive/admission.ts";
import { LOCAL } from "./actor.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { EMPTY_GAUGES } from "./gauges.ts";

/** The watch of a database that always answers. */
export const ANSWERING = { outage: () => undefined, failure: () => undefined, onChange: () => () => {} };

/** The HTTP layer in this process, on a new database and a free port. Options replace its parts. */
export async function startHttpStack(
  options: Partial<Pick<MachineAppDeps, "routes" | "trpc" | "rest">> &
    Partial<Pick<ServeOptions, "events" | "pages" | "graceMs">> & {
      heartbeatMs?: number;
      maxClients?: number;
      gauges?: () => Promise<ProjectGauges>;
      queueState?: () => QueueState;
      names?: string[];
      proxies?: BlockList;
      accessToken?: string;
      publicUrl?: string;
      /** The database of another stack, to act as its second process. */
      database?: TestDatabase;
    } = {},
) {
  const database = options.database ?? (await testDatabase());
  const home = await mkdtemp(join(tmpdir(), "plimsoll-http-"));
  const { prisma } = database;
  const log = pino({ level: "silent" });
  const hub = createLiveHub({ connectionString: database.url, log });
  await hub.ready;
  const control = await openAccess({
    prisma,
    hub,
    home,
    proxies: options.proxies ?? new BlockList(),
    accessToken: options.accessToken,
    provider: undefined,
    adminEmail: undefined,
    box: await openSecretBox({ home, secret: undefined }),
    reads: { take: () => {} },
    log,
  });
  const { access, keys, browsers, localToken, projects, onEnded } = control;
  const local = (await readFile(join(home, LOCAL_TOKEN_FILE), "utf8")).trim();
  const instruments = createInstruments();
  const policies = new Policies({ prisma, hub, log, clock: Date.now });
  const streams = createLiveStreams({
    hub,
    policies,
    access,
    watch: ANSWERING,
    onEnded,
    onClients: instruments.liveClients,
    heartbeatMs: options.heartbeatMs,
    maxClients: options.maxClients,
  });
  const hostRules: HostRules = { port: 0, names: options.names ?? [], publicUrl: options.publicUrl };
  const machine = createMachineApp({
    log,
    version: "0.0.0",
    access,
    browsers,
    publicUrl: options.publicUrl,
    localToken,
    streams,
    instruments,
    watch: ANSWERING,
    gauges: options.gauges ?? (async () => EMPTY_GAUGES),
    readiness: createReadiness({
      probeWrite: () => probeWrite(prisma),
      setAside: () => readSetAside(prisma),
      contested: async () => [],
      writeFailure: () => undefined,
      queueState: options.queueState ?? (() => ({ fullProjects: [], blocked: false })),
      stopping: () => false,
    }),
    room: new BodyRoom(256 * 1024 * 1024),
    reads: { take: () => {} },
    routes: options.routes,
    trpc: options.trpc,
    rest: options.rest,
  });
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    hostRules,
    proxies: options.proxies ?? new BlockList(),
    events: options.events ?? (async () => ({ answer: { accepted: 1, rejected: [] }, headers: {} })),
    machine,
    pages: options.pages ?? ((_: IncomingMessage, outgoing: ServerResponse) => void outgoing.end("a page")),
    access,
    browsers,
    databaseFailure: ANSWERING.failure,
    streams,
    instruments,
    log,
    graceMs: options.graceMs,
  });
  return {
    ...server,
    database,
    hub,
    keys,
    browsers,
    projects,
    local,
    streams,
    policies,
    /** Creates a key with these scopes. Returns its id and the header to send. */
    async key(...scopes: Scope[]) {
      const { secret, id } = await keys.create(1, { name: "test", scopes }, LOCAL);
      return { id, authorization: `Bearer ${secret}` };
    },
    /** Sends exactly these headers, including those that fetch() forbids. */
    send: (path: string, sent: SentRequest = {}) => send(server.port, path, sent),
    async stop() {
      await server.close();
      policies.stop();
      await control.stop();
      await hub.stop();
      if (!options.database) await database.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

export type HttpStack = Awaited<ReturnType<typeof startHttpStack>>;

interface SentRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface ReceivedRequest {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body parsed as JSON; undefined if it is not JSON. */
  json: unknown;
}

export function send(
  port: number,
  path: string,
  { method, headers, body }: SentRequest,
): Promise<ReceivedRequest> {
  const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: "127.0.0.1",
        port,
        path,
        method: method ?? (payload === undefined ? "GET" : "POST"),
        headers: {
          ...(payload === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
          ...headers,
        },
        agent: false,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(payload);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
