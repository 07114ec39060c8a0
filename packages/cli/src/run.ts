import type { Command } from "commander";
import { CliError } from "./errors.ts";

/** Runs a program to its exit code: what went wrong is one clear line, never a stack. */
export async function run(program: Command, argv: readonly string[] = process.argv): Promise<void> {
  // A reader that closed the pipe, such as head, has all it wanted.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CliError) {
      console.error(error.message);
      if (error.hint !== undefined) console.error(error.hint);
      process.exitCode = error.exitCode;
      return;
    }
    console.error(error);
    process.exitCode = 70;
  }
}
