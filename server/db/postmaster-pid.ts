import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PlimsollError } from "../errors.ts";
import type { RunAs } from "./database-user.ts";
import { readSmallFile, renameAs } from "./foreign-files.ts";
import { findPostmaster, identifyPostmaster } from "./process-identity.ts";

/** Milliseconds after which a lock file that is still empty was not just created. */
const LOCK_WRITE_MS = 500;

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

/** Parses the file's text. Undefined while it is incomplete: the postmaster writes it in steps. */
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

/** Reads postmaster.pid of a data folder; undefined when it is missing or incomplete. */
export async function readPostmasterPid(dataDirectory: string): Promise<PostmasterPid | undefined> {
  return parsePostmasterPid((await readSmallFile(join(dataDirectory, "postmaster.pid"))) ?? "");
}

/**
 * Moves aside lock files that would keep PostgreSQL from starting. PostgreSQL removes a stale lock file by
 * itself, with two exceptions:
 * - the file names a process id that another program has now. PostgreSQL refuses to start while that program runs
 * - the file is empty or unreadable, as after a power cut
 *
 * Never touches the process or the lock of a running postmaster.
 * @returns the new path of each file, and why it was moved
 * @throws PlimsollError `data_folder_damaged` when a lock file is damaged while a postmaster uses the folder
 */
export async function setAsideUselessLocks(
  dataDirectory: string,
  lockFiles: string[],
  runAs: RunAs | undefined,
): Promise<{ path: string; reason: "recycled" | "damaged" }[]> {
  const moved: { path: string; reason: "recycled" | "damaged" }[] = [];
  for (const file of lockFiles) {
    const text = await readSmallFile(file);
    if (text === undefined) continue;
    const reason = await whyUseless(file, text, dataDirectory);
    if (reason === undefined || (await readSmallFile(file)) !== text) continue;
    const path = `${file}.stale-${Date.now()}`;
    await renameAs(runAs, file, path);
    moved.push({ path, reason });
  }
  return moved;
}

async function whyUseless(
  file: string,
  text: string,
  dataDirectory: string,
): Promise<"recycled" | "damaged" | undefined> {
  // A standalone backend (initdb) writes its pid negated.
  const pid = Math.abs(Number.parseInt(text, 10));
  if (pid > 0) return (await identifyPostmaster(pid, dataDirectory)) === "other" ? "recycled" : undefined;
  // A postmaster that is starting creates the file and writes to it a moment later.
  await sleep(LOCK_WRITE_MS);
  if ((await readSmallFile(file)) !== text) return undefined;
  const running = await findPostmaster(dataDirectory);
  if (running === undefined) return "damaged";
  throw new PlimsollError(
    "data_folder_damaged",
    `${file} is damaged, and PostgreSQL is running on ${dataDirectory} (process ${running}).`,
    {
      hint: `PostgreSQL stops by itself within a minute when it finds the file damaged. Start Plimsoll after that, or stop process ${running} first.`,
    },
  );
}
