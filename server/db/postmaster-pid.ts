import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { identifyPostmaster } from "./process-identity.ts";

/** What a running postmaster writes into `postmaster.pid`. */
export interface PostmasterPid {
  pid: number;
  dataDirectory: string;
  /** Unix time in seconds. */
  startedAt: number;
  port: number;
  /** Empty when it listens on TCP only. */
  socketDirectory: string;
  /** Empty when it listens on a socket only. */
  listenAddress: string;
  /** `starting`, `ready`, `stopping` or `standby`; empty in the first moment. */
  status: string;
}

/** Parses the file's text. Undefined when it is not (yet) whole: the postmaster writes it in steps. */
export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const line = text.split("\n").map((s) => s.trim());
  const pid = Number(line[0]);
  const startedAt = Number(line[2]);
  const port = Number(line[3]);
  if (!Number.isInteger(pid) || pid <= 0 || !line[1] || !Number.isInteger(startedAt) || !(port > 0)) {
    return undefined;
  }
  return {
    pid,
    dataDirectory: line[1],
    startedAt,
    port,
    socketDirectory: line[4] ?? "",
    listenAddress: line[5] ?? "",
    status: line[7] ?? "",
  };
}

/** The present postmaster.pid of a data folder; undefined when there is none or it is half written. */
export async function readPostmasterPid(dataDirectory: string): Promise<PostmasterPid | undefined> {
  const text = await readFile(join(dataDirectory, "postmaster.pid"), "utf8").catch(() => "");
  return parsePostmasterPid(text);
}

/**
 * PostgreSQL removes a stale lock file by itself, except when its pid has since been given to another
 * process: then it refuses to start for as long as that process lives. Such a file is moved aside, after
 * the process has been proven not to be a postmaster of ours. The process itself is left alone.
 * Starting stays safe: PostgreSQL still finds backends left over on this folder by their shared memory.
 * @returns the paths the files were moved to.
 */
export async function setAsideRecycledLocks(dataDirectory: string, lockFiles: string[]): Promise<string[]> {
  const moved: string[] = [];
  for (const file of lockFiles) {
    const text = await readFile(file, "utf8").catch(() => "");
    // A standalone backend (initdb) writes its pid negated.
    const pid = Math.abs(Number.parseInt(text, 10));
    if (!(pid > 0) || (await identifyPostmaster(pid, dataDirectory)) !== "other") continue;
    const again = await readFile(file, "utf8").catch(() => "");
    if (again !== text) continue;
    const aside = `${file}.stale-${Date.now()}`;
    await rename(file, aside);
    moved.push(aside);
  }
  return moved;
}
