import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { access, constants, readdir, readFile, rename, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlimsollError } from "../errors.ts";
import { makeFolder } from "../folder.ts";
import { isAlive } from "./process-identity.ts";

/** The major version whose files we make and can open. */
export const POSTGRES_MAJOR = "18";

/** The unprivileged user PostgreSQL runs as when we are root: `nobody`; it need not exist by name. */
const UNPRIVILEGED = 65_534;

export interface RunAs {
  uid: number;
  gid: number;
}

/** Undefined unless we are root: PostgreSQL refuses to run as root. */
export function runAsUser(): RunAs | undefined {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : undefined;
}

/**
 * What lies in a Plimsoll home:
 * ```
 * postgres/            one cluster; made under another name and renamed when whole
 *   data/              PostgreSQL's own folder, the only one its user can write to, with socket/
 *   socket/
 *   password           of the superuser, 0600
 *   server.log         and server.log.1, bounded
 * postgres.incomplete-*  set aside by an interrupted first start; never deleted by us
 * binaries/            only where the installed ones cannot be used in place
 * ```
 */
export interface Layout {
  home: string;
  cluster: string;
  data: string;
  socket: string;
  password: string;
  log: string;
  binaries: string;
}

export const clusterPaths = (cluster: string) => ({
  cluster,
  data: join(cluster, "data"),
  socket: join(cluster, "socket"),
  password: join(cluster, "password"),
  log: join(cluster, "server.log"),
});

export function layoutOf(home: string): Layout {
  return { home, ...clusterPaths(join(home, "postgres")), binaries: join(home, "binaries") };
}

/**
 * Makes the home if need be and proves that it can be used.
 * @throws PlimsollError `data_folder_unwritable`, `root_unsupported`, `database_unsafe` (another version)
 */
export async function prepareHome(layout: Layout, runAs: RunAs | undefined): Promise<void> {
  try {
    await makeFolder(layout.home, runAs ? 0o755 : 0o700);
    await access(layout.home, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unwritable(layout.home, cause, { ENOENT: "no folder can be made there" });
  }
  if (runAs) await assertPassable(layout.home);
  const owner = (await stat(layout.data).catch(() => undefined))?.uid;
  const expected = runAs?.uid ?? process.getuid?.();
  if (owner !== undefined && expected !== undefined && owner !== expected) {
    throw new PlimsollError(
      "data_folder_unwritable",
      `The data folder ${layout.data} belongs to another user (uid ${owner}).`,
      { hint: "Start Plimsoll as that user, or set PLIMSOLL_HOME to a folder of your own." },
    );
  }
}

async function assertPassable(home: string): Promise<void> {
  for (let folder = home; ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) {
      throw new PlimsollError(
        "root_unsupported",
        `As root, Plimsoll runs PostgreSQL as an unprivileged user, and that user cannot pass through ${folder}.`,
        {
          hint: "Set PLIMSOLL_HOME to a folder others can pass through, such as /var/lib/plimsoll, or start Plimsoll as an ordinary user.",
        },
      );
    }
    if (folder === dirname(folder)) return;
  }
}

/** A file-system refusal, said so that a person can act on it. Other errors come back as they are. */
export function unwritable(folder: string, cause: unknown, more: Record<string, string> = {}): unknown {
  const code = (cause as NodeJS.ErrnoException).code ?? "";
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull(folder, cause);
  const why: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "permission denied",
    EROFS: "the file system is read-only",
    ENOTDIR: "a part of the path is a file",
    EEXIST: "it is a file",
    ...more,
  };
  if (!why[code]) return cause;
  return new PlimsollError("data_folder_unwritable", `Plimsoll cannot write to ${folder}: ${why[code]}.`, {
    cause,
    hint: "Set PLIMSOLL_HOME to a folder you own, or set DATABASE_URL to a PostgreSQL of your own.",
  });
}

export function diskFull(folder: string, cause?: unknown): PlimsollError {
  return new PlimsollError("disk_full", `The disk that holds ${folder} is full.`, {
    cause,
    hint: "Free some space (a new database needs about 100 MB), or set PLIMSOLL_HOME to a folder on another disk.",
  });
}

/** What stands at the cluster's path. `incomplete` is the trace of a first start that was interrupted. */
export async function clusterState(layout: Layout): Promise<"absent" | "incomplete" | "complete"> {
  if (!existsSync(layout.cluster)) return "absent";
  const version = (await readFile(join(layout.data, "PG_VERSION"), "utf8").catch(() => "")).trim();
  const whole =
    version !== "" && existsSync(join(layout.data, "global", "pg_control")) && existsSync(layout.password);
  if (whole && version !== POSTGRES_MAJOR) {
    throw new PlimsollError(
      "database_unsafe",
      `${layout.data} holds data of PostgreSQL ${version}; this Plimsoll brings PostgreSQL ${POSTGRES_MAJOR}.`,
      { hint: "Start the Plimsoll version that made it, or set PLIMSOLL_HOME to another folder." },
    );
  }
  return whole ? "complete" : "incomplete";
}

/** A name for a cluster in the making; it tells whose it is, so that others leave it alone. */
export const newClusterPath = (layout: Layout) =>
  `${layout.cluster}.new-${process.pid}-${randomBytes(4).toString("hex")}`;

/**
 * Renames what interrupted first starts left behind. Nothing is deleted: it may hold somebody's data.
 * @returns the new paths
 */
export async function quarantineLeftovers(layout: Layout): Promise<string[]> {
  const moved: string[] = [];
  for (const name of await readdir(layout.home)) {
    const maker = /^postgres\.new-(\d+)-/.exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const path = join(layout.home, name);
    const aside = incompleteName(layout);
    // Another process may have moved it first.
    if (await tryRename(path, aside)) moved.push(aside);
  }
  if ((await clusterState(layout)) !== "incomplete") return moved;
  // An empty folder is no trace of anything; somebody made it for us.
  if (
    await rmdir(layout.cluster).then(
      () => true,
      () => false,
    )
  )
    return moved;
  const aside = incompleteName(layout);
  if (!(await tryRename(layout.cluster, aside))) return moved;
  // Between our look and our rename another process may have put a whole cluster there: give it back.
  const state = await clusterState({ ...layout, ...clusterPaths(aside) });
  if (state === "complete") await rename(aside, layout.cluster);
  else moved.push(aside);
  return moved;
}

const incompleteName = (layout: Layout) =>
  `${layout.cluster}.incomplete-${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(2).toString("hex")}`;

const tryRename = (from: string, to: string) =>
  rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw unwritable(from, error);
    },
  );
