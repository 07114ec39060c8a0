import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { ownerOf } from "./layout.ts";

/**
 * What runs under a process id. The id alone proves nothing: its process may have ended, and the system may
 * have given the number to another program.
 * - `ours`: a postmaster on our data folder
 * - `other`: another program
 * - `gone`: no such process
 * - `unknown`: a process that the system does not let us inspect
 */
export type ProcessIdentity = "ours" | "other" | "gone" | "unknown";

const run = promisify(execFile);

/** Identifies the process `pid`. Never throws. */
export async function identifyPostmaster(pid: number, dataDirectory: string): Promise<ProcessIdentity> {
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

/** Candidates for a postmaster on this folder. On other systems than Linux each further look starts a program. */
async function postgresProcesses(dataDirectory: string): Promise<number[]> {
  if (process.platform === "win32") return [];
  if (process.platform === "linux") return (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const { stdout } = await run("ps", ["-axww", "-o", "pid=,command="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(dataDirectory))
    .map((line) => Number.parseInt(line, 10));
}

/** True when a process has this id. EPERM means that it exists and belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** True if the process belongs to the owner of the data. */
async function mayServe(pid: number, dataDirectory: string): Promise<boolean> {
  const [uid, owner] = await Promise.all([`/proc/${pid}`, dataDirectory].map(ownerOf));
  // Linux shows a process that its own user may not inspect as root's.
  return uid === 0 || uid === owner || owner === undefined;
}

async function identifyOnLinux(pid: number, dataDirectory: string): Promise<ProcessIdentity> {
  const [stat, commandLine] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8"),
    readFile(`/proc/${pid}/cmdline`, "utf8"),
  ]);
  // The state follows the command in brackets, which may contain brackets and spaces. A zombie has exited
  // already, and waits for its parent.
  if (/^ [ZX]/.test(stat.slice(stat.lastIndexOf(")") + 1))) return "gone";
  // Anybody can give a process this name and these arguments.
  if (!(await mayServe(pid, dataDirectory))) return "other";
  const words = commandLine.split("\0");
  // An emulator of another architecture, such as of Docker Desktop, stands before the program.
  if (!words.slice(0, 2).some((word) => basename(word) === "postgres")) return "other";
  if (words[words.indexOf("-D") + 1] === dataDirectory) return "ours";
  // Started by hand with another path to the same folder. A postmaster works inside its data folder.
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
