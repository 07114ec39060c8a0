import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** A settings file as it is on disk. */
export interface SettingsText {
  /** Behind symbolic links, so that a link stays a link. */
  realPath: string;
  /** Undefined if there is no file. */
  text: string | undefined;
}

/** No settings file is this large, in bytes. */
const LARGEST = 4 * 1024 * 1024;
/** How often, and how long apart in ms, a file is read before it counts as empty. */
const EMPTY_TRIES = 5;
const EMPTY_MS = 50;

export const FILE_FAILURES = ["too_large", "unreadable", "not_writable", "changed_meanwhile"] as const;
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
  try {
    const { size } = await stat(realPath);
    if (size > LARGEST)
      throw new SettingsFileError(
        "too_large",
        `${path} has ${size} bytes, more than the ${LARGEST} that a settings file may have.`,
      );
    let text = await readFile(realPath, "utf8");
    // An editor that does not replace the file empties it first.
    for (let tries = 0; text === "" && tries < EMPTY_TRIES; tries += 1) {
      await pause(EMPTY_MS);
      text = await readFile(realPath, "utf8");
    }
    return { realPath, text };
  } catch (error) {
    if (error instanceof SettingsFileError) throw error;
    if (codeOf(error) === "ENOENT") return { realPath, text: undefined };
    throw new SettingsFileError("unreadable", `${path} cannot be read (${codeOf(error)}).`, error);
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

/**
 * Replaces a settings file in one step, or removes it if `text` is undefined. Keeps its mode and owner. A reader sees the whole
 * old text or the whole new one.
 * @param before as it was read: a file that changed since is not overwritten
 * @throws {SettingsFileError} `changed_meanwhile` or `not_writable`
 */
export async function replaceSettingsFile(
  { realPath, text: before }: SettingsText,
  text: string | undefined,
): Promise<void> {
  const draft = join(dirname(realPath), `.${basename(realPath)}.${randomBytes(6).toString("hex")}.plimsoll`);
  try {
    if (text === undefined) {
      await assertUnchanged(realPath, before);
      await rm(realPath, { force: true });
      return;
    }
    await mkdir(dirname(realPath), { recursive: true });
    await writeDraft(draft, text, realPath);
    await assertUnchanged(realPath, before);
    await rename(draft, realPath);
    await syncFolder(dirname(realPath));
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    if (error instanceof SettingsFileError) throw error;
    throw new SettingsFileError("not_writable", `${realPath} cannot be written (${codeOf(error)}).`, error);
  }
}

async function writeDraft(draft: string, text: string, target: string): Promise<void> {
  const old = await stat(target).catch(() => undefined);
  // A read-only file says that its owner wants no changes, although the folder would allow a rename.
  if (old !== undefined && (old.mode & 0o222) === 0)
    throw new SettingsFileError("not_writable", `${target} is read-only.`);
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  if (old === undefined) return;
  await chmod(draft, old.mode & 0o7777);
  if (old.uid !== process.getuid?.() || old.gid !== process.getgid?.()) await chown(draft, old.uid, old.gid);
}

async function assertUnchanged(path: string, before: string | undefined): Promise<void> {
  const now = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (now !== before)
    throw new SettingsFileError("changed_meanwhile", `${path} was changed while Plimsoll worked on it.`);
}

/** Makes the rename survive a power loss. Windows cannot open a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException)?.code ?? String(error);
