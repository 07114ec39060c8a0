import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** A cold start makes a database; on a busy machine that takes a while. */
const START_MS = 60_000;
const STOP_MS = 20_000;

export interface DoctorReport {
  ok: boolean;
  checks: { name: string; ok: boolean; message: string }[];
}

export interface IngestResult {
  accepted: number;
  duplicates: number;
  rejected: { index: number; code: string; path: string; message: string }[];
}

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The built server as `npm start` runs it, in a process and a folder of its own. */
export class PlimsollServer {
  #process: ChildProcess | undefined;
  #key: string | undefined;
  #said = "";
  port = 0;
  /** The link printed at the latest start. */
  loginUrl = "";

  private constructor(readonly home: string) {}

  static async start(): Promise<PlimsollServer> {
    const home = await mkdtemp(join(tmpdir(), "plimsoll-e2e-"));
    // As root, PostgreSQL runs as a user who must be able to walk in here.
    await chmod(home, 0o755);
    const server = new PlimsollServer(home);
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** All that the server printed since its latest start. */
  get said(): string {
    return this.#said;
  }

  /** Starts the process; a second time on the port it had before. */
  async begin(): Promise<void> {
    this.#said = "";
    const child = spawn(process.execPath, [join(root, "dist/server/main.js")], {
      cwd: root,
      env: this.#environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const printed = new Promise<string>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("no login link was printed in time")), START_MS);
      const hear = (text: Buffer) => {
        this.#said += text.toString();
        const link = /http:\/\/\S+\/login#\S+/.exec(this.#said)?.[0];
        if (link !== undefined) {
          clearTimeout(late);
          resolve(link);
        }
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("exit", (code) => {
        clearTimeout(late);
        reject(new Error(`the server ended with code ${code}`));
      });
    });
    try {
      this.loginUrl = await printed;
    } catch (cause) {
      child.kill("SIGKILL");
      throw new Error(`The server did not start. It said:\n${this.#said}`, { cause });
    }
    this.port = Number(new URL(this.loginUrl).port);
  }

  /** Ends the process as Ctrl-C does and expects a clean exit; the data stay. */
  async end(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    child.kill("SIGINT");
    const code = await ended;
    clearTimeout(late);
    if (code !== 0) throw new Error(`The server ended with code ${code}. It said:\n${this.#said}`);
  }

  async stop(): Promise<void> {
    try {
      await this.end();
    } finally {
      await rm(this.home, { recursive: true, force: true });
    }
  }

  query<T>(procedure: string, input?: unknown): Promise<T> {
    const search = input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`;
    return this.#call<T>(`${procedure}${search}`, {});
  }

  mutate<T>(procedure: string, input?: unknown): Promise<T> {
    return this.#call<T>(procedure, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(input ?? {}),
    });
  }

  /** A key with the given scopes, made through the API. */
  async createKey(name: string, scopes: string[]): Promise<string> {
    const { secret } = await this.mutate<{ secret: string }>("keys.create", { name, scopes });
    return secret;
  }

  /** Sends as a harness does: over HTTP, with a key that may do nothing else. */
  async send(events: readonly object[]): Promise<IngestResult> {
    this.#key ??= await this.createKey("stories", ["ingest"]);
    const response = await fetch(`${this.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: JSON.stringify({ events }),
    });
    if (!response.ok) throw new Error(`events: ${response.status} ${await response.text()}`);
    return (await response.json()) as IngestResult;
  }

  doctor(): Promise<DoctorReport> {
    return this.query<DoctorReport>("doctor");
  }

  /** Runs the built `plimsoll` as a person at this server's machine does. */
  async plimsoll(...args: string[]): Promise<CommandResult> {
    try {
      const { stdout, stderr } = await run(
        process.execPath,
        [join(root, "packages/cli/dist/plimsoll.js"), ...args],
        { env: { ...this.#environment(), PLIMSOLL_URL: this.url, NO_COLOR: "1", COLUMNS: "140" } },
      );
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout?: string; stderr?: string };
      if (typeof code !== "number") throw error;
      return { code, stdout: stdout ?? "", stderr: stderr ?? "" };
    }
  }

  /** Nothing from the surroundings may reach the server: a developer's own database least of all. */
  #environment(): NodeJS.ProcessEnv {
    const { PATH, HOME, TMPDIR, SystemRoot } = process.env;
    return {
      PATH,
      HOME,
      TMPDIR,
      SystemRoot,
      NODE_ENV: "production",
      LOG_LEVEL: "warn",
      PLIMSOLL_HOME: this.home,
      PORT: String(this.port),
    };
  }

  async #call<T>(path: string, init: RequestInit): Promise<T> {
    const token = (await readFile(join(this.home, "local-token"), "utf8")).trim();
    const response = await fetch(`${this.url}/api/trpc/${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
    });
    const body = (await response.json()) as { result?: { data: T }; error?: { message: string } };
    if (body.result === undefined)
      throw new Error(`${path}: ${response.status} ${body.error?.message ?? JSON.stringify(body)}`);
    return body.result.data;
  }
}
