import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DoctorReport, IngestAnswer, PlimsollEventInput } from "@plimsoll/protocol";
import { build } from "esbuild";
import { pino } from "pino";
import { expect } from "vitest";
import { startEmbedded } from "../db/embedded.ts";
import { layoutOf } from "../db/layout.ts";
import { readPostmasterPid } from "../db/postmaster-pid.ts";
import { projectRoot } from "../root.ts";
import { emptyDatabase } from "./database.ts";

/** Milliseconds a busy machine may need until a server listens, or has ended. */
const START_LIMIT = 60_000;
const STOP_LIMIT = 30_000;

export interface TestServerOptions {
  /** An existing home, to start again on what another server left. Its maker removes it. */
  home?: string;
  /** A database of one's own. Absent: a fresh one in the cluster that all tests share. */
  databaseUrl?: string;
  /** An embedded PostgreSQL of this server's own, in its home. */
  embedded?: boolean;
  env?: Record<string, string>;
}

export interface HttpAnswer<T = unknown> {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when it is not. */
  body: T;
}

/** Anything goes over the wire: tests send what is wrong as well. */
export type Sendable = PlimsollEventInput | Record<string, unknown>;

export interface TestServer {
  url: string;
  /** The local token, which may do everything. */
  token: string;
  pid: number;
  home: string;
  /** What it was started with; undefined when embedded. */
  databaseUrl: string | undefined;
  /** All it has printed so far. */
  output(): string;
  /** Posts events as JSON. Without a key the local token is sent. */
  send(events: Sendable | readonly Sendable[], key?: string): Promise<HttpAnswer<IngestAnswer>>;
  get<T = unknown>(path: string, key?: string): Promise<HttpAnswer<T>>;
  request<T = unknown>(path: string, init?: RequestInit & { duplex?: "half" }): Promise<HttpAnswer<T>>;
  /** Calls a query; the answer is what the procedure returned. Throws what the server said otherwise. */
  trpc<T>(path: string, input?: unknown): Promise<T>;
  mutate<T>(path: string, input?: unknown): Promise<T>;
  /** Runs the self-check through the API and expects no complaint. */
  expectHealthy(): Promise<void>;
  /** Process id of the embedded postmaster. */
  postmaster(): Promise<number | undefined>;
  /** Ends it as an operator would; returns its exit code. May be repeated. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut would. */
  kill9(): Promise<void>;
}

let bundle: Promise<string> | undefined;

/** The server as it is shipped: one file, with only its dependencies left outside. */
function serverBundle(): Promise<string> {
  bundle ??= makeBundle();
  return bundle;
}

async function makeBundle(): Promise<string> {
  const root = projectRoot();
  const folder = join(root, "dist", "test-server");
  const protocol = join(root, "packages", "protocol", "src");
  const outfile = join(folder, `${process.pid}-${randomBytes(4).toString("hex")}.js`);
  await mkdir(folder, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: ["server/main.ts"],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    packages: "external",
    alias: {
      "@plimsoll/protocol/catalog": join(protocol, "catalog.ts"),
      "@plimsoll/protocol": join(protocol, "index.ts"),
    },
    logLevel: "silent",
  });
  // Another worker may be starting the one that is there: a rename never shows half a file.
  const main = join(folder, "main.js");
  await rename(outfile, main);
  return main;
}

/** A folder that PostgreSQL's user can pass through when we are root. */
export async function makeHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "plimsoll-api-"));
  await chmod(home, 0o711);
  return home;
}

/** Removes a home and stops a PostgreSQL that a killed server left running in it. */
export async function removeHome(home: string): Promise<void> {
  if (existsSync(join(layoutOf(home).data, "postmaster.pid"))) {
    await (await startEmbedded({ home, log: pino({ level: "silent" }) })).stop();
  }
  await rm(home, { recursive: true, force: true });
}

export interface SpawnedServer {
  child: ChildProcess;
  output(): string;
  /** What it wrote to its error stream, where a failing start explains itself. */
  errors(): string;
  exited: Promise<number | null>;
}

/** Starts the server without waiting for anything; its environment is exactly this. */
export async function spawnServer(env: Record<string, string>): Promise<SpawnedServer> {
  const child = spawn(process.execPath, ["--enable-source-maps", await serverBundle()], {
    env: {
      PATH: process.env.PATH ?? "",
      NODE_ENV: "production",
      PLIMSOLL_PAGES: "off",
      PORT: "0",
      LOG_LEVEL: "warn",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    errors += text;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  return { child, output: () => output, errors: () => errors, exited };
}

/** A whole server in a process of its own, reached over real HTTP. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const home = options.home ?? (await makeHome());
  const own = options.embedded || options.databaseUrl !== undefined ? undefined : await emptyDatabase();
  const databaseUrl = options.embedded ? undefined : (options.databaseUrl ?? own?.url);
  const spawned = await spawnServer({
    HOME: home,
    PLIMSOLL_HOME: home,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...options.env,
  });
  const { child, exited, output } = spawned;

  async function cleanUp(): Promise<void> {
    if (options.home === undefined) await removeHome(home);
    await own?.close();
  }

  const url = await listening(spawned).catch(async (error: unknown) => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await exited;
    await cleanUp();
    throw error;
  });
  const token = (await readFile(join(home, "local-token"), "utf8")).trim();

  async function request<T>(path: string, init: RequestInit = {}): Promise<HttpAnswer<T>> {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    // An empty value stands for no credentials at all.
    if (headers.get("authorization") === "") headers.delete("authorization");
    const response = await fetch(url + path, { ...init, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) as T };
  }

  async function call<T>(path: string, init: RequestInit): Promise<T> {
    const { status, body, text } = await request<{ result?: { data: T } }>(`/api/trpc/${path}`, init);
    if (status !== 200 || body?.result === undefined)
      throw new Error(`${path} answered ${status}: ${text.slice(0, 500)}`);
    return body.result.data;
  }

  const withKey = (key: string | undefined): Record<string, string> =>
    key === undefined ? {} : { authorization: `Bearer ${key}` };

  let stopped: Promise<number | null> | undefined;
  const server: TestServer = {
    url,
    token,
    pid: child.pid!,
    home,
    databaseUrl,
    output,
    request,
    send: (events, key) =>
      request("/api/v1/events", {
        method: "POST",
        headers: { "content-type": "application/json", ...withKey(key) },
        body: JSON.stringify(events),
      }),
    get: (path, key) => request(path, { headers: withKey(key) }),
    trpc: (path, input) =>
      call(`${path}${input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`}`, {}),
    mutate: (path, input) =>
      call(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(input ?? {}),
      }),
    async expectHealthy() {
      // A test may just have taken the database away: 503 says to ask again, and so we do.
      const limit = performance.now() + START_LIMIT;
      while ((await server.get("/api/trpc/doctor")).status === 503 && performance.now() < limit)
        await sleep(100);
      const report = await server.trpc<DoctorReport>("doctor");
      expect(
        report.checks.filter((check) => !check.ok),
        output(),
      ).toEqual([]);
    },
    postmaster: async () => (await readPostmasterPid(layoutOf(home).data))?.pid,
    stop() {
      stopped ??= (async () => {
        if (child.exitCode === null) child.kill("SIGTERM");
        const code = await within(STOP_LIMIT, exited, () => `the server did not stop:\n${output()}`);
        await cleanUp();
        return code;
      })();
      return stopped;
    },
    async kill9() {
      child.kill("SIGKILL");
      await exited;
    },
  };
  return server;
}

async function listening({ child, exited, output }: SpawnedServer): Promise<string> {
  const line = new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /is listening on (http:\/\/\S+)/.exec(output());
      if (found) resolve(found[1]!);
    };
    child.stdout?.on("data", look);
    void exited.then((code) => reject(new Error(`the server ended with ${code}:\n${output()}`)));
  });
  return within(START_LIMIT, line, () => `the server did not start:\n${output()}`);
}

async function within<T>(ms: number, work: Promise<T>, explain: () => string): Promise<T> {
  const timer = new AbortController();
  const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(explain());
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
