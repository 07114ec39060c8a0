import { rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { PlimsollError } from "../../errors.ts";
import { type FileText, readRegularFile } from "../../regular-file.ts";
import { runAsUser } from "./as-user.ts";
import type { RunAs } from "./layout.ts";
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
  const file = await readLock(join(dataDirectory, "postmaster.pid"));
  return file?.is === "text" ? parsePostmasterPid(file.text) : undefined;
}

/**
 * Moves aside lock files that would keep PostgreSQL from starting. PostgreSQL removes a stale lock file by
 * itself, with two exceptions:
 * - the file names a process id that another program has now. PostgreSQL refuses to start while that program runs
 * - the file is empty or unreadable, as after a power cut
 * - it is no regular file
 *
 * Never touches the process or the lock of a running postmaster.
 * @param user the user that PostgreSQL runs as, if this process is root
 * @returns the new path of each file, and why it was moved
 * @throws PlimsollError `data_folder_damaged` when a lock file is damaged while a postmaster uses the folder
 */
export async function setAsideUselessLocks(
  dataDirectory: string,
  lockFiles: string[],
  user: RunAs | undefined,
): Promise<{ path: string; reason: "recycled" | "damaged" }[]> {
  const moved: { path: string; reason: "recycled" | "damaged" }[] = [];
  for (const file of lockFiles) {
    const found = await readLock(file);
    if (found === undefined || found.is === "absent") continue;
    const reason = await whyUseless(file, found, dataDirectory);
    if (reason === undefined || !isDeepStrictEqual(await readLock(file), found)) continue;
    const path = `${file}.stale-${Date.now()}`;
    await move(file, path, user);
    moved.push({ path, reason });
  }
  return moved;
}

/** Undefined if the file cannot be read. */
const readLock = (file: string): Promise<FileText | undefined> =>
  readRegularFile(file).catch(() => undefined);

async function move(from: string, to: string, user: RunAs | undefined): Promise<void> {
  if (!user) return rename(from, to);
  const failure = await runAsUser(user, "mv", "--", from, to);
  if (failure === undefined) return;
  throw new PlimsollError(
    "data_folder_damaged",
    `${from} is damaged and cannot be moved aside: ${failure}.`,
    {
      hint: "Remove it, then start Plimsoll again.",
    },
  );
}

async function whyUseless(
  file: string,
  found: FileText,
  dataDirectory: string,
): Promise<"recycled" | "damaged" | undefined> {
  // A standalone backend (initdb) writes its pid negated.
  const pid = found.is === "text" ? Math.abs(Number.parseInt(found.text, 10)) : 0;
  if (pid > 0) return (await identifyPostmaster(pid, dataDirectory)) === "other" ? "recycled" : undefined;
  // A postmaster that is starting creates the file and writes to it a moment later.
  await sleep(LOCK_WRITE_MS);
  if (!isDeepStrictEqual(await readLock(file), found)) return undefined;
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
