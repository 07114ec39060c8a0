import { inspect } from "node:util";
import type { Command } from "commander";
import { CliError } from "./errors.ts";
import { printableLines } from "./terminal.ts";

/** Runs a program and sets the exit code. A CliError prints its message and hint without a stack trace. */
export async function run(program: Command, argv: readonly string[] = process.argv): Promise<void> {
  // EPIPE: the reader, such as head, has closed the pipe.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CliError) {
      console.error(printableLines(error.message));
      if (error.hint !== undefined) console.error(printableLines(error.hint));
      process.exitCode = error.exitCode;
      return;
    }
    console.error(printableLines(inspect(error)));
    process.exitCode = 70;
  }
}
