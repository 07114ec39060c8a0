import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, chown, mkdir, open, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlimsollError } from "../errors.ts";
import { type Binaries, cannotRun } from "./binaries.ts";
import { inspectCluster, newClusterPath } from "./cluster-files.ts";
import type { RunAs } from "./database-user.ts";
import { emptyAs } from "./foreign-files.ts";
import { clusterPaths, diskFull, type HomeLayout, unwritable } from "./layout.ts";
import { throwIfStopped } from "./stopped.ts";

/** The superuser of an embedded cluster. Only the supervisor logs in as it. */
export const SUPERUSER = "postgres";

/**
 * Creates a cluster and puts it in place with one rename, so that an incomplete one is never mistaken for a
 * database. When two processes do this at the same time, the second one uses the cluster of the first.
 * @throws PlimsollError `disk_full`, `data_folder_unwritable`, `postgres_binaries_missing`
 */
export async function createCluster(
  layout: HomeLayout,
  binaries: Binaries,
  runAs: RunAs | undefined,
  signal: AbortSignal,
): Promise<void> {
  const making = clusterPaths(newClusterPath(layout));
  try {
    await prepare(making, runAs);
    await runInitdb(making, binaries, { runAs, signal });
    throwIfStopped(signal);
    await syncFolder(making.cluster);
    await rename(making.cluster, layout.cluster);
    await syncFolder(layout.home);
  } catch (error) {
    // This process created it a moment ago, and it holds nothing.
    for (const folder of [making.data, making.socket]) await emptyAs(runAs, folder).catch(() => {});
    await removeMade(making);
    const lostTheRace = ["ENOTEMPTY", "EEXIST", "EPERM"].includes(
      (error as NodeJS.ErrnoException).code ?? "",
    );
    if (lostTheRace && (await inspectCluster(layout)) === "complete") return;
    throw unwritable(layout.home, error);
  }
}

/** What is left of a cluster once the folders of the database's user are empty. */
async function removeMade({ cluster, data, socket, password }: ClusterPaths): Promise<void> {
  for (const folder of [data, socket]) await rmdir(folder).catch(() => {});
  for (const file of [password, passwordForInitdb(cluster)]) await rm(file, { force: true }).catch(() => {});
  await rmdir(cluster).catch(() => {});
}

const passwordForInitdb = (cluster: string) => join(cluster, "password-for-initdb");

type ClusterPaths = ReturnType<typeof clusterPaths>;

async function prepare(paths: ClusterPaths, runAs: RunAs | undefined): Promise<void> {
  // As root this folder belongs to root, so that PostgreSQL's user cannot replace the password or the log with a
  // link. That user may only pass through.
  await mkdir(paths.cluster, { mode: 0o700 });
  if (runAs) await chmod(paths.cluster, 0o711);
  for (const folder of [paths.data, paths.socket]) {
    await mkdir(folder, { mode: 0o700 });
    if (runAs) await chown(folder, runAs.uid, runAs.gid);
  }
  await writeFile(paths.password, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flush: true });
}

async function runInitdb(
  paths: ClusterPaths,
  binaries: Binaries,
  { runAs, signal }: Pick<InitdbRun, "runAs" | "signal">,
): Promise<void> {
  const { code, output } = await withPasswordFile(paths, runAs, (file) =>
    runToEnd(binaries.initdb, {
      runAs,
      signal,
      cwd: paths.cluster,
      args: [
        `--pgdata=${paths.data}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${file}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // PostgreSQL's own collation: the same order on every system, whatever its C library.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--data-checksums",
      ],
    }),
  );
  throwIfStopped(signal);
  if (code === 0) return;
  if (/no space left on device|disk quota/i.test(output)) throw diskFull(paths.data);
  const nameless = /could not look up effective user ID (\d+)/.exec(output)?.[1];
  if (nameless !== undefined) {
    throw new PlimsollError(
      "database_unreachable",
      `The embedded PostgreSQL cannot run as user id ${nameless}: this system has no name for it.`,
      {
        hint: "Start Plimsoll as a user listed in /etc/passwd, or set DATABASE_URL to a PostgreSQL of your own.",
      },
    );
  }
  throw new PlimsollError(
    "data_folder_unwritable",
    `PostgreSQL could not create a database in ${dirname(paths.cluster)}.`,
    {
      details: { exitCode: code, output: output.slice(-2000) },
      hint: `initdb said:\n${output.slice(-2000).trim()}`,
    },
  );
}

/**
 * A copy of the password that the database's user can read, for as long as `use` takes. It is made in the cluster's folder,
 * which belongs to root, and given away by its descriptor: in a folder of that user, a link could lead root elsewhere.
 */
async function withPasswordFile<T>(
  { cluster, password }: ClusterPaths,
  runAs: RunAs | undefined,
  use: (file: string) => Promise<T>,
): Promise<T> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  const path = passwordForInitdb(cluster);
  const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(await readFile(password));
    if (runAs) await file.chown(runAs.uid, runAs.gid);
  } finally {
    await file.close();
  }
  try {
    return await use(path);
  } finally {
    await rm(path, { force: true });
  }
}

interface InitdbRun {
  args: string[];
  cwd: string;
  runAs: RunAs | undefined;
  signal: AbortSignal;
}

/** The environment of PostgreSQL's programs. PG* variables of ours would change what they do. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SYSTEMROOT, TEMP, TMP } = process.env;
  return { PATH, SYSTEMROOT, TEMP, TMP, LC_ALL: "C", TZ: "UTC" } as Record<
    string,
    string | undefined
  > as NodeJS.ProcessEnv;
}

async function runToEnd(
  program: string,
  { args, cwd, runAs, signal }: InitdbRun,
): Promise<{ code: number; output: string }> {
  const child = spawn(program, args, {
    cwd,
    env: postgresEnvironment(),
    ...runAs,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-8192);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const kill = () => child.kill("SIGTERM");
  signal.addEventListener("abort", kill, { once: true });
  const code = await ended(child)
    .catch((cause) => {
      throw cannotRun(program, cause);
    })
    .finally(() => signal.removeEventListener("abort", kill));
  return { code, output };
}

const ended = (child: ChildProcess) =>
  new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });

/** Makes a rename in this folder survive a power cut. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}
