import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { HarnessAdapter } from "./adapter.ts";

/** A running process. */
export interface RunningProcess {
  /** Words of its command line. */
  words: readonly string[];
  /** Epoch ms, exact to a second. */
  startedAt: number;
}

const run = promisify(execFile);

/** The processes of this machine; none where `ps` does not exist. */
export async function listProcesses(now: number): Promise<RunningProcess[]> {
  if (process.platform === "win32") return [];
  const listed = await run("ps", ["-A", "-o", "etime=,args="], { maxBuffer: 16 * 1024 * 1024 }).catch(
    () => undefined,
  );
  return listed === undefined ? [] : parseProcesses(listed.stdout, now);
}

/** Reads lines such as `1-02:03:04 node /usr/bin/codex exec`. */
export function parseProcesses(text: string, now: number): RunningProcess[] {
  return text.split("\n").flatMap((line) => {
    const found = /^\s*(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)\s+(.+)$/.exec(line);
    if (found === null) return [];
    const [, days = "0", hours = "0", minutes, seconds, command] = found;
    const age = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
    return [{ words: command!.trim().split(/\s+/), startedAt: now - age * 1_000 }];
  });
}

/** The processes of a harness: its program itself, or an interpreter that runs it. */
export function processesOf(
  { programs }: HarnessAdapter,
  all: readonly RunningProcess[],
): readonly RunningProcess[] {
  return all.filter(({ words }) =>
    words.slice(0, 2).some((word) => programs.includes(programName(word)) && !word.startsWith("-")),
  );
}

const programName = (word: string) => word.replace(/^.*[\\/]/, "").replace(/\.(?:exe|cmd|[cm]?js)$/, "");
