import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CreatedKey, DoctorReport } from "@plimsoll/protocol";
import pg from "pg";
import { pino } from "pino";
import { startEmbedded } from "../server/db/embedded.ts";
import { layoutOf } from "../server/db/layout.ts";
import { endProcess, owned } from "./processes.ts";

export const root = fileURLToPath(new URL("..", import.meta.url));
const log = pino({ level: "silent" });
const START_LIMIT = 120_000;

/** A folder of our own for a server and its embedded database. */
export interface Home {
  path: string;
  /** Runs SQL in the database while its server runs. */
  sql<T>(work: (client: pg.Client) => Promise<T>): Promise<T>;
  /**
   * Has the database write a checkpoint, as it does by itself every quarter of an hour. Its log goes on in files it has
   * then; a database that never wrote one fills each new file with zeros first.
   */
  checkpoint(): Promise<unknown>;
  /** Process id of the database's first process. */
  postmaster(): Promise<number>;
  remove(): Promise<unknown>;
}

export async function makeHome(): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), "plimsoll-bench-"));
  // As root, PostgreSQL's user has to pass through.
  await chmod(path, 0o711);
  const joinDatabase = () => startEmbedded({ home: path, log });
  async function query<T>(as: "url" | "adminUrl", work: (client: pg.Client) => Promise<T>): Promise<T> {
    const database = await joinDatabase();
    const client = new pg.Client({ connectionString: database[as] });
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end();
      await database.stop();
    }
  }
  return {
    path,
    sql: (work) => query("url", work),
    checkpoint: () => query("adminUrl", (client) => client.query("CHECKPOINT")),
    postmaster: async () =>
      Number.parseInt(await readFile(join(layoutOf(path).data, "postmaster.pid"), "utf8"), 10),
    remove: owned(async () => {
      // A server that had to be killed leaves its database running: joining and leaving stops it.
      if (existsSync(join(layoutOf(path).data, "postmaster.pid"))) await (await joinDatabase()).stop();
      await rm(path, { recursive: true, force: true });
    }),
  };
}

export interface BenchServer {
  port: number;
  url: string;
  pid: number;
  query<T>(path: string, input?: unknown, key?: string): Promise<T>;
  mutate<T>(path: string, input?: unknown): Promise<T>;
  makeKey(...scopes: string[]): Promise<string>;
  /** @throws when the self-check finds a fault: numbers of a server that lost something mean nothing */
  examine(): Promise<void>;
  stop(): Promise<unknown>;
}

/** The environment of a server of ours: nothing of the settings of whoever runs this. */
export function serverEnvironment(home: Home, pages: boolean): NodeJS.ProcessEnv {
  const { DATABASE_URL: _url, HOST: _host, PLIMSOLL_ALLOWED_HOSTS: _hosts, ...env } = process.env;
  return {
    ...env,
    PORT: "0",
    PLIMSOLL_HOME: home.path,
    PLIMSOLL_PAGES: pages ? "on" : "off",
    PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "0",
    LOG_LEVEL: "warn",
    NODE_ENV: "production",
    NODE_OPTIONS: "",
  };
}

/** The built server in a process of its own, with its own embedded database. */
export async function startServer(options: {
  home: Home;
  pages: boolean;
  /** Folder for a CPU profile, written when it stops. */
  profile?: string | undefined;
}): Promise<BenchServer> {
  const { home, pages, profile } = options;
  const flags = profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profile];
  const child = spawn(process.execPath, [...flags, join(root, "dist/server/main.js")], {
    cwd: root,
    env: serverEnvironment(home, pages),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = owned(() => endProcess(child));
  const url = await listening(child);
  const token = (await readFile(join(home.path, "local-token"), "utf8")).trim();

  async function call<T>(path: string, init: RequestInit, key = token): Promise<T> {
    const response = await fetch(`${url}/api/trpc/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text).result.data;
  }

  const server: BenchServer = {
    port: Number(new URL(url).port),
    url,
    pid: child.pid!,
    stop,
    query: (path, input = {}, key) =>
      call(`${path}?input=${encodeURIComponent(JSON.stringify(input))}`, {}, key),
    mutate: (path, input = {}) => call(path, { method: "POST", body: JSON.stringify(input) }),
    makeKey: async (...scopes) =>
      (await server.mutate<CreatedKey>("keys.create", { name: "benchmark", scopes })).secret,
    async examine() {
      const { checks } = await server.query<DoctorReport>("doctor");
      const wrong = checks.filter((check) => !check.ok);
      if (wrong.length > 0) {
        throw new Error(`doctor: ${wrong.map((check) => `${check.name}: ${check.message}`).join("; ")}`);
      }
    },
  };
  return server;
}

/** Waits for the line that says where a server listens. */
export async function listening(child: ChildProcess): Promise<string> {
  let output = "";
  const limit = AbortSignal.timeout(START_LIMIT);
  const found = new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const url = /is listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
  const late = once(limit, "abort").then(() =>
    Promise.reject(new Error(`no server after ${START_LIMIT} ms`)),
  );
  return Promise.race([found, late]);
}
