import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Fields } from "@plimsoll/harnesses/bridge";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { parseSettings } from "../bridge/edit/edit.ts";
import type { CommandContext } from "../command-context.ts";
import { createProgram } from "../program.ts";
import type { Ask } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";
import { type Plimsoll, startPlimsoll } from "./real-server.ts";

export interface ConnectHome {
  /** The person's home. */
  home: string;
  path(name: string): string;
  write(name: string, text: string): Promise<string>;
  read(name: string): Promise<string>;
  /** Runs the command line and returns what it wrote. */
  run(args: readonly string[], options?: RunOptions): Promise<string>;
}

interface RunOptions {
  ask?: Ask;
  env?: Record<string, string | undefined>;
  stop?: AbortSignal;
  /** Receives the text that was written so far. */
  onText?: (text: string) => void;
}

/** A home of a person with harnesses, for the commands connect, disconnect and connections. */
export function connectHome(home: string, plimsoll: { url: string; home: string }): ConnectHome {
  const path = (name: string) => join(home, name);
  return {
    home,
    path,
    async write(name, text) {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), text);
      return path(name);
    },
    read: (name) => readFile(path(name), "utf8"),
    async run(args, { ask, env = {}, stop, onText } = {}) {
      let text = "";
      const terminal: Terminal = {
        width: 200,
        isTty: false,
        color: false,
        write(more) {
          text += more;
          onText?.(text);
        },
      };
      const context: CommandContext = {
        env: {
          HOME: home,
          PLIMSOLL_HOME: plimsoll.home,
          PLIMSOLL_URL: plimsoll.url,
          SHELL: "/bin/bash",
          PATH: "",
          ...env,
        },
        out: terminal,
        err: terminal,
        now: Date.now,
        untilStopped: () => stop ?? new AbortController().signal,
        ...(ask !== undefined && { ask }),
      };
      await createProgram(context).parseAsync(["node", "plimsoll", ...args]);
      return text;
    },
  };
}

export const CLAUDE_SETTINGS = ".claude/settings.json";

/** A real server for the tests of a file, and a new home for each. */
export interface ConnectStage {
  server: Plimsoll;
  person: ConnectHome;
  /** Connects Claude Code without a question. */
  connect(...args: string[]): Promise<string>;
  settings(name?: string): Promise<Fields>;
  /** The key in a file, or an empty text. */
  keyIn(name?: string): Promise<string>;
  /** Whether the server takes telemetry with a key. */
  accepts(key: string): Promise<boolean>;
  /** Names of copies in a folder. */
  backups(folder?: string): Promise<string[]>;
}

/** Registers the hooks of a test file. Use the result inside of tests only. */
export function connectStage(): ConnectStage {
  const stage = {
    connect: (...args: string[]) =>
      stage.person.run(["connect", "claude-code", "--yes", "--no-wait", ...args]),
    settings: async (name = CLAUDE_SETTINGS) => parseSettings("json", await stage.person.read(name)),
    keyIn: async (name = CLAUDE_SETTINGS) => /plim_\w+/.exec(await stage.person.read(name))?.[0] ?? "",
    async accepts(key: string) {
      const response = await fetch(`${stage.server.url}/otlp/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: "{}",
      });
      return response.status === 200;
    },
    backups: async (folder = ".claude") =>
      (await readdir(stage.person.path(folder))).filter((name) => name.endsWith(".backup")),
  } as ConnectStage;
  beforeAll(async () => {
    stage.server = await startPlimsoll();
  });
  afterAll(() => stage.server.stop());
  beforeEach(async () => {
    stage.person = connectHome(await mkdtemp(join(tmpdir(), "connect-home-")), stage.server);
  });
  afterEach(async () => {
    await stage.person.run(["disconnect", "--all"]).catch(() => {});
    await rm(stage.person.home, { recursive: true, force: true });
    process.exitCode = undefined;
  });
  return stage;
}
