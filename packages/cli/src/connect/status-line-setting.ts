import { isDeepStrictEqual } from "node:util";
import type { Fields } from "@plimsoll/harnesses/bridge";
import type { HarnessSetting } from "@plimsoll/harnesses/connect";
import { at, isFields, textAt, withChanges } from "@plimsoll/harnesses/fields";
import { driftedKeys, type Journal, undoEdits } from "../bridge/journal.ts";
import type { SettingsReading } from "../bridge/settings-session.ts";

const PATH = ["statusLine"];
/** Flags that a person adds to the command. */
const FLAGS = /(?<=plimsoll\.js'? statusline)(?: --(?:quota|cache))+/;

/** A reading in which a status line with other flags is still the one that was written. */
export function withStatusLineFlags(reading: SettingsReading): SettingsReading {
  const { journal, settings } = reading;
  const found = at(settings, PATH);
  const entry = journal?.entries.find(({ path }) => isDeepStrictEqual(path, PATH));
  if (journal === undefined || entry === undefined) return reading;
  if (!isDeepStrictEqual(withoutFlags(entry.after), withoutFlags(found))) return reading;
  const entries = journal.entries.map((one) => (one === entry ? { ...entry, after: found } : one));
  const known = { ...journal, entries };
  const own = withChanges(settings, undoEdits(known, settings));
  return { ...reading, journal: known, own, drifted: driftedKeys(known, settings) };
}

function withoutFlags(line: unknown): unknown {
  const command = textAt(line, ["command"])?.replace(FLAGS, "");
  return isFields(line) ? { ...line, command } : line;
}

/** Whether Plimsoll's status line is in the settings, and nobody changed it. */
export function hasStatusLine(journal: Journal | undefined, settings: Fields): boolean {
  const entry = journal?.entries.find(({ path }) => isDeepStrictEqual(path, PATH));
  return entry !== undefined && isDeepStrictEqual(entry.after, at(settings, PATH));
}

/**
 * The status line of Claude Code with the level. It runs a command that was there, and shows its output first.
 * @param program how the command line is started
 */
export function statusLineSetting(
  program: readonly string[],
  journal: Journal | undefined,
  settings: Fields,
): HarnessSetting {
  const entry = journal?.entries.find(({ path }) => isDeepStrictEqual(path, PATH));
  const own = hasStatusLine(journal, settings) ? entry?.before : at(settings, PATH);
  const old = textAt(own, ["command"]);
  const [flags = ""] = FLAGS.exec(textAt(entry?.after, ["command"]) ?? "") ?? [];
  const words = [
    ...[...program, "statusline", ...flags.split(" ").filter(Boolean)],
    ...(old === undefined ? [] : ["--wrap", old]),
  ];
  return {
    path: PATH,
    value: { ...(isFields(own) ? own : {}), type: "command", command: shellCommand(words) },
    mode: "wrap",
  };
}

/**
 * A command for `sh`; on Windows, Claude Code runs the command with Git Bash. It ends silently and with 0 when the program is gone:
 * a harness shows what a hook writes, and may stop at its exit code.
 */
export const shellCommand = (words: readonly string[]) => `${words.map(quoted).join(" ")} 2>/dev/null || :`;

export const quoted = (word: string) =>
  /^[\w./@:+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
