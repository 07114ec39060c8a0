import { access, constants, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlimsollError } from "../../errors.ts";
import { makeFolder, trustedPath } from "../../folder.ts";

/** The major version of the bundled PostgreSQL. */
export const POSTGRES_MAJOR = "18";

export const LOCAL_TOKEN_FILE = "local-token";

/** The user that PostgreSQL runs as if Plimsoll is root. */
export interface RunAs {
  uid: number;
  gid: number;
}

/**
 * The files in a Plimsoll home:
 * ```
 * postgres/              one cluster; created under another name and renamed when complete
 *   data/                PostgreSQL's data folder. Only data/ and socket/ are writable for its user
 *   socket/
 *   password             of the superuser, mode 0600
 *   server.log           with server.log.1, of bounded size
 * postgres.incomplete-*  left by an interrupted first start; Plimsoll never deletes it
 * database-id            the system identifier of the cluster; see `readPast`
 * local-token            made once the database was ready
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
  record: string;
  localToken: string;
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
  return {
    home,
    ...clusterPaths(join(home, "postgres")),
    record: join(home, "database-id"),
    localToken: join(home, LOCAL_TOKEN_FILE),
    binaries: join(home, "binaries"),
  };
}

/** The port in a socket's file name. The folder holds one socket only, so any number works. */
export const SOCKET_PORT = 5432;

/** Bytes a socket path may have; Linux allows 107, macOS 103. */
const SOCKET_PATH_LIMIT = 103;

/** Whether PostgreSQL listens on a socket instead of a loopback port: if the system has sockets, and the path is short enough. */
export function listensOnSocket({ socket }: HomeLayout): boolean {
  const path = join(socket, `.s.PGSQL.${SOCKET_PORT}`);
  return process.platform !== "win32" && Buffer.byteLength(path) <= SOCKET_PATH_LIMIT;
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
    await assertPassable(layout.home);
    await trustedPath(layout.password);
    // Either may be a link to another disk.
    for (const folder of [layout.data, layout.socket]) await trustedPath(dirname(await realOr(folder)));
  }
  const owner = await ownerOf(layout.data);
  const expected = runAs?.uid ?? process.getuid?.();
  if (owner !== undefined && expected !== undefined && owner !== expected) {
    throw new PlimsollError(
      "data_folder_unwritable",
      `The data folder ${layout.data} belongs to another user (uid ${owner}).`,
      {
        hint: runAs
          ? `If it is a copy of a database of Plimsoll, run: chown -R ${runAs.uid}:${runAs.gid} '${layout.data}' '${layout.socket}'. Otherwise set PLIMSOLL_HOME to another folder.`
          : "Start Plimsoll as that user, or set PLIMSOLL_HOME to a folder of your own.",
      },
    );
  }
}

/** The uid of the owner of a folder; undefined if there is none. */
export const ownerOf = (folder: string): Promise<number | undefined> =>
  stat(folder).then(
    ({ uid }) => uid,
    () => undefined,
  );

const realOr = (path: string) => realpath(path).catch(() => path);

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
