import { readFileSync } from "node:fs";
import { type IncomingMessage, Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Logger } from "pino";
import { openAlerts } from "./alerts/index.ts";
import { sessionChanges } from "./annotations/index.ts";
import { openCertificate } from "./certificate.ts";
import { openDatabaseWatch } from "./db/database-watch.ts";
import { startDatabase } from "./db/index.ts";
import { readContestedLeases } from "./db/lease.ts";
import { openWriters, queriesOf } from "./db/sql.ts";
import { createDemo } from "./demo/run.ts";
import { describeError, PlimsollError } from "./errors.ts";
import { createMachineApp } from "./http/app.ts";
import { auditExportRoutes } from "./http/audit-export.ts";
import { backupRoutes } from "./http/backup.ts";
import { BodyRoom } from "./http/body-room.ts";
import { builtAssets } from "./http/built-assets.ts";
import { csvRoutes } from "./http/csv.ts";
import { takeEvents } from "./http/events.ts";
import { createReadiness } from "./http/health.ts";
import { createInstruments } from "./http/instruments.ts";
import { createLiveStreams } from "./http/live.ts";
import { machineLoginRoutes } from "./http/machine-login.ts";
import { mcpRoutes } from "./http/mcp.ts";
import { otlpRoutes } from "./http/otlp.ts";
import { policyRoutes } from "./http/policy.ts";
import { openReads } from "./http/reads.ts";
import { errorResponse } from "./http/respond.ts";
import { BUILT } from "./http/routes.ts";
import { checkPort, type RunningServer, type ServeOptions, serve } from "./http/serve.ts";
import { signInRoutes } from "./http/sign-in.ts";
import { createLiveHub } from "./live/hub.ts";
import { createLogger, logConsole, printable, withoutSecrets } from "./log.ts";
import { Mappings } from "./mappings/mappings.ts";
import { Policies } from "./policies/policies.ts";
import { ReplayJobs } from "./policies/replay/jobs.ts";
import { Rollouts } from "./policies/rollouts.ts";
import { readEntries } from "./read/audit.ts";
import { projectRoot } from "./root.ts";
import { openSecretBox } from "./secret-box.ts";
import { readSettings, type Settings } from "./settings.ts";
import { SharedReads } from "./shared-reads.ts";
import { loginUrl, openAccess } from "./tenants/access/index.ts";
import { offerLogin } from "./tenants/access/login-link.ts";
import { factsOf } from "./tenants/access/principal.ts";
import { eventQuota, readQuota } from "./tenants/access/quota.ts";
import { auditReach } from "./tenants/audit/reach.ts";
import { createDeletions } from "./tenants/deletion/deletions.ts";
import { createRetention } from "./tenants/deletion/retention.ts";
import { openIdentityProvider } from "./tenants/people/identity-provider.ts";
import { signInSafety } from "./tenants/people/pending-sign-ins.ts";
import { startDeletion } from "./tenants/projects/deletion.ts";
import type { Services } from "./trpc/context.ts";
import { createHandlers } from "./trpc/handlers.ts";
import { appRouter } from "./trpc/router.ts";
import { analyzeTables, restoreBackup } from "./upkeep/backup/restore.ts";
import { writeBackup } from "./upkeep/backup/write-backup.ts";
import { openIngest } from "./write/index.ts";
import { readSetAside } from "./write/project/set-aside.ts";
import { Receipts } from "./write/receive/receipts.ts";

/** Where pages rendered in this process find the router and its context (see app/prefetch.ts). */
const PAGE_API = Symbol.for("plimsoll.page-api");

/** Milliseconds a stop may take. The embedded PostgreSQL then goes on stopping by itself. */
const STOP_LIMIT = 14_000;

/** What to undo at the end, in the order it was done. */
type Stops = (() => Promise<unknown> | unknown)[];

// Of what requests leave behind little survives: one thread copies it sooner than four can share it out, and leaves the
// other core to the database. Read anew by the engine at each collection, so it may be set when it runs already.
setFlagsFromString("--no-parallel-scavenge");

async function main(): Promise<void> {
  const settings = readSettings(process.env);
  const log = createLogger({ level: settings.LOG_LEVEL });
  const stops: Stops = [];
  const ended = new AbortController();
  let stopped: Promise<void> | undefined;

  function stop(): Promise<void> {
    stopped ??= stopAll();
    return stopped;
  }

  async function stopAll(): Promise<void> {
    for (const end of stops.reverse()) {
      try {
        await end();
      } catch (err) {
        log.error({ err }, "a part did not stop cleanly");
      }
    }
  }

  const started = start(settings, log, stops, ended.signal);
  // Heard from the beginning: whoever ends a start that is under way must find no database left behind.
  // A repeated signal changes nothing: npm passes on the Ctrl+C that the terminal has sent here as well.
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    setTimeout(() => {
      log.error(`the server did not stop within ${STOP_LIMIT / 1_000} s and ends now`);
      process.exit(1);
    }, STOP_LIMIT).unref();
    void started
      .catch(() => {})
      .then(stop)
      .then(() => process.exit(0));
  };
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  // `plimsoll up` was killed.
  process.on("disconnect", end);
  try {
    await started;
  } catch (error) {
    await stop();
    // A start that was ended by a signal has not failed; the handler of the signal exits.
    if (!ended.signal.aborted) throw error;
  }
}

/** Starts every part and says where to go. What was started is in `stops`, also when a later part fails. */
async function start(settings: Settings, log: Logger, stops: Stops, ended: AbortSignal): Promise<void> {
  const root = projectRoot();
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const clock = Date.now;
  let running: RunningServer | undefined;

  const { PLIMSOLL_LISTEN: host, PLIMSOLL_TLS_CERT: cert, PLIMSOLL_TLS_KEY: key } = settings;
  const certificate = cert && key ? await openCertificate({ cert, key }, log) : undefined;
  stops.push(() => certificate?.stop());
  await checkPort(host, settings.PORT);
  const database = await startDatabase(settings, log, ended);
  stops.push(() => database.stop());
  const { prisma, control, url } = database;
  const watch = openDatabaseWatch({ url, log });
  stops.push(() => watch.stop());

  const hub = createLiveHub({ connectionString: url, log });
  stops.push(() => hub.stop());
  const reads = readQuota(settings.PLIMSOLL_QUOTA_READS_PER_SECOND, clock);
  const box = await openSecretBox({ home: settings.PLIMSOLL_HOME, secret: settings.PLIMSOLL_SECRET });
  const provider = openIdentityProvider({
    settings,
    publicUrl: () => publicUrl(),
    safety: signInSafety(control, box),
    log,
  });
  const {
    access,
    keys,
    browsers,
    localToken,
    machineLogins,
    people,
    passkeys,
    projects,
    audit,
    onEnded,
    ...accessParts
  } = await openAccess({
    prisma: control,
    hub,
    home: settings.PLIMSOLL_HOME,
    proxies: settings.PLIMSOLL_TRUSTED_PROXIES,
    accessToken: settings.PLIMSOLL_ACCESS_TOKEN,
    provider,
    adminEmail: settings.PLIMSOLL_OIDC_ADMIN,
    box,
    reads,
    log,
  });
  stops.push(() => accessParts.stop());

  const policies = new Policies({ prisma: control, hub, log, clock });
  stops.push(() => policies.stop());
  const mappings = new Mappings({ prisma: control, hub, log, clock });
  stops.push(() => mappings.stop());
  const replays = new ReplayJobs({ log });
  stops.push(() => replays.stop());
  stops.push(hub.onProjectsChanged(() => policies.clear()));
  // A connection of its own: deleting a large project must not slow down anything else.
  const deleters = openWriters({ url, size: 1, log });
  stops.push(() => deleters.end());
  const deletion = startDeletion({ prisma: control, transaction: deleters.transaction, log });
  stops.push(() => deletion.stop());
  const instruments = createInstruments();
  const { ingest, freshness, ...pipeline } = await openIngest({
    url,
    log,
    clock,
    signals: hub,
    projects: async () => (await projects.list()).map(({ id }) => id),
    journaled: (events, ms) => instruments.commit(events, ms / 1_000),
    projected({ projectId, sessions, harnesses, counts }) {
      if (sessions.length > 0 || harnesses) hub.changed(projectId, sessions);
      for (const [outcome, count] of counts) instruments.events(outcome, count);
    },
  });
  stops.push(() => pipeline.close());
  const rollouts = new Rollouts({ prisma: control, policies, freshness, log, clock });
  // Another process may have restored a backup.
  stops.push(hub.onProjectsChanged(() => pipeline.tidy()));
  const room = new BodyRoom(settings.PLIMSOLL_BODIES_MIB * 1024 * 1024);
  instruments.watch({
    depth: () => ingest.depth(),
    fullProjects: () => ingest.queueState().fullProjects,
    bodyBytes: () => room.held,
    certificate: certificate?.state,
  });

  const localUrl = () => running?.url ?? `http://${host}:${settings.PORT}`;
  const publicUrl = () => settings.PLIMSOLL_PUBLIC_URL ?? localUrl();
  const { PLIMSOLL_HOME: home, PLIMSOLL_WEBHOOK_ALLOW: open } = settings;
  if (open.rules.length > 0)
    log.warn({ networks: open.rules }, "alert endpoints may be in these networks, by PLIMSOLL_WEBHOOK_ALLOW");
  const alerts = openAlerts({
    url,
    prisma: control,
    hub,
    policies,
    log,
    clock,
    box,
    open,
    baseUrl: publicUrl,
  });
  stops.push(() => alerts.stop());

  const freshLoginUrl = async (used?: () => void) =>
    loginUrl(publicUrl(), await browsers.createLoginToken(used));
  const demo = createDemo({ program: join(root, "dist/demo/main.js"), localUrl, keys, log, clock });
  const receipts = new Receipts(clock);
  const services: Services = {
    receipts,
    prisma,
    databaseUrl: url,
    databaseMode: database.mode,
    version,
    publicUrl,
    certificate: certificate?.state,
    keys,
    browsers,
    machineLogins,
    people,
    passkeys,
    projects,
    audit,
    createLoginUrl: () => freshLoginUrl(),
    command: (projectId, command) => ingest.command(projectId, command),
    freshness,
    policies,
    mappings,
    rollouts,
    replays,
    alerts,
    reads,
    demo,
    deletions: createDeletions({
      prisma: control,
      changed: (projectId) => hub.changed(projectId, null),
      clock,
    }),
    retention: createRetention({
      prisma: control,
      changed() {
        projects.changed();
        pipeline.tidy();
      },
      clock,
    }),
    ...sessionChanges({ prisma: control, clock, changed: (projectId, ids) => hub.changed(projectId, ids) }),
    sharedReads: new SharedReads(),
    watch,
    clock,
  };
  const reading = openReads({
    freshness,
    keyId: alerts.endpoints.keyId,
    readerOf: async (projectId) => ({
      prisma,
      projectId,
      policy: await policies.bookOf(projectId),
      now: clock(),
    }),
  });
  const handlers = createHandlers({
    services,
    errorResponse,
    onError(error, path) {
      if (error.code === "INTERNAL_SERVER_ERROR") log.error({ err: error, path }, "a procedure failed");
    },
  });
  (globalThis as Record<symbol, unknown>)[PAGE_API] = {
    router: appRouter,
    contextOf: (headers: Headers, project: string | undefined) => ({
      principal: access.authenticate({ ...factsOf(pageRequest(headers)), project }),
      services,
      response: {},
    }),
  };

  const hostRules = {
    port: settings.PORT,
    names: settings.PLIMSOLL_ALLOWED_HOSTS,
    publicUrl: settings.PLIMSOLL_PUBLIC_URL,
  };
  const onClients = (count: number) => instruments.liveClients(count);
  const streams = createLiveStreams({ hub, policies, access, watch, onEnded, onClients });
  const sending = {
    access,
    ingest,
    quota: eventQuota(settings.PLIMSOLL_QUOTA_EVENTS_PER_SECOND, clock),
    room,
    databaseFailure: watch.failure,
    keptDaysOf: (projectId: number) => projects.keptDays(projectId),
    receipts,
  };
  const machine = createMachineApp({
    log,
    version,
    access,
    browsers,
    publicUrl: settings.PLIMSOLL_PUBLIC_URL,
    localToken,
    streams,
    instruments,
    watch,
    gauges: reading.gauges,
    readiness: createReadiness({
      probeWrite: database.probeWrite,
      writeFailure: pipeline.writeFailure,
      queueState: () => ingest.queueState(),
      setAside: () => readSetAside(database.control),
      contested: () => readContestedLeases(queriesOf({ prisma: database.control })),
      stopping: () => ended.aborted,
    }),
    routes: [
      otlpRoutes({ ...sending, unmapped: pipeline.unmapped, mappings, log }),
      policyRoutes({ access, policies, freshness, room }),
      signInRoutes({
        access,
        browsers,
        people,
        passkeys,
        provider,
        audit,
        publicUrl: settings.PLIMSOLL_PUBLIC_URL,
        log,
      }),
      machineLoginRoutes({ access, keys, logins: machineLogins, publicUrl }),
      csvRoutes({ log, access, room, ...reading }),
      mcpRoutes({ log, access, room, version, clock, ...reading }),
      auditExportRoutes({
        ...{ log, access, reads },
        entries: (principal, query) => readEntries(prisma, auditReach(principal), query),
      }),
      backupRoutes({
        log,
        access,
        audit,
        clock,
        write: (options) => writeBackup({ url, version, ...options }),
        async restore(options) {
          const restored = await restoreBackup({ url, version, ...options });
          projects.changed();
          pipeline.tidy();
          policies.clear();
          mappings.clear();
          for (const projectId of restored.projectIds) hub.changed(projectId, null);
          await analyzeTables(url, options.signal).catch((err) => log.warn({ err }, "no statistics yet"));
          return restored;
        },
      }),
    ],
    room,
    reads,
    trpc: handlers.trpc,
    rest: handlers.rest,
  });

  const pages = settings.PLIMSOLL_PAGES === "on" ? await openPages(settings, root, log) : undefined;
  if (pages !== undefined) stops.push(() => pages.close());
  running = await serve({
    host,
    port: settings.PORT,
    hostRules,
    proxies: settings.PLIMSOLL_TRUSTED_PROXIES,
    certificate,
    events: takeEvents({
      ...sending,
      generationOf: (projectId) => policies.recall(projectId)?.generation,
    }),
    machine,
    pages: pages?.handle ?? noPages,
    pageUpgrade: pages?.upgrade,
    access,
    browsers,
    databaseFailure: watch.failure,
    streams,
    instruments,
    log,
  });
  stops.push(() => running?.close());
  // Not before it listens: until then no harness could apply a version.
  rollouts.start();
  stops.push(() => rollouts.stop());
  stops.push(() => demo.close());
  await hub.ready;

  const terminal = process.stdout.isTTY;
  const { PLIMSOLL_PUBLIC_URL: opens } = settings;
  const opened = opens === undefined ? "" : `  People open it at ${opens}\n\n`;
  const offer = pages && (await offerLogin({ home, terminal, log, createUrl: freshLoginUrl }));
  if (offer) stops.push(() => offer.withdraw());
  // `plimsoll up --open` waits for it.
  process.send?.({ listening: running.url });
  process.stdout.write(
    `\n  Plimsoll ${version} is listening on ${running.url}\n\n${opened}${offer?.text ?? ""}`,
  );
}

interface Pages {
  handle: (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;
  upgrade: ServeOptions["pageUpgrade"];
  close: () => Promise<void>;
}

/** Next, in this process. Loaded only when wanted: it is most of the server's memory. */
async function openPages(settings: Settings, root: string, log: Logger): Promise<Pages> {
  const dev = settings.NODE_ENV === "development";
  if (!dev) {
    logConsole(log);
    // The configuration as it was built: to read next.config.mjs, Next loads its compilers.
    const { config } = JSON.parse(readFileSync(join(root, ".next/required-server-files.json"), "utf8"));
    process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = JSON.stringify(config);
  }
  const { default: next } = await import("next");
  // Read once in silence and kept: Next would say at every start how long its configuration took.
  const { default: loadConfig } = createRequire(import.meta.url)(
    "next/dist/server/config.js",
  ) as typeof import("next/dist/server/config.js");
  const { PHASE_DEVELOPMENT_SERVER, PHASE_PRODUCTION_SERVER } = await import("next/constants.js");
  await loadConfig(dev ? PHASE_DEVELOPMENT_SERVER : PHASE_PRODUCTION_SERVER, root, { silent: true });
  // Next listens for upgrades on the server of its first request unless it is given one, and never answers them there.
  const httpServer = new Server();
  const app = next({ dev, dir: root, hostname: settings.PLIMSOLL_LISTEN, port: settings.PORT, httpServer });
  await app.prepare();
  const handle = app.getRequestHandler();
  const asset = dev ? handle : builtAssets(join(root, ".next"), handle);
  const { parseAndValidateFlightRouterState } = createRequire(import.meta.url)(
    "next/dist/server/app-render/parse-and-validate-flight-router-state.js",
  ) as typeof import("next/dist/server/app-render/parse-and-validate-flight-router-state.js");
  return {
    handle(incoming, outgoing) {
      if (incoming.url?.startsWith(BUILT)) return asset(incoming, outgoing);
      try {
        parseAndValidateFlightRouterState(incoming.headers["next-router-state-tree"]);
      } catch {
        // Next would answer 500 and log an error.
        throw new PlimsollError("bad_request", "The header next-router-state-tree cannot be read.");
      }
      return handle(incoming, outgoing);
    },
    upgrade: dev ? app.getUpgradeHandler() : undefined,
    close: () => app.close(),
  };
}

function noPages(_incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" });
  outgoing.end("This process serves machines only (PLIMSOLL_PAGES=off).\n");
}

/** What access needs to know of a page's request, from its headers alone: rendering only reads. */
function pageRequest(headers: Headers): IncomingMessage {
  return {
    method: "GET",
    headers: Object.fromEntries(headers),
    socket: { remoteAddress: undefined },
  } as unknown as IncomingMessage;
}

main().catch((error) => {
  process.stderr.write(`\n${printable(withoutSecrets(describeError(error)))}\n\n`);
  process.exit(1);
});
