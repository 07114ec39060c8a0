import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { PlimsollError } from "../errors.ts";

const STICKY = 0o1000;
const OTHERS_MAY_WRITE = 0o022;

/**
 * The folder at or above a path in which another user than root could replace what root is about to use. Above the path, a
 * sticky folder such as /tmp is safe: in it, users can only replace what is theirs.
 * @param path absolute; need not exist
 * @returns undefined if there is none
 */
export async function folderOpenToOthers(path: string): Promise<string | undefined> {
  for (let folder = path; ; folder = dirname(folder)) {
    const entry = await lstat(folder).catch(() => undefined);
    if (entry !== undefined) {
      if (entry.uid !== 0) return folder;
      const writable = !entry.isSymbolicLink() && (entry.mode & OTHERS_MAY_WRITE) !== 0;
      if (writable && (folder === path || (entry.mode & STICKY) === 0)) return folder;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * Makes sure that nobody but root can replace the home folder or what is in it, also on the way there through links.
 * @throws PlimsollError `root_unsupported`, naming the folder
 */
export async function assertClosedToOthers(home: string): Promise<void> {
  const real = await realpath(home);
  const open = (await folderOpenToOthers(home)) ?? (await folderOpenToOthers(real));
  if (open === undefined) return;
  const { uid } = await stat(open);
  const why = uid === 0 ? "other users can write to it" : `it belongs to user id ${uid}`;
  throw new PlimsollError(
    "root_unsupported",
    `As root, Plimsoll keeps its files only where no other user can replace them, but ${open} is not such a folder: ${why}.`,
    {
      hint: `Set PLIMSOLL_HOME to a folder that belongs to root, such as /var/lib/plimsoll, or close the folder: chown root ${open} && chmod go-w ${open}. Or start Plimsoll as an ordinary user.`,
    },
  );
}
