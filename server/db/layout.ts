import { access, constants, lstat, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlimsollError } from "../errors.ts";
import { makeFolder } from "../folder.ts";
import { assertClosedToOthers } from "./closed-folders.ts";
import type { RunAs } from "./database-user.ts";
import { giveTree } from "./foreign-files.ts";
import { findPostmaster } from "./process-identity.ts";

/** The major version of the bundled PostgreSQL. */
export const POSTGRES_MAJOR = "18";

/** The user id that PostgreSQL ran as under root before it had a user of its own: `nobody`. */
const FORMER_USER = 65_534;

/**
 * The files in a Plimsoll home:
 * ```
 * postgres/              one cluster; created under another name and renamed when complete
 *   data/                PostgreSQL's data folder. Only data/ and socket/ are writable for its user
 *   socket/
 *   password             of the superuser, mode 0600
 *   server.log           with server.log.1, of bounded size
 * postgres.incomplete-*  left by an interrupted first start; Plimsoll never deletes it
 * binaries/              only where the installed binaries cannot be used in place
 * ```
 */
export interface HomeLayout {
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

export function layoutOf(home: string): HomeLayout {
  return { home, ...clusterPaths(join(home, "postgres")), binaries: join(home, "binaries") };
}

/**
 * Creates the home if it is missing and checks that it can be used.
 * @throws PlimsollError `data_folder_unwritable`, `root_unsupported`
 */
export async function prepareHome(layout: HomeLayout, runAs: RunAs | undefined): Promise<void> {
  try {
    await makeFolder(layout.home, runAs ? 0o755 : 0o700);
    await access(layout.home, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unwritable(layout.home, cause, { ENOENT: "no folder can be made there" });
  }
  if (runAs) {
    await assertClosedToOthers(layout.home);
    await assertPassable(layout.home);
    await takeOverFormerData(layout, runAs);
  }
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

/** Gives data of an older Plimsoll to the database's user. */
async function takeOverFormerData({ data, socket }: HomeLayout, runAs: RunAs): Promise<void> {
  if ((await lstat(data).catch(() => undefined))?.uid !== FORMER_USER) return;
  const running = await findPostmaster(data);
  if (running !== undefined) {
    throw new PlimsollError(
      "data_folder_unwritable",
      `An older Plimsoll runs PostgreSQL on ${data} as the user nobody (process ${running}).`,
      {
        hint: `Stop the older Plimsoll, or process ${running} if it is all that is left of it. The next start gives the data to a user of its own.`,
      },
    );
  }
  await giveTree(socket, FORMER_USER, runAs);
  await giveTree(data, FORMER_USER, runAs);
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

/** Turns a file-system error into one that says what to do. Returns any other error unchanged. */
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
