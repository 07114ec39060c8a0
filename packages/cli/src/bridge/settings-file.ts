import { constants, type Stats } from "node:fs";
import { mkdir, open, realpath, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { replaceFile, rootPath } from "@plimsoll/guard/node";

/** A settings file as it is on disk. */
export interface SettingsText {
  /** Behind symbolic links, so that a link stays a link. */
  realPath: string;
  /** Undefined if there is no file. */
  text: string | undefined;
  /** Permission bits, and the ids of its owner. Undefined if there is no file. */
  access: FileAccess | undefined;
}

type FileAccess = Pick<Stats, "mode" | "uid" | "gid">;

// Windows has neither flag.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** No settings file is this large, in bytes. */
const LARGEST = 4 * 1024 * 1024;
/** How often, and how long apart in ms, a file is read before it counts as empty. */
const EMPTY_TRIES = 5;
const EMPTY_MS = 50;

export const FILE_FAILURES = [
  "too_large",
  "unreadable",
  "not_writable",
  "changed_meanwhile",
  "unsafe_folder",
  "not_editable",
] as const;
export type FileFailure = (typeof FILE_FAILURES)[number];

/** Why a settings file could not be read or written. It is as it was. */
export class SettingsFileError extends Error {
  override readonly name = "SettingsFileError";
  readonly reason: FileFailure;

  constructor(reason: FileFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** @throws {SettingsFileError} `too_large` or `unreadable` */
export async function readSettingsFile(path: string): Promise<SettingsText> {
  const realPath = await behindLinks(path);
  let found = await readOnce(path, realPath);
  // An editor that does not replace the file empties it first.
  for (let tries = 0; found.text === "" && tries < EMPTY_TRIES; tries += 1) {
    await pause(EMPTY_MS);
    found = await readOnce(path, realPath);
  }
  return found;
}

/** Neither follows a link that has appeared at `realPath` nor waits for the writer of a FIFO. */
async function readOnce(path: string, realPath: string): Promise<SettingsText> {
  try {
    const file = await open(realPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new SettingsFileError("unreadable", `${path} is not a regular file.`);
      if (stats.size > LARGEST)
        throw new SettingsFileError(
          "too_large",
          `${path} has ${stats.size} bytes, more than the ${LARGEST} that a settings file may have.`,
        );
      const { uid, gid } = stats;
      const text = utf8(await file.readFile());
      if (text === undefined) throw new SettingsFileError("unreadable", `${path} is not UTF-8 text.`);
      return { realPath, text, access: { mode: stats.mode & 0o777, uid, gid } };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SettingsFileError) throw error;
    if (codeOf(error) === "ENOENT") return { realPath, text: undefined, access: undefined };
    throw new SettingsFileError("unreadable", `${path} cannot be read (${codeOf(error)}).`, error);
  }
}

/** Undefined for bytes that no text has, which a write would change. */
function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A dangling link names the file to create. */
async function behindLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const folder = await realpath(dirname(path)).catch(() => dirname(path));
    return join(folder, basename(path));
  }
}

/** A key of Plimsoll, as in `access/key-format.ts` of the server. */
const KEY = /\bplim_[0-9A-Za-z]/;

/** Permission bits of a file with this text: only its owner may read a key. */
export const modeFor = (text: string, mode: number): number => (KEY.test(text) ? mode & 0o700 : mode);

/**
 * Replaces a settings file in one step, or removes it if `text` is undefined. Keeps its owner, and its mode unless the text holds
 * a key. A reader sees the whole old text or the whole new one.
 * @param before as it was read: a file that changed since is not overwritten
 * @param mode permission bits in place of those it has
 * @throws {SettingsFileError} `changed_meanwhile`, `not_writable` or `unsafe_folder`
 */
export async function replaceSettingsFile(
  before: SettingsText,
  text: string | undefined,
  mode?: number,
): Promise<void> {
  const { realPath } = before;
  const folder = dirname(realPath);
  await requireSafeFolder(folder);
  const check = () => assertUnchanged(before);
  try {
    const access = await check();
    if (text === undefined) return await rm(realPath, { force: true });
    assertWritable({ realPath, access });
    await mkdir(folder, { recursive: true });
    const isOwn =
      access === undefined || (access.uid === process.getuid?.() && access.gid === process.getgid?.());
    await replaceFile(realPath, (file) => file.writeFile(text), {
      mode: modeFor(text, mode ?? access?.mode ?? 0o600),
      ...(!isOwn && { owner: access }),
      check: async () => void (await check()),
    });
  } catch (error) {
    if (error instanceof SettingsFileError) throw error;
    throw new SettingsFileError("not_writable", `${realPath} cannot be written (${codeOf(error)}).`, error);
  }
}

/**
 * A read-only file says that its owner wants no changes, although the folder would allow a rename.
 * @throws {SettingsFileError} `not_writable`
 */
export function assertWritable({ realPath, access }: Pick<SettingsText, "realPath" | "access">): void {
  if (access !== undefined && (access.mode & 0o222) === 0)
    throw new SettingsFileError("not_writable", `${realPath} is read-only.`);
}

/**
 * As root, changes nothing in a folder that another user can replace with a link meanwhile.
 * @throws {SettingsFileError} `unsafe_folder`
 */
export async function requireSafeFolder(folder: string): Promise<void> {
  const found = await rootPath(folder);
  if (found.is === "trusted") return;
  throw new SettingsFileError(
    "unsafe_folder",
    `As root, Plimsoll writes only where no other user can change the path. ${found.part} ${found.why}. Run the command as that user.`,
  );
}

/** Returns the access of the file now. */
async function assertUnchanged({ realPath, text }: SettingsText): Promise<FileAccess | undefined> {
  const now = await readOnce(realPath, realPath);
  if (now.text === text) return now.access;
  throw new SettingsFileError("changed_meanwhile", `${realPath} was changed while Plimsoll worked on it.`);
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException)?.code ?? String(error);
