import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DemoView } from "@plimsoll/protocol/api";
import type { Logger } from "pino";
import { sessionId } from "../db/tables/identity.ts";
import { PlimsollError } from "../errors.ts";
import type { Keys } from "../tenants/access/keys.ts";
import { DemoMessage, type DemoStep, IDLE, isUnderWay, newRun, nextDemo } from "./progress.ts";

/** How much longer than asked a run may take, in ms. One that takes longer hangs. */
const SPARE_MS = 5 * 60_000;
/** No run takes this long, in ms. */
const LONGEST_MS = 65 * 60_000;
const KEY_NAME = "demo fleet";
/** Who makes and revokes the key. */
const SERVER = { kind: "server" } as const;
/** Between asking the process to end and ending it, in ms. */
const GRACE_MS = 2_000;
/** Most of what the process said last that is kept, in characters. */
const LAST_WORDS = 2_000;

export interface DemoOptions {
  /** The program to run: the bundle dist/demo/main.js. */
  program: string;
  /** This server's own address. */
  localUrl: () => string;
  keys: Pick<Keys, "create" | "list" | "revoke">;
  log: Logger;
  clock: () => number;
  spareMs?: number;
}

interface ProgramOptions {
  /** Its temporary folder. */
  home: string;
  /** The secret of its key. */
  secret: string;
  /** How long the fleet runs. */
  minutes: number;
}

export type Demo = ReturnType<typeof createDemo>;

/**
 * Runs the demo fleet as one process, one run at a time. What a run did lives in this process alone, for as long as it
 * lives: what the run recorded is in the database like anything else.
 */
export function createDemo({ program, localUrl, keys, log, clock, ...limits }: DemoOptions) {
  let view: DemoView = IDLE;
  let projectOfRun: number | undefined;
  let child: ChildProcess | undefined;
  /** Why the run is being ended from here; undefined while it may go on. */
  let ending: DemoStep | undefined;
  let running: Promise<void> = Promise.resolve();

  function step(one: DemoStep): void {
    view = nextDemo(view, one);
  }

  /** From the key to its revocation, and only then the end: whoever sees it sees what it leaves. Never rejects. */
  async function run(projectId: number, minutes: number): Promise<void> {
    let keyId: string | undefined;
    let home: string | undefined;
    let outcome: DemoStep | undefined;
    try {
      await revokeLeftBehind(projectId);
      const key = await keys.create(projectId, { name: KEY_NAME, scopes: ["ingest", "policy:read"] }, SERVER);
      keyId = key.id;
      home = await mkdtemp(join(tmpdir(), "plimsoll-demo-"));
      if (ending === undefined) outcome = await runProgram(projectId, { home, secret: key.secret, minutes });
    } catch (err) {
      log.error({ err }, "the demo fleet did not start");
      outcome = { type: "not_started", message: "The server could not prepare the run.", at: clock() };
    }
    if (keyId !== undefined) await cleanUp("its key", keys.revoke(projectId, keyId, SERVER));
    if (home !== undefined) await cleanUp("its folder", rm(home, { recursive: true, force: true }));
    step(ending ?? outcome!);
    if (view.state === "failed") log.warn({ failure: view.failure }, "the demo fleet failed");
  }

  /**
   * Keys of runs whose server was killed before it could revoke them. Younger ones may belong to a run of another server
   * on the same database.
   */
  async function revokeLeftBehind(projectId: number): Promise<void> {
    for (const { id, name, revoked_at, created_at } of await keys.list(projectId)) {
      if (name !== KEY_NAME || revoked_at !== null) continue;
      if (clock() - Date.parse(created_at) > 2 * LONGEST_MS) await keys.revoke(projectId, id, SERVER);
    }
  }

  async function cleanUp(what: string, work: Promise<unknown>): Promise<void> {
    await work.catch((err: unknown) => log.warn({ err, what }, "something of the demo fleet stays behind"));
  }

  function runProgram(projectId: number, { home, secret, minutes }: ProgramOptions): Promise<DemoStep> {
    const own = spawn(process.execPath, [program], {
      cwd: home,
      env: environment(localUrl(), { home, secret, minutes }),
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    child = own;
    let lastWords = "";
    own.stderr?.setEncoding("utf8").on("data", (text: string) => {
      lastWords = `${lastWords}${text}`.slice(-LAST_WORDS);
    });
    own.on("message", (raw) => {
      const { success, data } = DemoMessage.safeParse(raw);
      if (!success) return;
      const id = (harness: string, session: string) => sessionId(projectId, harness, session);
      step({ type: "message", message: data, sessionId: id });
    });
    const late = setTimeout(() => endChild("timed_out"), minutes * 60_000 + (limits.spareMs ?? SPARE_MS));
    return new Promise<DemoStep>((resolve) => {
      own.once("error", ({ message }) => resolve({ type: "not_started", message, at: clock() }));
      own.once("close", (code) =>
        resolve({ type: "exited", code, lastWords: lastLine(lastWords), at: clock() }),
      );
    }).finally(() => {
      clearTimeout(late);
      child = undefined;
    });
  }

  function endChild(why: "stop_asked" | "timed_out"): void {
    ending ??= { type: why, at: clock() };
    const own = child;
    if (own === undefined) return;
    own.kill("SIGTERM");
    const late = setTimeout(() => own.kill("SIGKILL"), GRACE_MS);
    own.once("close", () => clearTimeout(late));
  }

  async function end(): Promise<void> {
    if (isUnderWay(view)) endChild("stop_asked");
    await running;
  }

  const viewOf = (projectId: number): DemoView => (projectId === projectOfRun ? view : IDLE);

  return {
    view: viewOf,

    /** @throws PlimsollError `conflict` until the run before is over, its process gone and its key revoked */
    start(projectId: number, minutes: number): DemoView {
      if (isUnderWay(view)) throw new PlimsollError("conflict", "The demo fleet is running already.");
      projectOfRun = projectId;
      ending = undefined;
      view = newRun(clock());
      running = run(projectId, minutes);
      return view;
    },

    /** Ends a run that is under way; its process is gone and its key revoked when this returns. */
    async stop(projectId: number): Promise<DemoView> {
      if (projectId === projectOfRun) await end();
      return viewOf(projectId);
    },

    /** The same, whoever started it: before the server is closed. */
    close: end,
  };
}

/** All that the demo's process is given: nothing of the server's own settings or secrets. */
function environment(url: string, { home, secret, minutes }: ProgramOptions): NodeJS.ProcessEnv {
  const { PATH, SystemRoot } = process.env;
  return {
    PATH,
    ...(SystemRoot === undefined ? {} : { SystemRoot }),
    HOME: home,
    USERPROFILE: home,
    TMPDIR: home,
    TEMP: home,
    TMP: home,
    NODE_ENV: "production",
    PLIMSOLL_URL: url,
    PLIMSOLL_KEY: secret,
    PLIMSOLL_DEMO_MINUTES: String(minutes),
  } as NodeJS.ProcessEnv;
}

/** The line that says what went wrong: the message of an uncaught error, else the last one. */
function lastLine(text: string): string {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^Node\.js v/.test(line));
  return lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? "";
}
