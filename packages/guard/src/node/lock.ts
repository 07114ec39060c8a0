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

/** Who asks for a file, or holds it. */
interface Claimant {
  pid: number;
  host: string;
  /** Within which numbers of processes mean the same: containers of one host have their own. */
  space: string | null;
  /** Which life of that pid, where the system tells: numbers of processes come again. */
  life: string | null;
  /** Epoch ms. */
  since: number;
}

export interface Lock {
  /**
   * @throws {GuardError} `store_lost` when another process took the file over.
   */
  verify(): Promise<void>;
  release(): Promise<void>;
}

/** How often a holder says that it is there, ms. */
const HEARTBEAT_MS = 5_000;
/** Where nothing else can tell, who was not heard of for so long is gone, ms. */
const SILENT_MS = 60_000;
/** How long those who ask at the same moment try to come apart, ms. */
const CONTEND_MS = 5_000;

/**
 * Takes a file for this process. Each who wants it puts a file of its own into the folder `PATH.lock`, and only then
 * looks who else is there: of two at once at least one sees the other and steps back. A file has one owner and a name
 * that never comes again, so that removing those of the dead can hit nobody alive.
 * @throws {GuardError} `store_locked`, saying who holds it.
 */
export async function lockFile(path: string): Promise<Lock> {
  const folder = `${path}.lock`;
  const until = Date.now() + CONTEND_MS;
  for (;;) {
    const name = randomBytes(8).toString("hex");
    await announce(folder, name, until);
    const { holder, asking } = await others(folder, name);
    if (holder === undefined && asking === 0) {
      await writeFile(join(folder, `${name}.held`), "");
      return held(path, folder, name);
    }
    await withdraw(folder, name);
    if (holder !== undefined || Date.now() > until) throw locked(path, holder);
    await pause(5 + Math.random() * 60);
  }
}

function held(path: string, folder: string, name: string): Lock {
  const own = join(folder, `${name}.ask`);
  const beat = setInterval(() => {
    const now = new Date();
    // Who was taken for dead must not come back: the next write finds out.
    utimes(own, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  beat.unref();
  return {
    async verify() {
      if ((await stat(own).catch(() => undefined)) !== undefined) return;
      throw new GuardError(
        "store_lost",
        `${path} was taken over by another process, which took this one for gone: nothing more is written. Call again ` +
          `to go on from what is stored now.`,
      );
    },
    async release() {
      clearInterval(beat);
      await withdraw(folder, name);
    },
  };
}

async function announce(folder: string, name: string, until: number): Promise<void> {
  const [life, space] = [await lifeOf(process.pid), await spaceOf()];
  const claimant: Claimant = { pid: process.pid, host: hostname(), space, life, since: Date.now() };
  const draft = join(folder, `${name}.tmp`);
  for (;;) {
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(draft, JSON.stringify(claimant));
      // Complete from the first moment it is seen.
      await rename(draft, join(folder, `${name}.ask`));
      return;
    } catch (error) {
      // Another who let go has just removed the empty folder.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || Date.now() > until) throw error;
    }
  }
}

async function withdraw(folder: string, name: string): Promise<void> {
  await rm(join(folder, `${name}.held`), { force: true });
  await rm(join(folder, `${name}.ask`), { force: true });
  await rmdir(folder).catch(() => {});
}

/** Who else is there and alive. What the dead left is cleared away. */
async function others(
  folder: string,
  own: string,
): Promise<{ holder: (Claimant & { heardMs: number }) | undefined; asking: number }> {
  let holder: (Claimant & { heardMs: number }) | undefined;
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
    const claimant = claimantIn(text);
    const heardMs = Math.max(0, Date.now() - stats.mtimeMs);
    // A draft is not yet there to be seen, and one that cannot be read was cut off by a loss of power.
    const draft = file.endsWith(".tmp") || claimant === undefined;
    if (draft && heardMs < SILENT_MS) continue;
    if (draft || !(await isAlive(claimant, heardMs))) {
      await rm(join(folder, `${name}.held`), { force: true });
      await rm(path, { force: true });
      continue;
    }
    const holds = (await stat(join(folder, `${name}.held`)).catch(() => undefined)) !== undefined;
    if (holds) holder = { ...claimant, heardMs };
    else asking += 1;
  }
  return { holder, asking };
}

function claimantIn(text: string): Claimant | undefined {
  try {
    return JSON.parse(text) as Claimant;
  } catch {
    return undefined;
  }
}

async function isAlive({ pid, host, space, life }: Claimant, heardMs: number): Promise<boolean> {
  if (host !== hostname() || space !== (await spaceOf())) return heardMs < SILENT_MS;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // It is there, and another user's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = await lifeOf(pid);
  // A process that was halted is silent and may go on: only where its life cannot be told does silence decide.
  return life === null || now === null ? heardMs < SILENT_MS : life === now;
}

/** When the system started, and the process within it. Linux tells; null elsewhere. */
async function lifeOf(pid: number): Promise<string | null> {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything; what follows it is counted from field 3, and 22 is the start.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended, whoever has not asked for its end yet.
    return fields[0] === "Z" ? "ended" : `${boot.trim()}/${fields[19]}`;
  } catch {
    return null;
  }
}

async function spaceOf(): Promise<string | null> {
  return readlink("/proc/self/ns/pid").catch(() => null);
}

function locked(path: string, holder: (Claimant & { heardMs: number }) | undefined): GuardError {
  if (holder === undefined) {
    return new GuardError("store_locked", `${path} is asked for by several processes at once. Call again.`);
  }
  const { pid, host, since, heardMs } = holder;
  const who =
    host !== hostname()
      ? `process ${pid} on ${host}`
      : pid === process.pid
        ? `this very process (${pid}), in another call`
        : `process ${pid} on this machine`;
  return new GuardError(
    "store_locked",
    `${path} is in use: ${who} has held it since ${new Date(since).toISOString()} and was last heard of ` +
      `${Math.round(heardMs / 1_000)} s ago. Wait for it to end, or end it, and call again; what a dead process holds ` +
      `is taken over by itself${host === hostname() ? "" : ` after ${SILENT_MS / 1_000} s`}.`,
  );
}
