import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { startEmbedded } from "../db/postgres/embedded.ts";
import { layoutOf } from "../db/postgres/layout.ts";
import { projectRoot } from "../root.ts";
import { LOGIN_LINK_FILE } from "../tenants/access/login-link.ts";
import { createClient, type TestClient } from "./client.ts";

/** Milliseconds that a busy machine may need to start a server. */
const START_LIMIT = 120_000;
/** Milliseconds that a server may need to stop before it is killed. */
const STOP_LIMIT = 30_000;

export interface LaunchOptions {
  /** The server's PLIMSOLL_HOME. */
  home: string;
  /** Settings. The server inherits none from the calling process. */
  env?: Record<string, string | undefined>;
  /** Flags for Node, besides those of `npm start`. */
  nodeFlags?: readonly string[];
  /** A program that becomes Node, such as one that sets limits. */
  under?: readonly string[];
  /** Starts the server by another command, such as `npm start`. */
  command?: readonly [program: string, ...args: string[]];
}

export interface ServerProcess {
  child: ChildProcess;
  /** Everything it has printed. */
  output(): string;
  /** What it has printed to stderr. */
  errors(): string;
  /** Resolves with the exit code; null after a signal. */
  exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

export interface LaunchedServer extends TestClient, ServerProcess {
  url: string;
  port: number;
  pid: number;
  home: string;
  /** The local token, which grants every scope. */
  token: string;
  /** The login link of the last start; undefined without pages. */
  loginUrl: string | undefined;
  /**
   * Stops the server and resolves with its exit code. Safe to call again.
   * @throws if the server does not stop in 30 s; it is killed then
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Kills the server without a chance to clean up, like a power cut. */
  kill9(): Promise<void>;
}

/**
 * Creates a temporary home for a server.
 * @param name part of the folder's name
 */
export async function makeHome(name = "test"): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), `plimsoll-${name}-`));
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(home, 0o711);
  return home;
}

/** Removes a home, and stops a PostgreSQL that a killed server left running in it. */
export async function removeHome(home: string): Promise<void> {
  if (existsSync(join(layoutOf(home).data, "postmaster.pid"))) {
    await (await startEmbedded({ home, log: pino({ level: "silent" }) })).stop();
  }
  await rm(home, { recursive: true, force: true });
}

/** The file is there when the server says that it listens, because its stdout is no terminal. */
async function readLoginLink(home: string): Promise<string | undefined> {
  const text = await readFile(join(home, LOGIN_LINK_FILE), "utf8").catch(() => undefined);
  return text?.trim();
}

/** The flags that `npm start` gives Node. */
function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(projectRoot(), "package.json"), "utf8"));
  return [...new Set<string>(scripts.start.split(" "))].filter((word) => word.startsWith("--"));
}

/** Starts dist/server/main.js and does not wait for it to listen. */
export function spawnServer({
  home,
  env,
  nodeFlags = [],
  under = [],
  command,
}: LaunchOptions): ServerProcess {
  const { PATH, HOME, TMPDIR, SystemRoot } = process.env;
  const main = join(projectRoot(), "dist/server/main.js");
  const [program, ...args] = command ?? [...under, process.execPath, ...startFlags(), ...nodeFlags, main];
  const child = spawn(program!, args, {
    cwd: projectRoot(),
    // npm cannot forward SIGKILL, so it needs a process group of its own.
    detached: command !== undefined,
    shell: command !== undefined && process.platform === "win32",
    env: {
      PATH,
      HOME,
      TMPDIR,
      SystemRoot,
      NODE_ENV: "production",
      PLIMSOLL_HOME: home,
      PLIMSOLL_PAGES: "off",
      PORT: "0",
      LOG_LEVEL: "warn",
      // A test or measurement meets a limit only if it asks for one.
      PLIMSOLL_QUOTA_EVENTS_PER_SECOND: "0",
      PLIMSOLL_QUOTA_READS_PER_SECOND: "0",
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
  return {
    child,
    output: () => output,
    errors: () => errors,
    exited,
    kill(signal) {
      if (command !== undefined && signal === "SIGKILL") killGroup(child);
      else child.kill(signal);
    },
  };
}

/** Also kills a server that has outlived the npm that started it. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * Starts the built server in its own process and waits until it listens.
 * @throws with the server's output if it does not start
 */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  const server = spawnServer(options);
  const url = await listening(server).catch(async (error: unknown) => {
    server.kill("SIGKILL");
    await server.exited.catch(() => {});
    throw error;
  });
  const token = (await readFile(join(options.home, "local-token"), "utf8")).trim();
  let stopped: Promise<number | null> | undefined;
  return {
    ...server,
    ...createClient(url, token),
    url,
    port: Number(new URL(url).port),
    pid: server.child.pid!,
    home: options.home,
    token,
    loginUrl: await readLoginLink(options.home),
    stop(signal = "SIGTERM") {
      stopped ??= stopServer(server, signal);
      return stopped;
    },
    async kill9() {
      server.kill("SIGKILL");
      await server.exited;
    },
  };
}

async function stopServer(server: ServerProcess, signal: NodeJS.Signals): Promise<number | null> {
  server.kill(signal);
  try {
    return await within(STOP_LIMIT, server.exited, () => `The server did not stop:\n${server.output()}`);
  } catch (error) {
    server.kill("SIGKILL");
    await server.exited;
    throw error;
  }
}

/** Resolves with the URL in the line that the server prints once it listens. */
function listening({ child, exited, output }: ServerProcess): Promise<string> {
  const url = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.stdout?.on("data", () => {
      // The login link is printed with this line, after an empty one.
      const found = /is listening on (http:\/\/\S+)\n\n/.exec(output());
      if (found) resolve(found[1]!);
    });
    exited.then((code) => reject(new Error(`The server exited with ${code}:\n${output()}`)), reject);
  });
  return within(START_LIMIT, url, () => `The server did not start:\n${output()}`);
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
