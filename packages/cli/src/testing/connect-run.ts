import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { createProgram } from "../program.ts";
import type { Ask } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";

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
  /** Hears what was written so far. */
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
