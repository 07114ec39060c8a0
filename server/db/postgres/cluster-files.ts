import { randomBytes } from "node:crypto";
import { lstat, readdir, readlink, rename, rmdir, stat } from "node:fs/promises";
import { endianness } from "node:os";
import { join } from "node:path";
import { PlimsollError } from "../../errors.ts";
import { readRegularFile, withRegularFile } from "../../regular-file.ts";
import { clusterPaths, type HomeLayout, listensOnSocket, POSTGRES_MAJOR, unwritable } from "./layout.ts";
import { isAlive } from "./process-identity.ts";

/**
 * What is at the cluster's path:
 * - `absent`: nothing
 * - `interrupted`: the files of a first start that did not finish. They hold no data of ours
 * - `complete`: a cluster that PostgreSQL can be started on
 */
export type ClusterState = "absent" | "interrupted" | "complete";

/** What shows that a home has had a database. */
export interface Past {
  /** The file that shows it. */
  file: string;
  /** System identifier of the database; undefined if the file does not say. */
  id: string | undefined;
}

/** Bytes of `global/pg_control`, whatever the platform. */
const CONTROL_FILE_BYTES = 8192;

/** What PostgreSQL does not start without, besides the files that can be written again. */
const NEEDED = ["base", "global/pg_filenode.map", "pg_multixact", "pg_notify", "pg_wal", "pg_xact"];

const RESTORE_ALL = "Restore the whole data folder from a backup.";

/** What to do about a lost file whose contents are known. */
const writeAgain = (command: string) =>
  `Restore it from a backup. If nothing else is missing, run: ${command}`;

/** What to do about a `pg_hba.conf` that does not let Plimsoll log in. */
export const allowLogin = (layout: HomeLayout): string => {
  const from = listensOnSocket(layout) ? "local all all" : "host all all 127.0.0.1/32";
  return writeAgain(`echo '${from} scram-sha-256' > '${join(layout.data, "pg_hba.conf")}'`);
};

/** Databases that users create get a number from here on; initdb's own have lower ones. */
const FIRST_USER_DATABASE = 16_384;

/**
 * Tells a usable cluster from the remains of an interrupted first start.
 * @param past if the home has had a database, anything but that database is an error
 * @throws PlimsollError `data_folder_damaged` naming what is missing or damaged, when the folder may hold or should hold
 * data; `database_unsafe` for another major version; `data_folder_unwritable` for a file it cannot read
 */
export async function inspectCluster(layout: HomeLayout, past?: Past): Promise<ClusterState> {
  if (past === undefined && (await lackOf(layout.cluster)) === MISSING) return "absent";
  const damage = await findDamage(layout, past);
  if (damage === undefined) return "complete";
  if (past === undefined && !(await mayHoldData(layout))) return "interrupted";
  throw damage;
}

const MISSING = "is missing";

/** Why a folder holds nothing; undefined if it holds something. */
async function lackOf(folder: string): Promise<string | undefined> {
  const entry = await lstat(folder).catch(absentOr(folder));
  if (entry === undefined) return MISSING;
  const target = entry.isSymbolicLink() ? await entryAt(folder) : entry;
  if (target === undefined) return `is a link to ${await readlink(folder)}, which is missing`;
  if (!target.isDirectory()) return "is a file, not a folder";
  const names = await readdir(folder).catch(absentOr(folder));
  return names?.length === 0 ? "is empty" : undefined;
}

/** What to do if a cluster or its data folder holds nothing. */
async function remedyOf({ home, cluster, record, localToken }: HomeLayout, past: Past | undefined) {
  const there = await lstat(cluster).catch(absentOr(cluster));
  const begin = [
    ...(past === undefined ? [] : [`rm -f '${record}' '${localToken}'`]),
    ...(there === undefined ? [] : [`mv '${cluster}' '${cluster}.old'`]),
  ].join(" && ");
  const why =
    past === undefined
      ? ""
      : past.file === record
        ? ` ${record} shows that ${home} had a database.`
        : ` ${past.file} shows that ${home} was in use. If its database is an external one, set DATABASE_URL.`;
  return `If it is on another disk, mount that disk. Otherwise restore a backup.${why}\nTo start with an empty database, run: ${begin}`;
}

async function findDamage(layout: HomeLayout, past: Past | undefined): Promise<PlimsollError | undefined> {
  const { cluster, data, password } = layout;
  for (const folder of [cluster, data]) {
    const lack = await lackOf(folder);
    if (lack !== undefined) return damaged(folder, lack, await remedyOf(layout, past));
  }
  const versionFile = join(data, "PG_VERSION");
  const version = await textOf(versionFile);
  const versionHint = writeAgain(`echo ${POSTGRES_MAJOR} > '${versionFile}'`);
  if (version === undefined) return damaged(versionFile, "is missing", versionHint);
  if (!/^\d+(\.\d+)?$/.test(version)) return damaged(versionFile, "does not hold a version", versionHint);
  if (version !== POSTGRES_MAJOR) {
    throw new PlimsollError(
      "database_unsafe",
      `${data} holds data of PostgreSQL ${version}. This Plimsoll includes PostgreSQL ${POSTGRES_MAJOR}.`,
      { hint: "Start the Plimsoll version that created it, or set PLIMSOLL_HOME to another folder." },
    );
  }
  const control = join(data, "global", "pg_control");
  const bytes = (await entryAt(control))?.size;
  if (bytes !== CONTROL_FILE_BYTES) {
    const what =
      bytes === undefined ? "is missing" : `is ${bytes} bytes long instead of ${CONTROL_FILE_BYTES}`;
    return damaged(control, what, RESTORE_ALL);
  }
  const needed: [name: string, remedy: string][] = [
    ...NEEDED.map((name): [string, string] => [name, RESTORE_ALL]),
    ["pg_hba.conf", allowLogin(layout)],
    ["postgresql.conf", writeAgain(`touch '${join(data, "postgresql.conf")}'`)],
  ];
  for (const [name, remedy] of needed) {
    const path = join(data, name);
    if ((await entryAt(path)) === undefined) return damaged(path, MISSING, remedy);
  }
  const secret = await textOf(password);
  if (!secret) {
    return damaged(
      password,
      secret === undefined ? "is missing" : "is empty",
      "It holds the password of the database. Restore it from a backup, or set a new password as docs/recovery.md describes.",
    );
  }
  if (past?.id === undefined) return undefined;
  const id = await systemIdentifier(layout);
  // What a power cut may leave of a file.
  if (id === "0") return damaged(control, "holds zeros", RESTORE_ALL);
  if (id === past.id) return undefined;
  return damaged(
    data,
    `is another database (system identifier ${id}) than ${layout.home} had (${past.id})`,
    `Put the right one back; if it is on another disk, mount that disk. If you mean to use this one, delete ${past.file}.`,
  );
}

/** Names a cluster for good, also after it is copied: the first eight bytes of `pg_control`. */
export async function systemIdentifier({ data }: HomeLayout): Promise<string> {
  const path = join(data, "global", "pg_control");
  const bytes = await withRegularFile(path, async (file) => {
    return (await file.read(Buffer.alloc(8), 0, 8, 0)).buffer;
  });
  if (typeof bytes === "string") throw damaged(path, `is ${bytes}`, RESTORE_ALL);
  return String(endianness() === "LE" ? bytes.readBigUInt64LE() : bytes.readBigUInt64BE());
}

/** True unless the folder holds nothing but what initdb writes. Anything unreadable counts as data. */
async function mayHoldData({ cluster, data, log }: HomeLayout): Promise<boolean> {
  for (const path of [cluster, data]) {
    const entry = await lstat(path).catch(absentOr(path));
    // A file, or a link to a disk that is not mounted. No start leaves either.
    if (entry !== undefined && !entry.isDirectory()) return true;
  }
  // Only a postmaster that was started writes the log.
  if ((await entryAt(log)) !== undefined || (await entryAt(`${log}.1`)) !== undefined) return true;
  const databases = await readdir(join(data, "base")).catch(absentOr(data));
  return (databases ?? []).some((name) => Number(name) >= FIRST_USER_DATABASE);
}

export function damaged(path: string, what: string, hint: string): PlimsollError {
  return new PlimsollError("data_folder_damaged", `${path} ${what}.`, { hint });
}

const entryAt = (path: string) => stat(path).catch(absentOr(path));

/** The trimmed text of a file; undefined when there is none. */
async function textOf(path: string): Promise<string | undefined> {
  const file = await readRegularFile(path).catch(absentOr(path));
  if (file?.is === "text") return file.text.trim();
  if (file?.is !== "irregular") return undefined;
  throw damaged(path, "is not a regular file", "Restore it from a backup.");
}

/** Treats a missing file as undefined. A file that cannot be looked at is not missing. */
export function absentOr(path: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    if (error.code === "EACCES" || error.code === "EPERM") {
      throw new PlimsollError("data_folder_unwritable", `Plimsoll cannot read ${path}: permission denied.`, {
        cause: error,
        hint: "Start Plimsoll as the user who owns the folder, or correct the permissions.",
      });
    }
    throw damaged(path, `cannot be read (${error.code})`, "Check the disk that holds it.");
  };
}

/** A name for a cluster under construction. It contains the process id, so that other processes leave it alone. */
export const newClusterPath = (layout: HomeLayout) =>
  `${layout.cluster}.new-${process.pid}-${randomBytes(4).toString("hex")}`;

/**
 * Renames what interrupted first starts left behind. Deletes nothing.
 * @returns the new paths
 * @throws PlimsollError as `inspectCluster`
 */
export async function setAsideInterrupted(layout: HomeLayout): Promise<string[]> {
  const moved: string[] = [];
  for (const name of await readdir(layout.home)) {
    const maker = /^postgres\.new-(\d+)-/.exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const aside = incompleteName(layout);
    // Another process may have moved it first.
    if (await tryRename(join(layout.home, name), aside)) moved.push(aside);
  }
  if ((await inspectCluster(layout)) !== "interrupted") return moved;
  if (await removeIfEmpty(layout.cluster)) return moved;
  const aside = incompleteName(layout);
  if (!(await tryRename(layout.cluster, aside))) return moved;
  // Between the inspection and the rename another process may have put a complete cluster there: give it back.
  const state = await inspectCluster({ ...layout, ...clusterPaths(aside) });
  if (state === "complete") await rename(aside, layout.cluster);
  else moved.push(aside);
  return moved;
}

const removeIfEmpty = (folder: string) =>
  rmdir(folder).then(
    () => true,
    () => false,
  );

const incompleteName = (layout: HomeLayout) =>
  `${layout.cluster}.incomplete-${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(2).toString("hex")}`;

const tryRename = (from: string, to: string) =>
  rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw unwritable(from, error);
    },
  );
