import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, lstat, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../errors.ts";

/**
 * Writes a file that only this user can read, and gives it its name once it is whole and on disk. Never writes through a
 * link: what is at the path is kept, or replaced with `force`.
 * @throws CliError if there is a file and `force` is not given, or if the file cannot be written
 */
export async function writeNewFile<T>(
  path: string,
  { force }: { force: boolean },
  write: (file: FileHandle) => Promise<T>,
): Promise<T> {
  await requireFree(path, force);
  const part = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.partial`);
  try {
    // Also refuses a link that somebody put there.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const file = await open(part, flags, 0o600);
    let result: T;
    try {
      result = await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await name(part, path, force);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    await unlink(part).catch(() => {});
    throw explain(path, error);
  }
}

async function requireFree(path: string, force: boolean): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there?.isDirectory()) throw new CliError(`${path} is a folder. Name a file.`);
  if (there !== undefined && !force) throw exists(path);
}

async function name(part: string, path: string, force: boolean): Promise<void> {
  if (force) return rename(part, path);
  try {
    // Unlike rename, it fails if a file has appeared meanwhile.
    await link(part, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw exists(path);
    // Some file systems have no hard links.
    await requireFree(path, force);
    return rename(part, path);
  }
  await unlink(part);
}

/** The new name survives a power cut only if the folder is on disk too. Some systems cannot do this. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY).catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}

const exists = (path: string) =>
  new CliError(`${path} already exists.`, { hint: "Name another file, or replace it with --force." });

const REASONS: Record<string, string> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file is too large for this disk",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the disk is read-only",
  ENOENT: "the folder does not exist",
  ENOTDIR: "the folder does not exist",
};

function explain(path: string, error: unknown): unknown {
  const reason = REASONS[codeOf(error) ?? ""];
  return reason === undefined ? error : new CliError(`Cannot write ${path}: ${reason}.`, { cause: error });
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
