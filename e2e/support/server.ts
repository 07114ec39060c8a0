import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DEFAULT_PROJECT_ID, type ProjectView, type Scope } from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/policy";
import { pino } from "pino";
import { startEmbedded } from "../../server/db/postgres/embedded.ts";
import { layoutOf } from "../../server/db/postgres/layout.ts";
import { readPostmasterPid } from "../../server/db/postgres/postmaster-pid.ts";
import { connectTo } from "../../server/testing/backends.ts";
import { createClient } from "../../server/testing/client.ts";
import { type LaunchedServer, launchServer, removeHome } from "../../server/testing/launch.ts";
import { freeze } from "./freeze.ts";
import { makeHomeFromTemplate } from "./template.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The built server with pages, in its own process and home. It can stop and start again on the same port. */
export class PlimsollServer {
  #server: LaunchedServer | undefined;
  #key: string | undefined;
  port = 0;
  /** The id of the project that calls are about. */
  project = DEFAULT_PROJECT_ID;
  /** The login link of the last start. */
  loginUrl = "";

  private constructor(
    readonly home: string,
    readonly settings: Readonly<Record<string, string>>,
  ) {}

  /** @param settings environment variables of the server */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PlimsollServer> {
    const server = new PlimsollServer(await makeHomeFromTemplate(), settings);
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Its process id. */
  get pid(): number {
    return this.#running.pid;
  }

  /** Everything that the server has printed since its last start. */
  get output(): string {
    return this.#running.output();
  }

  /** Starts the process, after `end` on the port that it had before. */
  async begin(): Promise<void> {
    const env = {
      ...this.settings,
      PLIMSOLL_PAGES: "on",
      PORT: this.port > 0 ? String(this.port) : (this.settings.PORT ?? "0"),
    };
    this.#server = await launchServer({ home: this.home, env });
    this.port = this.#server.port;
    this.loginUrl = this.#server.loginUrl ?? "";
  }

  /** Stops the process as Ctrl-C does and expects exit code 0. The data stay. */
  async end(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const code = await server.stop("SIGINT");
    if (code !== 0) throw new Error(`The server exited with ${code}:\n${server.output()}`);
  }

  /** Ends the process as a power cut does. The data stay. */
  async kill(): Promise<void> {
    await this.#running.kill9();
    this.#server = undefined;
  }

  async stop(): Promise<void> {
    try {
      await this.end();
    } finally {
      await removeHome(this.home);
    }
  }

  /** Stops its PostgreSQL with SIGSTOP, as a stuck disk or a paused machine does. @returns what lets it go on */
  async freezeDatabase(): Promise<() => void> {
    const postmaster = await readPostmasterPid(layoutOf(this.home).data);
    if (postmaster === undefined) throw new Error("The server runs no PostgreSQL of its own.");
    return freeze(postmaster.pid);
  }

  /** Lets statements that need a table wait. @returns what ends that */
  async lockTable(table: string): Promise<() => Promise<void>> {
    const { client, close } = await this.#connect();
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return close;
  }

  /** Makes a version of the policy older: saved `at` epoch ms. */
  async backdatePolicy(generation: number, at: number): Promise<void> {
    const { client, close } = await this.#connect();
    const statement = `UPDATE policy_versions SET created_at = to_timestamp($1 / 1000.0)
      WHERE project_id = $2 AND generation = $3`;
    try {
      await client.query(statement, [at, this.project, generation]);
    } finally {
      await close();
    }
  }

  async #connect() {
    const database = await startEmbedded({ home: this.home, log: pino({ level: "silent" }) });
    const client = await connectTo(database.url);
    const close = async () => {
      await client.end();
      await database.stop();
    };
    return { client, close };
  }

  /** Creates a project for calls and pages from here on. */
  async enterProject(): Promise<void> {
    const { id } = await this.mutate<ProjectView>("projects.create", { name: "story" });
    this.project = id;
    this.#key = undefined;
  }

  /** Deletes all projects but the default one, so that lists of projects stay short. */
  async leaveProject(): Promise<void> {
    this.project = DEFAULT_PROJECT_ID;
    const { projects } = await this.query<{ projects: ProjectView[] }>("projects.list", {});
    for (const { id, name, is_default } of projects)
      if (!is_default) await this.mutate("projects.delete", { id, name });
  }

  /** The address of a page, in the project that was entered. Addresses elsewhere stay as they are. */
  inProject(url: string): string {
    if (this.project === DEFAULT_PROJECT_ID || !(url.startsWith("/") || url.startsWith(this.url))) return url;
    if (/[?&]project=/.test(url)) return url;
    const [address = "", ...hash] = url.split(/(?=#)/);
    return `${address}${address.includes("?") ? "&" : "?"}project=${this.project}${hash.join("")}`;
  }

  query<T>(procedure: string, input?: unknown): Promise<T> {
    return this.#client.query<T>(procedure, input);
  }

  mutate<T>(procedure: string, input?: unknown): Promise<T> {
    return this.#client.mutate<T>(procedure, input);
  }

  /** Judges all agents by a warning at 15 %, a ceiling at 20 %, and so on, whatever their harness is called. */
  async setLines(): Promise<void> {
    const policy = { settings: { thresholds: DEFAULT_THRESHOLDS } };
    await this.mutate("policies.save", {
      policy,
      expected: 0,
      reason: "the lines of tests",
      from: "history",
    });
  }

  /** Creates a key and returns its secret. */
  createKey(name: string, scopes: readonly Scope[]): Promise<string> {
    return this.#client.createKey(name, scopes);
  }

  /** Sends events with a key that has only the scope `ingest`, as a harness does. */
  async send(events: readonly object[]): Promise<IngestAnswer> {
    this.#key ??= await this.createKey("tests", ["ingest"]);
    const { status, text, body } = await this.#client.send({ events }, this.#key);
    if (status !== 200 || body.rejected.length > 0) {
      throw new Error(`/api/v1/events answered ${status}: ${text}`);
    }
    return body;
  }

  /** The failed checks of the doctor. */
  failedChecks(): Promise<string[]> {
    return this.#client.failedChecks();
  }

  /** Runs the built `plimsoll` on this server's machine. */
  async plimsoll(...args: string[]): Promise<CommandResult> {
    const { PATH, HOME } = process.env;
    const env: NodeJS.ProcessEnv = {
      PATH,
      HOME,
      NODE_ENV: "production",
      PLIMSOLL_HOME: this.home,
      PLIMSOLL_URL: this.url,
      NO_COLOR: "1",
      COLUMNS: "140",
    };
    try {
      const program = join(root, "packages/cli/bin/plimsoll.js");
      const { stdout, stderr } = await run(process.execPath, [program, ...args], { env });
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout?: string; stderr?: string };
      if (typeof code !== "number") throw error;
      return { code, stdout: stdout ?? "", stderr: stderr ?? "" };
    }
  }

  get #client() {
    return createClient(this.url, this.#running.token, this.project);
  }

  get #running(): LaunchedServer {
    if (this.#server === undefined) throw new Error("The server is stopped. Call begin() first.");
    return this.#server;
  }
}
