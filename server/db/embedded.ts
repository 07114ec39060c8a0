import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import { createCluster } from "./initdb.ts";
import {
  clusterState,
  type Layout,
  layoutOf,
  prepareHome,
  quarantineLeftovers,
  type RunAs,
  runAsUser,
} from "./layout.ts";
import { chooseAddress, type Started, startPostmaster, stopPostmaster } from "./postmaster.ts";
import { readPostmasterPid, setAsideRecycledLocks } from "./postmaster-pid.ts";
import { type Address, Presence } from "./presence.ts";
import { identifyPostmaster } from "./process-identity.ts";
import { boundServerLog } from "./server-log.ts";

/** The role and the database that the application uses. The role owns the database and nothing else. */
const APP = "plimsoll";

/** Milliseconds between two tries to bring a lost server back; the last one repeats. */
const BACK_OFF = [0, 100, 250, 500, 1_000, 2_000, 5_000, 10_000];

/** Milliseconds a server that is starting or stopping may take before we give up on it. */
const BUSY_LIMIT = 10 * 60_000;

export interface EmbeddedDatabase {
  /** Connection URL of the application's role. Holds a password; stays valid across restarts. */
  url: string;
  /** The same for the superuser: tests and maintenance only. */
  adminUrl: string;
  /** True when a running server was found and joined. */
  adopted: boolean;
  dataDirectory: string;
  /** Process id of the postmaster now; undefined while it is down, or when it cannot be seen from here. */
  pid(): number | undefined;
  /** Leaves the server, and stops it when no other Plimsoll process uses it. Never throws; may be repeated. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder that belongs to Plimsoll; made when missing. */
  home: string;
  log: Logger;
}

/**
 * Starts the embedded PostgreSQL in `home`, or joins the one that runs there, and keeps it running: when it
 * dies, one of the processes that use it starts it again, and connection pools recover by themselves.
 *
 * Any number of processes may do this with one home at the same time. There is no lock file of ours.
 * A new cluster appears by one rename; of two postmasters PostgreSQL lets one live; and who uses the
 * server is known to the server itself (see Presence).
 *
 * @throws PlimsollError a start-up code with a hint
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const layout = layoutOf(resolve(options.home));
  const runAs = runAsUser();
  const log = options.log;
  await prepareHome(layout, runAs);
  const binaries = await findBinaries(layout.binaries, runAs);
  if ((await clusterState(layout)) !== "complete") {
    for (const path of await quarantineLeftovers(layout)) {
      log.warn({ path }, "an earlier first start was interrupted; what it left was set aside");
    }
    if ((await clusterState(layout)) === "absent") await createCluster(layout, binaries, runAs);
  }
  const supervisor = new Supervisor(layout, binaries, runAs, log);
  return supervisor.start();
}

class Supervisor {
  private readonly layout: Layout;
  private readonly binaries: Binaries;
  private readonly runAs: RunAs | undefined;
  private readonly log: Logger;
  private password = "";
  private address: Address | undefined;
  private presence: Presence | undefined;
  private pid: number | undefined;
  private stopping: Promise<void> | undefined;
  private recovering: Promise<void> | undefined;
  private logTimer: NodeJS.Timeout | undefined;
  private readonly stopped = new AbortController();

  constructor(layout: Layout, binaries: Binaries, runAs: RunAs | undefined, log: Logger) {
    this.layout = layout;
    this.binaries = binaries;
    this.runAs = runAs;
    this.log = log;
  }

  async start(): Promise<EmbeddedDatabase> {
    this.password = (await readFile(this.layout.password, "utf8")).trim();
    const started = await this.attach();
    try {
      await this.prepareApplication();
    } catch (error) {
      await this.stop();
      throw error;
    }
    const boundLog = () =>
      boundServerLog(this.layout.log).catch((err) => this.log.warn({ err }, "server.log"));
    this.logTimer = setInterval(boundLog, 60_000).unref();
    await boundLog();
    return {
      url: this.url(APP, this.applicationPassword(), APP),
      adminUrl: this.url("postgres", this.password, "postgres"),
      adopted: !started,
      dataDirectory: this.layout.data,
      pid: () => this.pid,
      stop: () => {
        this.stopping ??= this.stop();
        return this.stopping;
      },
    };
  }

  /**
   * Joins the running server, or starts one and joins it.
   * @returns true when we started it
   */
  private async attach(): Promise<boolean> {
    let started: Started | undefined;
    const deadline = Date.now() + BUSY_LIMIT;
    for (;;) {
      const found = await this.look();
      if (found instanceof Presence) {
        this.presence = found;
        found.onLost(() => this.recover());
        return started !== undefined && started.pid === this.pid;
      }
      if (this.stopped.signal.aborted)
        throw new PlimsollError("database_unreachable", "Stopped while starting.");
      if (Date.now() > deadline) throw this.stuck();
      if (found === "absent") {
        const outcome = await this.launch();
        if (outcome !== "raced") {
          started = outcome;
          continue;
        }
      }
      await sleep(50);
    }
  }

  /** Looks for a live server on our data folder, by its own postmaster.pid, and joins it. */
  private async look(): Promise<Presence | "busy" | "absent"> {
    const file = await readPostmasterPid(this.layout.data);
    if (!file) return "absent";
    // First the door, then the process: in containers that share the home, the pid may mean nothing here.
    const address =
      file.socketDirectory && !file.listenAddress
        ? { host: this.layout.socket, port: file.port }
        : { host: "127.0.0.1", port: file.port };
    const answer = await Presence.join(address, this.password, this.layout.data);
    const identity = await identifyPostmaster(file.pid, this.layout.data);
    if (answer.kind === "joined") {
      // The start time ties the pid in the file to the server that answered.
      const sameServer = Math.abs(answer.presence.startedAt - file.startedAt) <= 2;
      this.pid = identity === "ours" && sameServer ? file.pid : undefined;
      this.address = address;
      return answer.presence;
    }
    if (identity === "ours" && answer.kind === "refused") throw this.wrongPassword();
    // A living postmaster of ours that does not answer is starting or stopping. One that answers `busy`
    // can be in another container.
    return identity === "ours" || answer.kind === "busy" ? "busy" : "absent";
  }

  private async launch(): Promise<Started | "raced"> {
    const { data, socket } = this.layout;
    // A restart keeps the address: the application's pools know only that one.
    const address = this.address ?? (await chooseAddress(this.layout));
    const locks = [join(data, "postmaster.pid"), join(socket, `.s.PGSQL.${address.port}.lock`)];
    for (const path of await setAsideRecycledLocks(data, locks)) {
      this.log.warn(
        { path },
        "a stale lock file of PostgreSQL named another program's process; it was set aside",
      );
    }
    return startPostmaster(this.layout, this.binaries, address, this.runAs);
  }

  private recover(): void {
    if (this.stopped.signal.aborted || this.recovering) return;
    this.presence = undefined;
    this.pid = undefined;
    this.log.error("the embedded PostgreSQL went away; bringing it back");
    this.recovering = this.bringBack().finally(() => {
      this.recovering = undefined;
      // It may have gone again between the last join and here.
      this.presence?.onLost(() => this.recover());
    });
  }

  private async bringBack(): Promise<void> {
    for (let attempt = 0; !this.stopped.signal.aborted; attempt++) {
      await sleep(BACK_OFF[Math.min(attempt, BACK_OFF.length - 1)], undefined, {
        signal: this.stopped.signal,
      }).catch(() => {});
      if (this.stopped.signal.aborted) return;
      try {
        const started = await this.attach();
        this.log.info({ started, attempt }, "the embedded PostgreSQL is back");
        return;
      } catch (err) {
        this.log.error({ err, attempt }, "the embedded PostgreSQL did not come back; trying again");
      }
    }
  }

  private async stop(): Promise<void> {
    this.stopped.abort();
    clearInterval(this.logTimer);
    try {
      await this.recovering;
      const presence = this.presence;
      this.presence = undefined;
      if (!presence) return;
      const last = await presence.leave();
      // Our session stays open while the server stops: its lock keeps newcomers out until then.
      if (last && this.pid !== undefined && !(await stopPostmaster(this.pid, this.layout, this.binaries))) {
        this.log.warn(
          { pid: this.pid },
          "the embedded PostgreSQL is still running; the next start will join it",
        );
      }
      await presence.close();
    } catch (err) {
      this.log.warn({ err }, "the embedded PostgreSQL could not be stopped; the next start will join it");
    }
  }

  /** Makes the application's role and database, once; two processes may do so together. */
  private async prepareApplication(): Promise<void> {
    const client = this.presence!.client;
    const { rows } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [APP]);
    if (rows.length > 0) return;
    const password = pg.escapeLiteral(this.applicationPassword());
    await once(client, `CREATE ROLE ${APP} LOGIN PASSWORD ${password}`);
    await once(client, `CREATE DATABASE ${APP} OWNER ${APP}`);
  }

  /** Derived, so that one file holds all there is to keep, and one-way, so that it does not tell that. */
  private applicationPassword(): string {
    return createHmac("sha256", this.password).update(APP).digest("base64url");
  }

  private url(user: string, password: string, database: string): string {
    const { host, port } = this.address!;
    const place = host.startsWith("/")
      ? `localhost:${port}/${database}?host=${encodeURIComponent(host)}`
      : "";
    return `postgresql://${user}:${password}@${place || `${host}:${port}/${database}`}`;
  }

  private wrongPassword(): PlimsollError {
    return new PlimsollError(
      "database_unreachable",
      `The PostgreSQL that serves ${this.layout.data} does not accept our password.`,
      { hint: `${this.layout.password} must be the file that was made together with the data. Restore it.` },
    );
  }

  private stuck(): PlimsollError {
    return new PlimsollError(
      "database_unreachable",
      "The embedded PostgreSQL neither becomes ready nor ends.",
      {
        hint: `See its log, ${this.layout.log}.`,
      },
    );
  }
}

/** Runs a CREATE that another process may have run a moment ago. */
async function once(client: pg.Client, sql: string): Promise<void> {
  await client.query(sql).catch((error: { code?: string }) => {
    // Duplicate role, duplicate database, and the unique violation both can show up as.
    if (!["42710", "42P04", "23505"].includes(error.code ?? "")) throw error;
  });
}
