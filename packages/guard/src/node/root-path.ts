import { lstat, readlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

/** `trusted`: the path without links. `changeable`: the part that another user can change, and why. */
export type RootPath = { is: "trusted"; path: string } | { is: "changeable"; part: string; why: string };

/** As many links as Linux follows in one path. */
const LINK_LIMIT = 40;

/**
 * Checks a folder that this process is about to change. As root, only root may be able to change any part of the path: the
 * owner of a part can replace it with a link while root works there. For another user, every path is trusted as it is.
 * The folder need not exist.
 *
 * @example
 * const folder = await rootPath("/home/ann/.config");
 * if (folder.is === "changeable") throw new Error(`${folder.part} ${folder.why}.`);
 */
export async function rootPath(path: string): Promise<RootPath> {
  return process.geteuid?.() === 0
    ? rootOnlyPath(isAbsolute(path) ? path : `${process.cwd()}/${path}`)
    : { is: "trusted", path };
}

async function rootOnlyPath(path: string): Promise<RootPath> {
  let at = "/";
  let rest = path.split("/");
  for (let links = 0; ; ) {
    const name = rest.shift();
    if (name === undefined) return { is: "trusted", path: at };
    const next = join(at, name);
    const entry = await lstat(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    // The rest is made by root, in a folder of root.
    if (entry === undefined) return { is: "trusted", path: join(next, ...rest) };
    if (entry.uid !== 0) return changeable(next, `belongs to the user with uid ${entry.uid}`);
    if (entry.isSymbolicLink()) {
      if (++links > LINK_LIMIT) return changeable(next, "is a link to itself");
      const target = await readlink(next);
      if (isAbsolute(target)) at = "/";
      rest = [...target.split("/"), ...rest];
      continue;
    }
    // In a sticky folder such as /tmp, nobody else can replace what belongs to root.
    const sticky = (entry.mode & 0o1000) !== 0 && rest.length > 0;
    if (!sticky && (entry.mode & 0o022) !== 0)
      return changeable(next, `is writable for ${entry.mode & 0o002 ? "every user" : "its group"}`);
    at = next;
  }
}

const changeable = (part: string, why: string): RootPath => ({ is: "changeable", part, why });
