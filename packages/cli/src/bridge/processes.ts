import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { HarnessAdapter, Places } from "@plimsoll/harnesses/bridge";

/** A running process. */
export interface RunningProcess {
  pid: number;
  /** Words of its command line. */
  words: readonly string[];
  /** Epoch ms, exact to a second. */
  startedAt: number;
}

const run = promisify(execFile);

/**
 * The running processes of a harness; none where `ps` does not exist.
 * @param places only those that have their settings in `home`, else those of every user
 */
export async function processesOf(
  adapter: HarnessAdapter,
  { home, platform }: { home?: string | undefined; platform: Places["platform"] },
  now: number,
): Promise<RunningProcess[]> {
  if (platform === "win32") return [];
  const listed = await run("ps", ["-A", "-o", "pid=,etime=,args="], { maxBuffer: 16 * 1024 * 1024 }).catch(
    () => undefined,
  );
  if (listed === undefined) return [];
  const named = parseProcesses(listed.stdout, now).filter((process) => isOf(adapter, process));
  if (platform !== "linux" || home === undefined) return named;
  const homes = await Promise.all(named.map(({ pid }) => homeOf(pid)));
  return named.filter((_, place) => homes[place] === home);
}

/** Reads lines such as `4711 1-02:03:04 node /usr/bin/codex exec`. */
export function parseProcesses(text: string, now: number): RunningProcess[] {
  return text.split("\n").flatMap((line) => {
    const found = /^\s*(\d+)\s+(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)\s+(.+)$/.exec(line);
    if (found === null) return [];
    const [, pid, days = "0", hours = "0", minutes, seconds, command] = found;
    const age = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
    return [{ pid: Number(pid), words: command!.trim().split(/\s+/), startedAt: now - age * 1_000 }];
  });
}

/** Whether it is the program of a harness, or an interpreter that runs it. */
export function isOf(
  { programs }: Pick<HarnessAdapter, "programs">,
  { words }: Pick<RunningProcess, "words">,
): boolean {
  return words.slice(0, 2).some((word) => !word.startsWith("-") && programs.includes(programName(word)));
}

const programName = (word: string) => word.replace(/^.*[\\/]/, "").replace(/\.(?:exe|cmd|[cm]?js)$/, "");

/** Undefined for a process of another user. */
async function homeOf(pid: number): Promise<string | undefined> {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment
    .split("\0")
    .find((variable) => variable.startsWith("HOME="))
    ?.slice("HOME=".length);
}
