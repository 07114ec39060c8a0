import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { RunAs } from "./layout.ts";

const run = promisify(execFile);

/** Milliseconds; the user whose folder it is can make the program wait. */
const LIMIT_MS = 30_000;

/**
 * Runs a program as PostgreSQL's user. What root changes in a folder of that user, the user could redirect with a
 * link to any file of the system.
 * @returns what it said when it failed; undefined on success. Never throws
 */
export async function runAsUser(
  user: RunAs,
  program: string,
  ...args: string[]
): Promise<string | undefined> {
  const env: Record<string, string> = { PATH: `/usr/bin:/bin:${process.env.PATH ?? ""}`, LC_ALL: "C" };
  try {
    await run(program, args, {
      ...user,
      env: env as NodeJS.ProcessEnv,
      cwd: "/",
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
    });
    return undefined;
  } catch (error) {
    return ((error as { stderr?: string }).stderr || String(error)).trim();
  }
}
