import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One key for all examples of this process, and how many still use it. */
let made: Promise<string | undefined> | undefined;
let users = 0;

/**
 * Runs the work with PLIMSOLL_KEY, or with a key that exists only meanwhile. The command line makes that key: it alone
 * may use the local token, because it checks first that the server is the right one.
 * @param warn called with the reason if there is no key; the work then runs without one
 */
export async function withKey<R>(
  url: string,
  warn: (text: string) => void,
  work: (key: string | undefined) => Promise<R>,
): Promise<R> {
  if (process.env.PLIMSOLL_KEY) return work(process.env.PLIMSOLL_KEY);
  users += 1;
  try {
    made ??= plimsoll(url, "key", "create", "--name", "examples", "--scope", "ingest,policy:read", "--quiet");
    const key = await made.catch((error: { stderr?: string }) => warn(error.stderr?.trim() || String(error)));
    return await work(key ?? undefined);
  } finally {
    users -= 1;
    if (users === 0) await revoke(url, warn);
  }
}

async function revoke(url: string, warn: (text: string) => void): Promise<void> {
  const key = await made?.catch(() => undefined);
  made = undefined;
  if (key === undefined) return;
  // By its prefix, because arguments are visible to other users of the machine.
  const prefix = key.slice(0, key.lastIndexOf("_"));
  await plimsoll(url, "key", "revoke", prefix).catch(() => warn(`The key ${prefix} was not revoked.`));
}

async function plimsoll(url: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("npx", ["plimsoll", ...args, "--url", url], {
    shell: process.platform === "win32",
  });
  return stdout.trim();
}
