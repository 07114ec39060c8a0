import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import type { Env } from "./connection.ts";
import type { Terminal } from "./terminal.ts";

/** What a command may touch: passed in, so that tests can stand in for a terminal and a clock. */
export interface Surroundings {
  env: Env;
  out: Terminal;
  /** Progress and warnings: what is not the answer. */
  err: Terminal;
  now: () => number;
  /** Given at Ctrl+C, for the commands that go on until then. */
  untilStopped: () => AbortSignal;
}

/** For commands about the server as a whole. */
export function withServer(command: Command): Command {
  return command
    .option("-u, --url <url>", "where the server is (env PLIMSOLL_URL)")
    .addOption(new Option("--key <key>", "the key (env PLIMSOLL_KEY, which no process list shows)"));
}

/** For commands about one project. */
export function withConnection(command: Command): Command {
  return withServer(command).option(
    "--project <name>",
    "the project, by name or id; a key always uses its own",
  );
}

export function wholeNumber(text: string): number {
  const value = Number(text.replaceAll("_", ""));
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a whole number above 0.");
  return value;
}
