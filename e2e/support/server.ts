import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { DoctorReport, IngestAnswer } from "@plimsoll/protocol";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** A first start creates a database, which takes long on a busy machine. */
const START_MS = 60_000;
const STOP_MS = 20_000;

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The production server in its own process, with its own home folder. */
export class PlimsollServer {
  #process: ChildProcess | undefined;
  #key: string | undefined;
  #output = "";
  port = 0;
  /** The login link printed at the latest start. */
  loginUrl = "";

  private constructor(readonly home: string) {}

  static async start(): Promise<PlimsollServer> {
    const home = await mkdtemp(join(tmpdir(), "plimsoll-e2e-"));
    // As root, PostgreSQL runs as another user, which needs access to this folder.
    await chmod(home, 0o755);
    const server = new PlimsollServer(home);
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Output of the server since its latest start. */
  get output(): string {
    return this.#output;
  }

  /** Starts the process. A restart uses the same port. */
  async begin(): Promise<void> {
    this.#output = "";
    const child = spawn(process.execPath, [join(root, "dist/server/main.js")], {
      cwd: root,
      env: this.#environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const printed = new Promise<string>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`The server printed no login link within ${START_MS / 1000} s.`)),
        START_MS,
      );
      const collect = (text: Buffer) => {
        this.#output += text.toString();
        const link = /http:\/\/\S+\/login#\S+/.exec(this.#output)?.[0];
        if (link !== undefined) {
          clearTimeout(timer);
          resolve(link);
        }
      };
      child.stdout.on("data", collect);
      child.stderr.on("data", collect);
      child.once("exit", (code) => {
        clearTimeout(timer);
        reject(new Error(`The server exited with code ${code}.`));
      });
    });
    try {
      this.loginUrl = await printed;
    } catch (cause) {
      child.kill("SIGKILL");
      throw new Error(`The server did not start. Its output:\n${this.#output}`, { cause });
    }
    this.port = Number(new URL(this.loginUrl).port);
  }

  /** Stops the process with SIGINT and expects exit code 0. The data stays. */
  async end(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    child.kill("SIGINT");
    const code = await ended;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`The server exited with code ${code}. Its output:\n${this.#output}`);
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

  /** Creates a key with the given scopes and returns its secret. */
  async createKey(name: string, scopes: string[]): Promise<string> {
    const { secret } = await this.mutate<{ secret: string }>("keys.create", { name, scopes });
    return secret;
  }

  /** Sends events over HTTP with an ingest key. */
  async send(events: readonly object[]): Promise<IngestAnswer> {
    this.#key ??= await this.createKey("tests", ["ingest"]);
    const response = await fetch(`${this.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: JSON.stringify({ events }),
    });
    if (!response.ok) throw new Error(`events: ${response.status} ${await response.text()}`);
    return (await response.json()) as IngestAnswer;
  }

  doctor(): Promise<DoctorReport> {
    return this.query<DoctorReport>("doctor");
  }

  /** Runs the built `plimsoll` CLI with this server's home folder. */
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

  /** A minimal environment: settings such as `DATABASE_URL` must not reach the server. */
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
