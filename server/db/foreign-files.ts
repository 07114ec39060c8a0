import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, lchown, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { PlimsollError } from "../errors.ts";
import { type RunAs, SYSTEM_ENVIRONMENT } from "./database-user.ts";

/** Files in folders that the database's user may change while we look at them. */

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0 } = constants;
/** Bytes; PostgreSQL's own small files are far below. */
const MOST_BYTES = 64 * 1024;

/**
 * The text of a small regular file. Follows no link, and waits for no pipe.
 * @returns undefined if there is none, or something else is in its place
 */
export async function readSmallFile(path: string): Promise<string | undefined> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = (await file.stat()).isFile()
      ? await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0)
      : { buffer: Buffer.alloc(0), bytesRead: 0 };
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Renames a file in a folder of the database's user, as that user. */
export async function renameAs(runAs: RunAs | undefined, from: string, to: string): Promise<void> {
  if (runAs === undefined) return rename(from, to);
  await runTool("/bin/mv", ["-T", "--", from, to], runAs);
}

/** Deletes what is in a folder of the database's user, and the folder if it is then empty, as far as that user may. */
export async function emptyAs(runAs: RunAs | undefined, folder: string): Promise<void> {
  if (runAs === undefined) return rm(folder, { recursive: true, force: true });
  await runTool("/bin/rm", ["-rf", "--", folder], runAs).catch(() => {});
}

/** As another user than root, a link in the way leads to nothing that this user may not change anyway. */
function runTool(program: string, args: string[], runAs: RunAs): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...runAs, cwd: "/", env: SYSTEM_ENVIRONMENT, stdio: "ignore" });
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${program} exited with ${code}`)),
    );
  });
}

/**
 * Gives a folder with everything in it from one user to another. Its owner may change it meanwhile, so each entry is opened
 * through the descriptor of its folder and given away by its own descriptor, and only if it belongs to the owner.
 * @throws PlimsollError `data_folder_unwritable` if there is an entry of somebody else, or one with several names
 */
export async function giveTree(path: string, from: number, to: RunAs): Promise<void> {
  const folder = await open(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
  try {
    await giveFolder(folder, path, from, to);
  } finally {
    await folder.close();
  }
}

async function giveFolder(folder: FileHandle, path: string, from: number, to: RunAs): Promise<void> {
  const { uid } = await folder.stat();
  if (uid === to.uid) return;
  if (uid !== from) throw odd(path);
  const pinned = `/proc/self/fd/${folder.fd}`;
  for (const name of await readdir(pinned)) await giveEntry(`${pinned}/${name}`, `${path}/${name}`, from, to);
  // The folder itself comes last: an interrupted walk is taken up again from the top.
  await folder.chown(to.uid, to.gid);
}

async function giveEntry(pinned: string, path: string, from: number, to: RunAs): Promise<void> {
  const entry = await lstat(pinned);
  if (entry.uid === to.uid && !entry.isDirectory()) return;
  if (!entry.isFile() && !entry.isDirectory()) {
    // A link or a socket: changing the owner of the link itself leads nowhere else.
    if (entry.uid !== from) throw odd(path);
    return lchown(pinned, to.uid, to.gid);
  }
  const handle = await open(pinned, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const opened = await handle.stat();
    if (opened.isDirectory()) return await giveFolder(handle, path, from, to);
    if (opened.uid !== from || opened.nlink !== 1 || !opened.isFile()) throw odd(path);
    await handle.chown(to.uid, to.gid);
  } finally {
    await handle.close();
  }
}

const odd = (path: string) =>
  new PlimsollError(
    "data_folder_unwritable",
    `The data folder cannot be given to the user that PostgreSQL now runs as: ${path} belongs to somebody else, or has a second name.`,
    { hint: "Remove the file if PostgreSQL did not make it, or restore the data folder from a backup." },
  );
