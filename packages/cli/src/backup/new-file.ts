import { type FileHandle, lstat } from "node:fs/promises";
import { replaceFile } from "@plimsoll/guard/node";
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
  try {
    return await replaceFile(path, write, { mode: 0o600, isNew: !force });
  } catch (error) {
    throw codeOf(error) === "EEXIST" ? exists(path) : explain(path, error);
  }
}

async function requireFree(path: string, force: boolean): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there?.isDirectory()) throw new CliError(`${path} is a folder. Name a file.`);
  if (there !== undefined && !force) throw exists(path);
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
