import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";

/**
 * What a process id stands for. A pid alone proves nothing: the process that wrote it down may be gone
 * and its number given to something else.
 * - `ours`: a postmaster working on our data folder
 * - `other`: alive, and certainly not that
 * - `gone`: no such process
 * - `unknown`: alive, and the system does not let us see what it is
 */
export type Identity = "ours" | "other" | "gone" | "unknown";

const run = promisify(execFile);

/** Tells what `pid` is. Never throws. */
export async function identifyPostmaster(pid: number, dataDirectory: string): Promise<Identity> {
  if (!isAlive(pid)) return "gone";
  try {
    if (process.platform === "linux") return await identifyOnLinux(pid, dataDirectory);
    const command = process.platform === "win32" ? await windowsCommand(pid) : await unixCommand(pid);
    if (command === "") return isAlive(pid) ? "unknown" : "gone";
    return /postgres/i.test(command) && command.includes(dataDirectory) ? "ours" : "other";
  } catch {
    return isAlive(pid) ? "unknown" : "gone";
  }
}

/**
 * Looks through all processes for a postmaster on this data folder, for when its lock file does not name one.
 * @returns its process id; undefined when there is none, or where processes cannot be listed. Never throws
 */
export async function findPostmaster(dataDirectory: string): Promise<number | undefined> {
  for (const pid of await postgresProcesses(dataDirectory).catch(() => [])) {
    if ((await identifyPostmaster(pid, dataDirectory)) === "ours") return pid;
  }
  return undefined;
}

/** Process ids worth a closer look. On Linux that look costs two reads; elsewhere each one starts a program. */
async function postgresProcesses(dataDirectory: string): Promise<number[]> {
  if (process.platform === "win32") return [];
  if (process.platform === "linux") return (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const { stdout } = await run("ps", ["-axww", "-o", "pid=,command="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(dataDirectory))
    .map((line) => Number.parseInt(line, 10));
}

/** True when a process has this id. One that we may not signal (EPERM) is alive too. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function identifyOnLinux(pid: number, dataDirectory: string): Promise<Identity> {
  const [stat, commandLine] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8"),
    readFile(`/proc/${pid}/cmdline`, "utf8"),
  ]);
  // The state follows the command in brackets, which may itself hold brackets and spaces. A zombie has
  // exited; only its parent has not asked yet.
  if (/^ [ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1))) return "gone";
  const words = commandLine.split("\0");
  if (basename(words[0] ?? "") !== "postgres") return "other";
  if (words[words.indexOf("-D") + 1] === dataDirectory) return "ours";
  // Started by hand from another path to the same folder: a postmaster works inside its data folder.
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd === undefined) return "unknown";
  return cwd === dataDirectory ? "ours" : "other";
}

async function unixCommand(pid: number): Promise<string> {
  return (await run("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout.trim();
}

async function windowsCommand(pid: number): Promise<string> {
  const query = `(Get-CimInstance Win32_Process -Filter "ProcessId=${pid}").CommandLine`;
  const { stdout } = await run("powershell.exe", ["-NoProfile", "-NonInteractive", "-Command", query]);
  return stdout.trim();
}
