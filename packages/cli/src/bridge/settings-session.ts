import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Fields, HarnessAdapter } from "@plimsoll/harnesses/bridge";
import { at, pathText, withChanges } from "@plimsoll/harnesses/fields";
import { editSettings, parseSettings, UnsafeEdit } from "./edit/edit.ts";
import type { KeyEdit } from "./edit/key-edit.ts";
import {
  backUp,
  backUpBeside,
  type ChangedKey,
  type DriftedKey,
  depthOf,
  driftedKeys,
  emptyGroups,
  hashOf,
  type Journal,
  type Keeper,
  readJournal,
  removeJournal,
  stateFolder,
  undoEdits,
  writeJournal,
} from "./journal.ts";
import {
  modeFor,
  readSettingsFile,
  replaceSettingsFile,
  SettingsFileError,
  type SettingsText,
} from "./settings-file.ts";

/** Whose settings they are, and in which format. */
type SettingsOwner = Pick<HarnessAdapter, "family" | "format">;

/** A settings file with what a command wrote into it. */
export interface SettingsReading {
  keeper: Keeper;
  file: SettingsText;
  /** Where the record of the bridge is. */
  folder: string;
  journal: Journal | undefined;
  settings: Fields;
  /** The settings as they would be without the bridge. */
  own: Fields;
  drifted: readonly DriftedKey[];
}

/**
 * Reads a settings file and the record of a command's changes.
 * @throws {SettingsFileError} or {UnreadableSettings}
 */
export async function readSettings(
  adapter: SettingsOwner,
  path: string,
  home: string,
  keeper: Keeper = "bridge",
): Promise<SettingsReading> {
  const file = await readSettingsFile(path);
  const folder = stateFolder(home, adapter.family, file.realPath, keeper);
  const journal = await readJournal(folder);
  const settings = parseSettings(adapter.format, file.text ?? "");
  return {
    keeper,
    file,
    folder,
    journal,
    settings,
    own: withChanges(settings, undoEdits(journal, settings)),
    drifted: driftedKeys(journal, settings),
  };
}

/** What a write would change. */
export interface SettingsEdit {
  text: string;
  edits: readonly KeyEdit[];
  entries: readonly ChangedKey[];
}

/**
 * The edits that bring the settings to what a plan wants. A key that the plan no longer sets gets the person's value back.
 * @param putBack whether keys that somebody changed are set again
 */
export function editFor(
  adapter: Pick<SettingsOwner, "format">,
  { file, journal, settings, own, drifted }: SettingsReading,
  changes: readonly KeyEdit[],
  putBack: boolean,
): SettingsEdit {
  const isDrifted = (path: readonly string[]) => drifted.some((key) => isDeepStrictEqual(key.path, path));
  const wanted = changes.filter(({ path }) => putBack || !isDrifted(path));
  const target = withChanges(own, wanted);
  const known = journal?.entries ?? [];
  const paths = new Map([...known, ...wanted].map(({ path }) => [JSON.stringify(path), path]));
  const edits: KeyEdit[] = [];
  const entries: ChangedKey[] = [];
  for (const path of paths.values()) {
    const entry = known.find((one) => isDeepStrictEqual(one.path, path));
    const [found, value] = [at(settings, path), at(target, path)];
    const isWanted = wanted.some((change) => isDeepStrictEqual(change.path, path));
    if (!isWanted && entry !== undefined && isDrifted(path)) {
      entries.push(entry);
      continue;
    }
    if (!isDeepStrictEqual(found, value)) edits.push({ path, value });
    if (isWanted) entries.push(changedKey(path, entry, own, settings, value, found));
  }
  return { text: editedText(adapter, file, edits), edits, entries };
}

/** @throws {SettingsFileError} `not_editable`, with what a person can change by hand */
export function editedText(
  { format }: Pick<SettingsOwner, "format">,
  { realPath, text = "" }: SettingsText,
  edits: readonly KeyEdit[],
): string {
  try {
    return editSettings(format, text, edits);
  } catch (error) {
    if (!(error instanceof UnsafeEdit)) throw error;
    const lines = edits.map(({ path, value }) =>
      value === undefined ? `- ${pathText({ path })}` : `+ ${pathText({ path })} = ${JSON.stringify(value)}`,
    );
    throw new SettingsFileError(
      "not_editable",
      `${realPath} cannot be edited safely and was not changed: ${error.message} Change it by hand:\n${lines.join("\n")}`,
      error,
    );
  }
}

function changedKey(
  path: readonly string[],
  entry: ChangedKey | undefined,
  own: Fields,
  settings: Fields,
  after: unknown,
  previous: unknown,
): ChangedKey {
  // Somebody may have added to a list since.
  const before = entry === undefined || Array.isArray(after) ? at(own, path) : entry.before;
  return {
    path: [...path],
    after,
    depth: entry?.depth ?? depthOf(settings, path),
    ...(before !== undefined && { before }),
    ...(previous !== undefined && { previous }),
  };
}

/**
 * Writes an edit. The record comes first, so that a kill between the two writes loses nothing.
 * @param mode permission bits of a new file, in place of those that let only its owner read it
 * @throws {SettingsFileError}
 */
export async function writeEdit(
  adapter: Pick<SettingsOwner, "family">,
  { keeper, file, folder, journal }: SettingsReading,
  { text, edits, entries }: SettingsEdit,
  now: number,
  mode?: number,
): Promise<void> {
  const isFirst = journal === undefined;
  if (isFirst && edits.length === 0 && entries.length === 0) return;
  const record: Journal = {
    version: 1,
    family: adapter.family,
    path: file.realPath,
    existed: journal?.existed ?? file.text !== undefined,
    mode: journal === undefined ? file.access?.mode : journal.mode,
    backup:
      journal?.backup ??
      (isFirst && file.text !== undefined ? await backUpFor(keeper, folder, file, file.text, now) : null),
    hashes: hashesOf(journal, file, text),
    entries: [...entries],
    pending: edits.length > 0,
    at: edits.length > 0 ? now : (journal?.at ?? now),
  };
  try {
    await writeJournal(folder, record);
    if (edits.length === 0) return;
    await replaceSettingsFile(file, text, file.text === undefined ? mode : undefined);
  } catch (error) {
    // The settings are as they were, so the record must be too.
    if (journal === undefined) {
      await removeJournal(folder).catch(() => {});
      if (record.backup !== null) await rm(resolve(folder, record.backup), { force: true });
    } else await writeJournal(folder, journal).catch(() => {});
    throw error;
  }
  await writeJournal(folder, { ...record, pending: false });
}

/** Undefined once somebody else has edited the file: its first text is then not what an undo should bring back. */
function hashesOf(journal: Journal | undefined, file: SettingsText, text: string): Journal["hashes"] {
  const now = file.text === undefined ? null : hashOf(file.text);
  if (journal === undefined) return { before: now, written: hashOf(text) };
  return journal.hashes && journal.hashes.written === now
    ? { ...journal.hashes, written: hashOf(text) }
    : undefined;
}

/** A person who connects a harness finds the copy beside the file. */
const backUpFor = (
  keeper: Keeper,
  folder: string,
  { realPath }: SettingsText,
  text: string,
  now: number,
): Promise<string> =>
  keeper === "connect" ? backUpBeside(realPath, text, now) : backUp(folder, realPath, text, now);

/** Undefined if somebody has changed the mode since a key tightened it. */
const modeBefore = ({ mode }: Journal, { text = "", access }: SettingsText): number | undefined =>
  mode !== undefined && access?.mode === modeFor(text, mode) ? mode : undefined;

/** The text from before the first change, if nobody has edited the file or its copy since. */
async function originalText(
  folder: string,
  { hashes, backup }: Journal,
  text: string | undefined,
): Promise<string | undefined> {
  if (hashes?.before == null || backup === null || text === undefined || hashOf(text) !== hashes.written)
    return undefined;
  const copy = await readSettingsFile(resolve(folder, backup)).catch(() => undefined);
  return copy?.text !== undefined && hashOf(copy.text) === hashes.before ? copy.text : undefined;
}

/** What an undo did. */
export interface UndoResult {
  restored: readonly KeyEdit[];
  /** Keys that somebody changed since; they are as that person left them. */
  kept: readonly DriftedKey[];
  /** Whether the file was removed, because the bridge had created it. */
  removed: boolean;
}

/**
 * Puts back the keys that the bridge changed. Other edits stay.
 * @throws {SettingsFileError} or {UnreadableSettings}
 */
export async function undo(
  adapter: Pick<SettingsOwner, "format">,
  reading: SettingsReading,
): Promise<UndoResult | undefined> {
  const { file, folder, journal, settings, drifted } = reading;
  if (journal === undefined) return undefined;
  const restored = undoEdits(journal, settings);
  const groups = emptyGroups(journal, withChanges(settings, restored));
  const original = await originalText(folder, journal, file.text);
  const text = original ?? editedText(adapter, file, [...restored, ...groups]);
  const removed =
    !journal.existed &&
    file.text !== undefined &&
    Object.keys(parseSettings(adapter.format, text)).length === 0;
  if (file.text !== undefined && (removed || text !== file.text))
    await replaceSettingsFile(file, removed ? undefined : text, modeBefore(journal, file));
  await removeJournal(folder);
  return { restored, kept: drifted, removed };
}
