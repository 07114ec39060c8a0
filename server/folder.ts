import { lstat, mkdir, readlink, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { PlimsollError } from "./errors.ts";

/**
 * Makes a folder and those above it that are missing; one that is there is left alone. Node's own `recursive` never
 * comes back where a folder cannot be made below one that exists and the system calls that ENOENT, as under /proc.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (await isFolder(path)) return;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );

/** As many links as Linux follows in one path. */
const LINK_LIMIT = 40;

/**
 * The folder at `path` for a server that runs as root: the path without links, of which only root can change any part.
 * For an ordinary user, `path` itself. The folder need not exist.
 * @throws PlimsollError `root_unsupported`, naming the part that another user can change
 */
export async function trustedPath(path: string): Promise<string> {
  return process.getuid?.() === 0 ? rootOnlyPath(path) : path;
}

async function rootOnlyPath(path: string): Promise<string> {
  let at = "/";
  let rest = path.split("/");
  for (let links = 0; ; ) {
    const name = rest.shift();
    if (name === undefined) return at;
    const next = join(at, name);
    const entry = await lstat(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    // The rest is made by root, in a folder of root.
    if (entry === undefined) return join(next, ...rest);
    if (entry.uid !== 0) throw changeable(next, `belongs to the user with uid ${entry.uid}`);
    if (entry.isSymbolicLink()) {
      if (++links > LINK_LIMIT) throw changeable(next, "is a link to itself");
      const target = await readlink(next);
      if (isAbsolute(target)) at = "/";
      rest = [...target.split("/"), ...rest];
      continue;
    }
    // In a sticky folder such as /tmp, nobody else can replace what belongs to root.
    const sticky = (entry.mode & 0o1000) !== 0 && rest.length > 0;
    if (!sticky && (entry.mode & 0o022) !== 0) {
      throw changeable(next, `is writable for ${entry.mode & 0o002 ? "every user" : "its group"}`);
    }
    at = next;
  }
}

function changeable(folder: string, why: string): PlimsollError {
  return new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll keeps its data only where no other user can change the path. ${folder} ${why}.`,
    {
      hint: `Run: chown root '${folder}' && chmod go-w '${folder}'. Or set PLIMSOLL_HOME to a folder that only root can write, such as /var/lib/plimsoll, or start Plimsoll as an ordinary user.`,
    },
  );
}
