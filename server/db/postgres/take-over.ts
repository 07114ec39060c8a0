import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { PlimsollError } from "../../errors.ts";
import { type HomeLayout, NOBODY, type RunAs } from "./layout.ts";
import { findPostmaster } from "./process-identity.ts";

/** A cluster has four levels of folders. */
const DEPTH_LIMIT = 16;

/** Given to its new owner last: until then the next start does the rest. */
const LAST = "PG_VERSION";

interface Place {
  /** Descriptor of the folder. */
  fd: number;
  path: string;
  depth: number;
}

/**
 * Gives a cluster to `user` that an earlier version ran as `nobody`. A process of `nobody` may change the folders
 * meanwhile, so every entry is reached through the descriptor of its folder, and its owner is changed through its own.
 * - `taken`: it belonged to `nobody`, in whole or in part
 * - `in_use`: a postmaster runs on it
 * - `ours`: nothing to do
 * @throws PlimsollError `root_unsupported` naming an entry that only a person can judge, such as a link
 */
export async function takeOver(layout: HomeLayout, user: RunAs): Promise<"taken" | "in_use" | "ours"> {
  const ownerOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.uid;
  if (![layout.data, layout.socket, join(layout.data, LAST)].some((path) => ownerOf(path) === NOBODY)) {
    return "ours";
  }
  if ((await findPostmaster(layout.data)) !== undefined) return "in_use";
  const data = openSync(layout.data, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const before = fstatSync(data);
    // From here on nobody cannot start a postmaster on it, nor change what is in it.
    give(data, before, user);
    if ((await findPostmaster(layout.data)) !== undefined) {
      fchownSync(data, before.uid, before.gid);
      return "in_use";
    }
    if (ownerOf(layout.socket) !== undefined) giveSocket(layout.socket, user);
    const place = { fd: data, path: layout.data, depth: 0 };
    giveEntries(place, user, (name) => name !== LAST);
    giveEntry(place, LAST, user);
  } finally {
    closeSync(data);
  }
  return "taken";
}

function giveSocket(path: string, user: RunAs): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    give(fd, fstatSync(fd), user);
    giveEntries({ fd, path, depth: 0 }, user);
  } finally {
    closeSync(fd);
  }
}

function giveEntries(place: Place, user: RunAs, chosen = (_name: string) => true): void {
  if (place.depth > DEPTH_LIMIT) throw odd(place.path, "lies too deep");
  for (const name of readdirSync(`/proc/self/fd/${place.fd}`)) {
    if (chosen(name)) giveEntry(place, name, user);
  }
}

function giveEntry(place: Place, name: string, user: RunAs): void {
  const path = join(place.path, name);
  const entry = `/proc/self/fd/${place.fd}/${name}`;
  const seen = lstatSync(entry, { throwIfNoEntry: false });
  // A postmaster makes a new socket. What is root's or the user's own stays as it is.
  if (seen === undefined || seen.isSocket() || seen.uid === 0) return;
  if (seen.uid === user.uid && !seen.isDirectory()) return;
  assertPlain(seen, path, user);
  const fd = open(entry, path);
  try {
    const stats = fstatSync(fd);
    assertPlain(stats, path, user);
    if (stats.uid === NOBODY) give(fd, stats, user);
    if (stats.isDirectory()) giveEntries({ fd, path, depth: place.depth + 1 }, user);
  } finally {
    closeSync(fd);
  }
}

function open(entry: string, path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    throw odd(path, `cannot be opened (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** The owner alone has access, as in every cluster. */
function give(fd: number, stats: Stats, user: RunAs): void {
  fchownSync(fd, user.uid, user.gid);
  fchmodSync(fd, stats.mode & 0o700);
}

function assertPlain(stats: Stats, path: string, user: RunAs): void {
  if (stats.isSymbolicLink()) throw odd(path, "is a symbolic link");
  if (!stats.isFile() && !stats.isDirectory()) throw odd(path, "is neither a file nor a folder");
  if (stats.uid !== NOBODY && stats.uid !== user.uid) throw odd(path, `belongs to uid ${stats.uid}`);
  if (stats.isFile() && stats.nlink > 1) throw odd(path, "has a second name (a hard link)");
}

function odd(path: string, why: string): PlimsollError {
  return new PlimsollError(
    "root_unsupported",
    `Plimsoll gives the database to the user plimsoll, and ${path} ${why}.`,
    {
      hint: `Check the entry. If it belongs to the database, run: chown --no-dereference plimsoll: '${path}'. Otherwise remove it. Then start Plimsoll again.`,
    },
  );
}
