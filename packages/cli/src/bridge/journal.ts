import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { replaceFile } from "@plimsoll/guard/node";
import type { Fields } from "@plimsoll/harnesses/bridge";
import { at, isFields } from "@plimsoll/harnesses/fields";
import { z } from "zod";
import type { KeyEdit } from "./edit/key-edit.ts";
import { requireSafeFolder } from "./settings-file.ts";

/** A key that the bridge set. `before` and `previous` are absent if the key was. */
const ChangedKey = z.object({
  path: z.array(z.string()).min(1),
  /** The value of the person. */
  before: z.unknown().optional(),
  /** Absent if the key was removed. */
  after: z.unknown().optional(),
  /** The value until the write that is under way. */
  previous: z.unknown().optional(),
  /** How many names of the path existed before. Undo removes the groups that the bridge created. */
  depth: z.number().int().nonnegative(),
});
export type ChangedKey = z.infer<typeof ChangedKey>;

const Journal = z.object({
  version: z.literal(1),
  family: z.string(),
  /** The settings file. */
  path: z.string(),
  /** Whether the file existed before the first change. */
  existed: z.boolean(),
  /** Permission bits of the file before the first change. Absent if there was no file. */
  mode: z.number().int().optional(),
  /** A copy of the file from before the first change: its name in the folder of the journal, or its path. */
  backup: z.string().nullable(),
  /** Of the text before the first change, null if there was none, and after the last one. */
  hashes: z.object({ before: z.string().nullable(), written: z.string() }).optional(),
  entries: z.array(ChangedKey),
  /** A write began and may not have ended. */
  pending: z.boolean(),
  /** Epoch ms of the last write. */
  at: z.number(),
});
export type Journal = z.infer<typeof Journal>;

/** A key with another value than the bridge wrote. */
export interface DriftedKey {
  path: readonly string[];
  written: unknown;
  /** Undefined if the key was removed. */
  found: unknown;
}

/** Which command changes settings. Each has a record of its own, so that one can be undone without the other. */
export type Keeper = "bridge" | "connect";

/** Where a command keeps what it knows of one settings file. */
export function stateFolder(
  home: string,
  family: string,
  realPath: string,
  keeper: Keeper = "bridge",
): string {
  return join(home, keeper, `${family}-${hashOf(realPath).slice(0, 12)}`);
}

export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** @returns undefined if the bridge changed nothing, or its record is damaged */
export async function readJournal(folder: string): Promise<Journal | undefined> {
  const text = await readFile(join(folder, "journal.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return Journal.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Writes the record before the settings are changed, so that a killed bridge can still undo. */
export const writeJournal = (folder: string, journal: Journal): Promise<void> =>
  writeRecordFile(folder, "journal.json", journal);

/**
 * Replaces a file of Plimsoll's own with JSON that only its owner can read, and makes its folder.
 * @throws {SettingsFileError} `unsafe_folder`
 */
export async function writeRecordFile(folder: string, name: string, value: unknown): Promise<void> {
  await requireSafeFolder(folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(value, null, 2)}\n`;
  await replaceFile(join(folder, name), (file) => file.writeFile(text), { mode: 0o600 });
}

export async function removeJournal(folder: string): Promise<void> {
  await rm(join(folder, "journal.json"), { force: true });
}

/** Copies the file from before the first change. It may hold secrets, so only its owner can read the copy. */
export async function backUp(folder: string, realPath: string, text: string, now: number): Promise<string> {
  await requireSafeFolder(folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return basename(await writeCopy(join(folder, `backup-${stampOf(now)}-${basename(realPath)}`), "", text));
}

/** The same beside the file. Returns its path. */
export async function backUpBeside(realPath: string, text: string, now: number): Promise<string> {
  await requireSafeFolder(dirname(realPath));
  return writeCopy(`${realPath}.${stampOf(now)}`, ".backup", text);
}

/** Writes a file under a name that nothing has. */
async function writeCopy(start: string, end: string, text: string): Promise<string> {
  for (let number = 0; ; number += 1) {
    const path = `${start}${number === 0 ? "" : `-${number}`}${end}`;
    try {
      await replaceFile(path, (file) => file.writeFile(text), { mode: 0o600, isNew: true });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

const stampOf = (now: number) => new Date(now).toISOString().replaceAll(":", "");

/** Whether the bridge's value is there. A write that was under way may not have happened. */
function holds(entry: ChangedKey, settings: Fields, pending: boolean): boolean {
  const found = at(settings, entry.path);
  if (isDeepStrictEqual(found, entry.after) || (pending && isDeepStrictEqual(found, entry.previous)))
    return true;
  const added = addedElements(entry);
  return Array.isArray(found) && added.length > 0 && added.every((element) => includes(found, element));
}

const includes = (list: readonly unknown[], element: unknown) =>
  list.some((one) => isDeepStrictEqual(one, element));

/** What a write added to a list of objects. Others may add and remove theirs without changing it. */
function addedElements({ before = [], after }: ChangedKey): readonly unknown[] {
  if (!Array.isArray(before) || !Array.isArray(after)) return [];
  return after.filter((element) => isFields(element) && !includes(before, element));
}

/** The value of a person at a key: what was there before, and in a list also what was added since. */
function ownValue(entry: ChangedKey, settings: Fields): unknown {
  const found = at(settings, entry.path);
  const added = addedElements(entry);
  if (!Array.isArray(found) || added.length === 0 || isDeepStrictEqual(found, entry.after))
    return entry.before;
  const left = found.filter((element) => !includes(added, element));
  if (left.length > 0) return left;
  return entry.before === undefined ? undefined : [];
}

/** Keys that somebody else changed after the bridge wrote them. */
export function driftedKeys(journal: Journal | undefined, settings: Fields): DriftedKey[] {
  return (journal?.entries ?? [])
    .filter((entry) => !holds(entry, settings, journal!.pending))
    .map(({ path, after }) => ({ path, written: after, found: at(settings, path) }));
}

/** The edits that put back what was there before the bridge, except for keys that somebody changed since. */
export function undoEdits(journal: Journal | undefined, settings: Fields): KeyEdit[] {
  return (journal?.entries ?? [])
    .filter((entry) => holds(entry, settings, journal!.pending))
    .map((entry) => ({ path: entry.path, value: ownValue(entry, settings) }))
    .filter(({ path, value }) => !isDeepStrictEqual(at(settings, path), value));
}

/** The groups that only the bridge needed and that are empty after an undo, innermost first. */
export function emptyGroups(journal: Journal, settings: Fields): KeyEdit[] {
  const edits = new Map<string, KeyEdit>();
  for (const { path, depth } of journal.entries) {
    for (let length = path.length - 1; length > depth; length -= 1) {
      const group = path.slice(0, length);
      const value = at(settings, group);
      const isEmpty =
        isFields(value) && Object.keys(value).every((name) => edits.has(JSON.stringify([...group, name])));
      if (isEmpty) edits.set(JSON.stringify(group), { path: group, value: undefined });
    }
  }
  return [...edits.values()];
}

/** How many names of a path are in the settings. */
export function depthOf(settings: Fields, path: readonly string[]): number {
  let depth = 0;
  while (depth < path.length && at(settings, path.slice(0, depth + 1)) !== undefined) depth += 1;
  return depth;
}
