import { randomBytes } from "node:crypto";
import {
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { GuardError } from "../error.ts";

/** A process that requests or holds a lock. */
interface Claimant {
  pid: number;
  host: string;
  /** PID namespace, because containers on one host number their processes separately. */
  space: string | null;
  /** Boot id and start time of the process, where available, because pids are reused. */
  life: string | null;
  /** Epoch ms. */
  since: number;
}

/** A held lock. */
export interface Lock {
  /** @throws {GuardError} `store_lost` if another process took over the lock. */
  verify(): Promise<void>;
  release(): Promise<void>;
}

/** Interval of the holder's heartbeat, in ms. */
const HEARTBEAT_MS = 5_000;
/** A process that cannot be checked directly counts as dead after this long without a heartbeat, in ms. */
const DEAD_AFTER_MS = 60_000;
/** How long simultaneous requests retry before they fail, in ms. */
const CONTENTION_MS = 5_000;

/**
 * Locks a file for this process. Each process first creates its own claim file in `PATH.lock`, then looks for others,
 * so of two at once at least one sees the other and withdraws. Claim names are never reused, so removing a dead
 * process's claim cannot hit a live one.
 * @throws {GuardError} `store_locked`, with the holder's pid and host.
 * @example
 * const lock = await lockFile("state.json");
 * try {
 *   await lock.verify();
 * } finally {
 *   await lock.release();
 * }
 */
export async function lockFile(path: string): Promise<Lock> {
  const folder = `${path}.lock`;
  const until = Date.now() + CONTENTION_MS;
  for (;;) {
    const name = randomBytes(8).toString("hex");
    await announce(folder, name, until);
    const { holder, asking } = await otherClaimants(folder, name);
    if (holder === undefined && asking === 0) {
      await writeFile(join(folder, `${name}.held`), "");
      return heldLock(path, folder, name);
    }
    await withdraw(folder, name);
    if (holder !== undefined || Date.now() > until) throw lockedError(path, holder);
    await pause(5 + Math.random() * 60);
  }
}

function heldLock(path: string, folder: string, name: string): Lock {
  const own = join(folder, `${name}.ask`);
  const beat = setInterval(() => {
    const now = new Date();
    // A missing file means that another process took over; `verify` reports it before the next write.
    utimes(own, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  beat.unref();
  return {
    async verify() {
      if ((await stat(own).catch(() => undefined)) !== undefined) return;
      throw new GuardError(
        "store_lost",
        `${path} was taken over by another process, because this one seemed dead. Nothing more was written. Call again ` +
          `to continue from the stored state.`,
      );
    },
    async release() {
      clearInterval(beat);
      await withdraw(folder, name);
    },
  };
}

async function announce(folder: string, name: string, until: number): Promise<void> {
  const [life, space] = [await startOf(process.pid), await pidNamespace()];
  const claimant: Claimant = { pid: process.pid, host: hostname(), space, life, since: Date.now() };
  const draft = join(folder, `${name}.tmp`);
  for (;;) {
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(draft, JSON.stringify(claimant));
      // Rename so that other processes never see a partial claim.
      await rename(draft, join(folder, `${name}.ask`));
      return;
    } catch (error) {
      // Another process removed the empty folder when it released its lock.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || Date.now() > until) throw error;
    }
  }
}

async function withdraw(folder: string, name: string): Promise<void> {
  await rm(join(folder, `${name}.held`), { force: true });
  await rm(join(folder, `${name}.ask`), { force: true });
  await rmdir(folder).catch(() => {});
}

/** Finds the other live claimants and removes the claims of dead processes. */
async function otherClaimants(
  folder: string,
  own: string,
): Promise<{ holder: (Claimant & { silentMs: number }) | undefined; asking: number }> {
  let holder: (Claimant & { silentMs: number }) | undefined;
  let asking = 0;
  for (const file of await readdir(folder)) {
    const name = file.slice(0, file.indexOf("."));
    if (name === own || file.endsWith(".held")) continue;
    const path = join(folder, file);
    const [text, stats] = await Promise.all([
      readFile(path, "utf8").catch(() => undefined),
      stat(path).catch(() => undefined),
    ]);
    if (text === undefined || stats === undefined) continue;
    const claimant = parseClaimant(text);
    const silentMs = Math.max(0, Date.now() - stats.mtimeMs);
    // Ignore drafts, and files torn by a power loss, until they are old enough to remove.
    const draft = file.endsWith(".tmp") || claimant === undefined;
    if (draft && silentMs < DEAD_AFTER_MS) continue;
    if (draft || !(await isAlive(claimant, silentMs))) {
      await rm(join(folder, `${name}.held`), { force: true });
      await rm(path, { force: true });
      continue;
    }
    const holds = (await stat(join(folder, `${name}.held`)).catch(() => undefined)) !== undefined;
    if (holds) holder = { ...claimant, silentMs };
    else asking += 1;
  }
  return { holder, asking };
}

function parseClaimant(text: string): Claimant | undefined {
  try {
    return JSON.parse(text) as Claimant;
  } catch {
    return undefined;
  }
}

async function isAlive({ pid, host, space, life }: Claimant, silentMs: number): Promise<boolean> {
  if (host !== hostname() || space !== (await pidNamespace())) return silentMs < DEAD_AFTER_MS;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = await startOf(pid);
  // A paused process may resume, so silence only counts where the start time is unknown.
  return life === null || now === null ? silentMs < DEAD_AFTER_MS : life === now;
}

/** Returns the boot id and start time of a process on Linux; `null` elsewhere. */
async function startOf(pid: number): Promise<string | null> {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    // The parenthesised name may contain spaces. Field 3 follows it; field 22 is the start time.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // A zombie process has already ended.
    return fields[0] === "Z" ? "ended" : `${boot.trim()}/${fields[19]}`;
  } catch {
    return null;
  }
}

async function pidNamespace(): Promise<string | null> {
  return readlink("/proc/self/ns/pid").catch(() => null);
}

function lockedError(path: string, holder: (Claimant & { silentMs: number }) | undefined): GuardError {
  if (holder === undefined) {
    return new GuardError(
      "store_locked",
      `Several processes requested ${path} at the same time. Call again.`,
    );
  }
  const { pid, host, since, silentMs } = holder;
  const who =
    host !== hostname()
      ? `process ${pid} on ${host}`
      : pid === process.pid
        ? `another call in this process (${pid})`
        : `process ${pid} on this machine`;
  return new GuardError(
    "store_locked",
    `${path} is in use: ${who} has held it since ${new Date(since).toISOString()}; its last heartbeat was ` +
      `${Math.round(silentMs / 1_000)} s ago. Wait for it to end, or end it, and call again. The lock of a dead process ` +
      `is taken over automatically${host === hostname() ? "" : ` after ${DEAD_AFTER_MS / 1_000} s`}.`,
  );
}
