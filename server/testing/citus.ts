import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { pino } from "pino";
import { migrate } from "../db/migrations/migrate.ts";
import { databaseUser } from "../db/postgres/database-user.ts";
import type { RunAs } from "../db/postgres/layout.ts";
import { projectRoot } from "../root.ts";
import { freePort } from "./nginx.ts";

const run = promisify(execFile);
const log = pino({ level: "silent" });

/** Few: every test creates all tables. Citus has 32 by default. */
const SHARDS = 4;

/** What the coordinator logged of one statement, or of an error. */
export interface LoggedStatement {
  statement: string;
  /** SQLSTATE and message; undefined if it began without an error. */
  error: string | undefined;
}

export interface CitusNode {
  port: number;
  /** Ends every connection and stops, as a machine that is lost. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface CitusDatabase {
  url: string;
  close(): Promise<void>;
}

export interface CitusCluster {
  coordinator: CitusNode;
  workers: CitusNode[];
  /** An empty database on all nodes. With `migrated`, it has all tables, distributed. */
  createDatabase(options?: { migrated?: boolean }): Promise<CitusDatabase>;
  /** Everything the coordinator was asked to run, in order. */
  statements(): Promise<LoggedStatement[]>;
  stop(): Promise<void>;
}

/**
 * Starts a coordinator and two workers on loopback. They log every statement.
 * @param programs the folder of a PostgreSQL with Citus, see find-citus.ts
 */
export async function startCitus(programs: string): Promise<CitusCluster> {
  const user = await databaseUser(log);
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-citus-"));
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711);
  const nodes: CitusNode[] = [];
  async function stop(): Promise<void> {
    await Promise.all(nodes.map((node) => node.stop()));
    await rm(folder, { recursive: true, force: true });
  }
  try {
    for (const name of ["coordinator", "worker-1", "worker-2"]) {
      nodes.push(await startNode(programs, join(folder, name), user));
    }
    await createTemplate(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const [coordinator, ...workers] = nodes as [CitusNode, ...CitusNode[]];
  return {
    coordinator,
    workers,
    createDatabase: ({ migrated = false } = {}) => createDatabase(nodes, migrated),
    statements: () => readStatements(join(folder, "coordinator", "log")),
    stop,
  };
}

type NodeAddress = Pick<CitusNode, "port">;

/** Where the nodes of a running cluster listen: the coordinator first. */
export type CitusPorts = readonly number[];

/** Uses the cluster that another process started. */
export function joinCitus(ports: CitusPorts): Pick<CitusCluster, "createDatabase"> {
  const nodes = ports.map((port) => ({ port }));
  return { createDatabase: ({ migrated = false } = {}) => createDatabase(nodes, migrated) };
}

const urlOf = ({ port }: NodeAddress, name = "postgres"): string =>
  `postgresql://postgres@127.0.0.1:${port}/${name}`;

async function startNode(programs: string, folder: string, user: RunAs | undefined): Promise<CitusNode> {
  const options = { ...user, cwd: "/", env: { ...process.env, LC_ALL: "C" } };
  await mkdir(folder);
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const initdb = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D", data];
  await run(join(programs, "initdb"), initdb, options);
  const port = await freePort();
  const settings = Object.entries({
    shared_preload_libraries: "citus",
    "citus.shard_count": String(SHARDS),
    "citus.node_conninfo": "sslmode=disable",
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    port: String(port),
    max_connections: "300",
    timezone: "UTC",
    logging_collector: "on",
    log_directory: join(folder, "log"),
    log_destination: "jsonlog",
    log_statement: "all",
    log_rotation_size: "0",
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let child: ChildProcess | undefined;
  // A run that is interrupted ends without a word.
  process.once("exit", () => child?.kill("SIGQUIT"));
  const node: CitusNode = {
    port,
    async start() {
      const started = spawn(join(programs, "postgres"), ["-D", data, ...settings], {
        ...options,
        stdio: ["ignore", "ignore", "pipe"],
      });
      child = started;
      let said = "";
      started.stderr!.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      while (!(await answers(urlOf(node)))) {
        if (started.exitCode !== null) throw new Error(`PostgreSQL with Citus did not start:\n${said}`);
        await sleep(50);
      }
    },
    async stop() {
      const running = child;
      child = undefined;
      if (running === undefined || running.exitCode !== null) return;
      const exited = once(running, "exit");
      running.kill("SIGQUIT");
      await exited;
    },
  };
  await node.start();
  return node;
}

const answers = (url: string): Promise<boolean> =>
  withClient(url, async () => {}).then(
    () => true,
    () => false,
  );

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const TEMPLATE = "plimsoll_template";

async function createDatabase(nodes: readonly NodeAddress[], migrated: boolean): Promise<CitusDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  if (migrated) await createOnAll(nodes, name, TEMPLATE);
  else await createEmpty(nodes, name);
  return {
    url: urlOf(nodes[0]!, name),
    async close() {
      // Citus keeps connections between the nodes, in every database.
      for (const node of nodes) await runOn(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** A database with all tables, whose copies are a cluster of their own: a node finds the others by address and database. */
async function createTemplate(nodes: readonly NodeAddress[]): Promise<void> {
  await createEmpty(nodes, TEMPLATE);
  const url = urlOf(nodes[0]!, TEMPLATE);
  await migrate({ url, log });
  await distribute(url);
  for (const node of nodes) {
    // Nobody may be connected to a database that is copied, not even the daemon of Citus.
    await runOn(node, `ALTER DATABASE ${TEMPLATE} WITH ALLOW_CONNECTIONS false`);
    const end = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${TEMPLATE}'`;
    await runOn(node, end);
  }
}

async function createEmpty(nodes: readonly NodeAddress[], name: string): Promise<void> {
  await createOnAll(nodes, name, "template0");
  for (const node of nodes) await runOn(node, "CREATE EXTENSION citus", name);
  const [coordinator, ...workers] = nodes as [NodeAddress, ...NodeAddress[]];
  await runOn(coordinator, `SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`, name);
  for (const { port } of workers)
    await runOn(coordinator, `SELECT citus_add_node('127.0.0.1', ${port})`, name);
}

const createOnAll = (nodes: readonly NodeAddress[], name: string, template: string) =>
  Promise.all(nodes.map((node) => runOn(node, `CREATE DATABASE ${name} TEMPLATE ${template}`)));

const runOn = (node: NodeAddress, sql: string, database?: string) =>
  withClient(urlOf(node, database), (client) => client.query(sql));

/** Runs prisma/citus.sql, as an operator does with psql. */
export async function distribute(url: string): Promise<void> {
  const script = await readFile(join(projectRoot(), "prisma", "citus.sql"), "utf8");
  await withClient(url, (client) => client.query(script));
}

interface LogLine {
  message: string;
  statement?: string;
  error_severity: string;
  state_code?: string;
}

async function readStatements(folder: string): Promise<LoggedStatement[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
  const logged: LoggedStatement[] = [];
  for (const file of files) {
    for (const line of (await readFile(join(folder, file), "utf8")).split("\n")) {
      if (line === "") continue;
      const { message, statement, error_severity: severity, state_code: code } = JSON.parse(line) as LogLine;
      if (severity === "ERROR" && statement !== undefined) {
        logged.push({ statement, error: `${code} ${message}` });
      }
      const began = /^(?:execute [^:]*|statement): ([\s\S]*)$/.exec(message);
      if (severity === "LOG" && began) logged.push({ statement: began[1]!, error: undefined });
    }
  }
  return logged;
}
