import { durationMs } from "@plimsoll/protocol/alerts";
import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import type { Env } from "./home-folder.ts";
import type { Ask } from "./prompt.ts";
import type { Terminal } from "./terminal.ts";

/** The environment of a command, passed in so that tests can replace the terminal and the clock. */
export interface CommandContext {
  env: Env;
  out: Terminal;
  /** For progress and warnings. */
  err: Terminal;
  now: () => number;
  /** Returns a signal that aborts on Ctrl+C, for commands that run until then. */
  untilStopped: () => AbortSignal;
  /** Absent if nobody is at the terminal. */
  ask?: Ask;
}

/** Options of a command about the whole server. */
export function withServer(command: Command): Command {
  return command
    .option("-u, --url <url>", "server URL (env PLIMSOLL_URL)")
    .addOption(new Option("--key <key>", "key (env PLIMSOLL_KEY, which does not show in process lists)"));
}

/** Options of a command about one project. */
export function withConnection(command: Command): Command {
  return withServer(command).option(
    "--project <name>",
    "project name or id; a key always uses its own project",
  );
}

/** Returns milliseconds. */
export function durationOf(text: string): number {
  const ms = durationMs(text);
  if (Number.isNaN(ms) || ms === 0) throw new InvalidArgumentError("Give a time such as 30m, 2h or 1d.");
  return ms;
}

export function wholeNumber(text: string): number {
  const value = Number(text.replaceAll("_", ""));
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("Give an integer of at least 1.");
  return value;
}
