import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, lchown, mkdir, open, readFile, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { PlimsollError } from "../../errors.ts";
import { syncFolder } from "../../whole-file.ts";
import { throwIfStopped } from "../stopped.ts";
import { runAsUser } from "./as-user.ts";
import { type Binaries, cannotRun } from "./binaries.ts";
import { inspectCluster, newClusterPath } from "./cluster-files.ts";
import { clusterPaths, diskFull, type HomeLayout, type RunAs, unwritable } from "./layout.ts";

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
    await removeCluster(making, runAs).catch(() => {});
    const lostTheRace = ["ENOTEMPTY", "EEXIST", "EPERM"].includes(
      (error as NodeJS.ErrnoException).code ?? "",
    );
    if (lostTheRace && (await inspectCluster(layout)) === "complete") return;
    throw unwritable(layout.home, error);
  }
}

type ClusterPaths = ReturnType<typeof clusterPaths>;

/** As root, the password in a file that PostgreSQL's user can read. */
const passwordForInitdb = (paths: ClusterPaths) => `${paths.password}-for-initdb`;

async function prepare(paths: ClusterPaths, runAs: RunAs | undefined): Promise<void> {
  // As root this folder belongs to root, so that PostgreSQL's user cannot replace the password or the log with a
  // link. That user may only pass through.
  await mkdir(paths.cluster, { mode: 0o700 });
  if (runAs) await chmod(paths.cluster, 0o711);
  for (const folder of [paths.data, paths.socket]) {
    await mkdir(folder, { mode: 0o700 });
    if (runAs) await lchown(folder, runAs.uid, runAs.gid);
  }
  await writeSecret(paths.password, `${randomBytes(32).toString("base64url")}\n`);
}

/** Writes a new file that only `owner` can read; by default, only this process's user. */
async function writeSecret(path: string, text: string, owner?: RunAs): Promise<void> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    if (owner) await file.chown(owner.uid, owner.gid);
  } finally {
    await file.close();
  }
}

/**
 * As root, PostgreSQL's user empties the folders that it can write: it could lead root's deletion elsewhere with a link.
 * What it leaves is set aside at a later start.
 */
async function removeCluster(paths: ClusterPaths, runAs: RunAs | undefined): Promise<void> {
  if (!runAs) return rm(paths.cluster, { recursive: true, force: true });
  // It cannot remove the two folders themselves.
  await runAsUser(runAs, "rm", "-rf", "--", paths.data, paths.socket);
  for (const folder of [paths.data, paths.socket]) await rmdir(folder).catch(() => {});
  for (const file of [paths.password, passwordForInitdb(paths)]) await unlink(file).catch(() => {});
  await rmdir(paths.cluster);
}

async function runInitdb(
  paths: ClusterPaths,
  binaries: Binaries,
  { runAs, signal }: Pick<InitdbRun, "runAs" | "signal">,
): Promise<void> {
  const copy = runAs ? passwordForInitdb(paths) : undefined;
  if (copy) await writeSecret(copy, await readFile(paths.password, "utf8"), runAs);
  const { code, output } = await runToEnd(binaries.initdb, {
    runAs,
    signal,
    cwd: paths.cluster,
    args: [
      `--pgdata=${paths.data}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${copy ?? paths.password}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // PostgreSQL's own collation: the same order on every system, whatever its C library.
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--locale=C",
      "--data-checksums",
    ],
  }).finally(() => copy && unlink(copy));
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
