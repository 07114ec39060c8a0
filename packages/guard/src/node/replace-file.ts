import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

// Windows has no such flag.
const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants;

export interface ReplaceFileOptions {
  /** Permission bits. By default 0666, narrowed by the umask. */
  mode?: number;
  /** By default the user of this process. Another one needs root. */
  owner?: { uid: number; gid: number };
  /** Runs when the content is on disk under another name. If it throws, the file stays as it was. */
  check?: () => Promise<void>;
  /** Fails with `EEXIST` if there is a file. */
  isNew?: boolean;
}

/**
 * Replaces a file atomically and durably: a reader, or a process after a crash, sees the whole old content or the whole new
 * one. Changes mode and owner by the handle of the new file, and follows no link at `path`. Its folder must exist.
 * @returns what `write` returns
 * @throws the system's errors, such as `ENOENT` and `ENOSPC`; the file is then as it was
 * @example
 * await replaceFile("settings.json", (file) => file.writeFile("{}"), { mode: 0o600 });
 */
export async function replaceFile<T>(
  path: string,
  write: (file: FileHandle) => Promise<T>,
  { mode, owner, check, isNew = false }: ReplaceFileOptions = {},
): Promise<T> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  // Nobody else may open it before it has its mode and owner.
  const file = await open(
    draft,
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
    mode === undefined ? 0o666 : 0o600,
  );
  try {
    let result: T;
    try {
      result = await write(file);
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
      if (mode !== undefined) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await check?.();
    await (isNew ? nameNew(draft, path) : rename(draft, path));
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw error;
  }
}

/** Unlike a rename, a link fails if a file has appeared meanwhile. */
async function nameNew(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    // Some file systems have no hard links. This one leaves the name behind, but no content of another file.
    await (await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)).close();
    return rename(draft, path);
  }
  await unlink(draft);
}

const NO_LINKS = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"]);

/** The new name survives a power failure only if the folder is on disk too. Some systems cannot do this. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY).catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
