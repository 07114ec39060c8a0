import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "@plimsoll/protocol/pure";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";
import { trustedPath } from "../../folder.ts";
import { type Address, Presence } from "../presence.ts";
import { throwIfStopped } from "../stopped.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import { allowLogin, damaged, inspectCluster, setAsideInterrupted } from "./cluster-files.ts";
import { readPast, recordDatabase } from "./database-record.ts";
import { databaseUser } from "./database-user.ts";
import { createCluster } from "./initdb.ts";
import { type HomeLayout, layoutOf, ownerOf, prepareHome, type RunAs } from "./layout.ts";
import { chooseAddress, namedFile, type Started, startPostmaster, stopPostmaster } from "./postmaster.ts";
import { type PostmasterPid, readPostmasterPid, setAsideUselessLocks } from "./postmaster-pid.ts";
import { identifyPostmaster } from "./process-identity.ts";
import { boundServerLog } from "./server-log.ts";

/** The role and the database that the application uses. The role owns the database and nothing else. */
const APP = "plimsoll";

/** Between attempts to start a lost server again. The first is made at once. */
const RETRY = { firstMs: 100, mostMs: 10_000 };

/** Milliseconds a server may take to recover from a crash or to stop. */
const BUSY_LIMIT = 10 * 60_000;

/** Milliseconds after which a server that calls itself ready must have answered. */
const READY_LIMIT = 5_000;

/** Milliseconds after which a start that waits for the server says so; again after twice that, and so on. */
const WAITING_LOG = 1_000;

export interface EmbeddedDatabase {
  /** Connection URL of the application's role. Contains a password. Stays valid across restarts. */
  url: string;
  /** Connection URL of the superuser, for tests and maintenance only. */
  adminUrl: string;
  /** True when a running server was found and joined. */
  adopted: boolean;
  dataDirectory: string;
  /** Process id of the current postmaster; undefined while it is down, or when it runs in another container. */
  pid(): number | undefined;
  /** Why the server could not be started again after it died; undefined while it runs. */
  problem(): PlimsollError | undefined;
  /** Leaves the server, and stops it when no other Plimsoll process uses it. Never throws; may be repeated. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder that belongs to Plimsoll; created when missing. */
  home: string;
  log: Logger;
  /** Ends a start that is under way. A server that the start has launched is stopped. */
  signal?: AbortSignal;
}

/**
 * Starts the embedded PostgreSQL in `home`, or joins the one that runs there, and keeps it running: when it
 * dies, one of the processes that use it starts it again, and connection pools recover by themselves.
 *
 * Any number of processes may do this with one home at the same time, without a lock file of ours. A new
 * cluster appears with one rename, PostgreSQL lets one of two postmasters live, and the server itself knows
 * which processes use it (see Presence).
 *
 * @throws PlimsollError a start-up code with a hint
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { log, signal = new AbortController().signal } = options;
  const layout = layoutOf(await trustedPath(resolve(options.home)));
  const runAs = await databaseUser(log, await ownerOf(layout.data));
  await prepareHome(layout, runAs);
  const past = await readPast(layout);
  const state = await inspectCluster(layout, past);
  const binaries = await findBinaries(layout.binaries, runAs);
  if (state !== "complete") {
    for (const path of await setAsideInterrupted(layout)) {
      log.warn({ path }, "an earlier first start was interrupted; its files were set aside");
    }
    if ((await inspectCluster(layout)) === "absent") await createCluster(layout, binaries, runAs, signal);
  }
  const database = await new Supervisor(layout, binaries, runAs, log, signal).start();
  if (past?.id === undefined) {
    await recordDatabase(layout).catch((err) =>
      log.warn(
        { err, path: layout.record },
        "cannot record which database this home has; the next start tries again",
      ),
    );
  }
  return database;
}

class Supervisor {
  private readonly layout: HomeLayout;
  private readonly binaries: Binaries;
  private readonly runAs: RunAs | undefined;
  private readonly log: Logger;
  private password = "";
  private address: Address | undefined;
  private presence: Presence | undefined;
  private pid: number | undefined;
  private problem: PlimsollError | undefined;
  private stopping: Promise<void> | undefined;
  private recovering: Promise<void> | undefined;
  private logTimer: NodeJS.Timeout | undefined;
  private readonly stopped = new AbortController();
  /** Aborted by the signal of the start, and by `stop`. */
  private readonly ended: AbortSignal;

  constructor(
    layout: HomeLayout,
    binaries: Binaries,
    runAs: RunAs | undefined,
    log: Logger,
    signal: AbortSignal,
  ) {
    this.layout = layout;
    this.binaries = binaries;
    this.runAs = runAs;
    this.log = log;
    this.ended = AbortSignal.any([signal, this.stopped.signal]);
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
      boundServerLog(this.layout.log).catch((err) => this.log.warn({ err }, "cannot shorten server.log"));
    this.logTimer = setInterval(boundLog, 60_000).unref();
    await boundLog();
    return {
      url: this.url(APP, this.applicationPassword(), APP),
      adminUrl: this.url("postgres", this.password, "postgres"),
      adopted: !started,
      dataDirectory: this.layout.data,
      pid: () => this.pid,
      problem: () => this.problem,
      stop: () => {
        this.stopping ??= this.stop();
        return this.stopping;
      },
    };
  }

  /**
   * Joins the running server, or starts one and joins it. A server that we started and cannot join is stopped.
   * @returns true when we started it
   */
  private async attach(): Promise<boolean> {
    let started: Started | undefined;
    const began = Date.now();
    let readySince: number | undefined;
    let unreadableSince: number | undefined;
    let tellAfter = WAITING_LOG;
    try {
      for (;;) {
        const now = Date.now();
        const { answer, file } = await this.look();
        if (answer instanceof Presence) {
          this.presence = answer;
          answer.onLost(() => this.recover());
          return started !== undefined && started.pid === this.pid;
        }
        throwIfStopped(this.ended);
        readySince = file?.status === "ready" && answer === "busy" ? (readySince ?? now) : undefined;
        if (readySince !== undefined && Date.now() - readySince > READY_LIMIT) throw this.silent(file!);
        if (now - began > BUSY_LIMIT) throw this.stuck();
        if (Date.now() - began > tellAfter) {
          tellAfter *= 2;
          this.log.info({ status: file?.status }, "waiting for the embedded PostgreSQL");
        }
        if (answer === "absent") {
          const outcome = await this.launch();
          if (outcome !== "raced") {
            started = outcome;
            continue;
          }
          const lock = join(this.layout.data, "postmaster.pid");
          unreadableSince = file === undefined && existsSync(lock) ? (unreadableSince ?? now) : undefined;
          if (unreadableSince !== undefined && now - unreadableSince > READY_LIMIT) throw this.cutLock(lock);
        }
        await sleep(50);
      }
    } catch (error) {
      if (started) await stopPostmaster(started.pid, this.layout, this.binaries);
      throw error;
    }
  }

  /** Looks for a running server on our data folder, by its own postmaster.pid, and joins it. */
  private async look(): Promise<{ answer: Presence | "busy" | "absent"; file?: PostmasterPid }> {
    const file = await readPostmasterPid(this.layout.data);
    if (!file) return { answer: "absent" };
    // The connection decides, then the process: in containers that share the home, the pid may mean nothing here.
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
      return { answer: answer.presence, file };
    }
    if (identity === "ours" && answer.kind === "refused") throw this.refused(answer.error);
    if (identity === "ours" && answer.kind === "failed") throw this.unusable(answer.error);
    // A running postmaster of ours that does not answer is starting or stopping. One that answers `busy`
    // can be in another container.
    return { answer: identity === "ours" || answer.kind === "busy" ? "busy" : "absent", file };
  }

  private async launch(): Promise<Started | "raced"> {
    const { data, socket } = this.layout;
    // A restart keeps the address: the application's pools know only that one.
    const address = this.address ?? (await chooseAddress(this.layout));
    const locks = [join(data, "postmaster.pid"), join(socket, `.s.PGSQL.${address.port}.lock`)];
    for (const { path, reason } of await setAsideUselessLocks(data, locks, this.runAs)) {
      this.log.warn(
        { path },
        reason === "damaged"
          ? "a lock file of PostgreSQL was damaged and no server used it; it was set aside"
          : "a stale lock file of PostgreSQL named the process of another program; it was set aside",
      );
    }
    return startPostmaster(this.layout, this.binaries, address, { runAs: this.runAs, signal: this.ended });
  }

  private recover(): void {
    if (this.stopped.signal.aborted || this.recovering) return;
    this.presence = undefined;
    this.pid = undefined;
    this.log.error("the embedded PostgreSQL is gone; starting it again");
    this.recovering = this.bringBack().finally(() => {
      this.recovering = undefined;
      // The connection may have been lost again since the last join.
      this.presence?.onLost(() => this.recover());
    });
  }

  private async bringBack(): Promise<void> {
    for (let attempt = 0; !this.stopped.signal.aborted; attempt++) {
      const wait = attempt === 0 ? 0 : backoffMs(attempt, RETRY, Math.random());
      await sleep(wait, undefined, { signal: this.stopped.signal }).catch(() => {});
      if (this.stopped.signal.aborted) return;
      try {
        const started = await this.attach();
        this.problem = undefined;
        this.log.info({ started, attempt }, "the embedded PostgreSQL is back");
        return;
      } catch (err) {
        this.problem = err instanceof PlimsollError ? err : undefined;
        this.log.error({ err, attempt }, "the embedded PostgreSQL did not start; trying again");
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
      // The session stays open while the server stops: its lock keeps other processes from joining.
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

  /** Creates the application's role and database once, and logs in to it. Several processes may do so at once. */
  private async prepareApplication(): Promise<void> {
    const client = this.presence!.client;
    const { rows } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [APP]);
    const password = pg.escapeLiteral(this.applicationPassword());
    if (rows.length === 0) {
      await once(client, `CREATE ROLE ${APP} LOGIN PASSWORD ${password}`);
      await once(client, `CREATE DATABASE ${APP} OWNER ${APP}`);
    }
    const failure = await this.tryApplication();
    // The superuser has a new password, and this one is derived from it.
    if (failure?.code === "28P01") await client.query(`ALTER ROLE ${APP} PASSWORD ${password}`);
    else if (failure) throw this.unusable(failure);
  }

  /** @returns why the application cannot log in to its database; undefined when it can */
  private async tryApplication(): Promise<pg.DatabaseError | undefined> {
    const client = new pg.Client({
      connectionString: this.url(APP, this.applicationPassword(), APP),
      application_name: "plimsoll supervisor",
      connectionTimeoutMillis: READY_LIMIT,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      return undefined;
    } catch (error) {
      if (error instanceof pg.DatabaseError) return error;
      throw error;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Derived, so that one file holds everything there is to keep; one-way, so that it does not reveal that file. */
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

  private refused(cause: Error): PlimsollError {
    const { data, password } = this.layout;
    if (/pg_hba\.conf/.test(cause.message)) {
      return damaged(join(data, "pg_hba.conf"), "does not let Plimsoll connect", allowLogin(this.layout));
    }
    return damaged(
      password,
      `is not the password of the database in ${data}`,
      "Restore the file that was created with the data, or set a new password as docs/recovery.md describes.",
    );
  }

  private unusable(cause: Error & { detail?: string | undefined }): PlimsollError {
    const { data, log } = this.layout;
    const hint = `Restore the whole data folder from a backup. PostgreSQL's log is ${log}.`;
    const file = namedFile(data, `${cause.message} ${cause.detail ?? ""}`);
    return file === undefined
      ? damaged(data, `is damaged. PostgreSQL says: ${cause.message}`, hint)
      : damaged(file, "is missing or damaged", hint);
  }

  private silent(file: PostmasterPid): PlimsollError {
    return new PlimsollError(
      "database_unreachable",
      `PostgreSQL runs on ${this.layout.data} (process ${file.pid}) but does not answer.`,
      {
        hint: `It may be paused, or its socket in ${this.layout.socket} was deleted. Continue it with kill -CONT ${file.pid}, or stop it with kill -INT ${file.pid} and start Plimsoll again.`,
      },
    );
  }

  private cutLock(lock: string): PlimsollError {
    return damaged(
      lock,
      "is damaged, and the PostgreSQL process it names is running",
      "Stop that process (its id is in the first line), then start Plimsoll again.",
    );
  }

  private stuck(): PlimsollError {
    return new PlimsollError(
      "database_unreachable",
      `The embedded PostgreSQL neither became ready nor stopped within ${BUSY_LIMIT / 60_000} minutes.`,
      { hint: `See its log, ${this.layout.log}.` },
    );
  }
}

/** Milliseconds a CREATE DATABASE may take on a slow disk. */
const CREATE_LIMIT = 60_000;

/** Runs a CREATE that another process may have run a moment ago. */
async function once(client: pg.Client, text: string): Promise<void> {
  const query: pg.QueryConfig & { query_timeout: number } = { text, query_timeout: CREATE_LIMIT };
  await client.query(query).catch((error: { code?: string }) => {
    // Duplicate role, duplicate database, and the unique violation that either can show up as.
    if (!["42710", "42P04", "23505"].includes(error.code ?? "")) throw error;
  });
}
