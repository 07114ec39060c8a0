import { constants } from "node:fs";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { at, isFields } from "@plimsoll/harnesses/fields";
import { applyEdits, modify } from "jsonc-parser";
import { parseSettings } from "./edit/edit.ts";
import { editJson, removeJson } from "./edit/json.ts";
import { requireSafeFolder } from "./settings-file.ts";

/**
 * Claude Code runs the command of a SessionStart hook after it has read its settings. The bridge installs one that notes the time,
 * which proves that a session has the new line. ConfigChange would not: 2.1.329 runs that hook too, but keeps the line until the
 * session ends.
 */
const EVENT = ["hooks", "SessionStart"] as const;
/** Not after /clear or a compaction, which begin no new process. */
const MATCHER = "startup|resume";
const LARGEST_LOG = 256 * 1024;
// Windows has neither of the last two.
const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

const logOf = (folder: string) => join(folder, "hook.jsonl");

/** The command of the hook. Paths are quoted for a shell. */
export function hookCommand(program: readonly string[], folder: string): string {
  const words = [...program, "bridge", "hook", folder].map((word) => JSON.stringify(word));
  // Claude Code shows the error of a hook whose program is gone.
  return `${words.join(" ")} 2>/dev/null || :`;
}

/** The place of the bridge's entry among the hooks, or undefined if it has none. */
function placeOf(text: string, folder: string): number | undefined {
  const entries = at(parseSettings("json", text), EVENT);
  const mark = JSON.stringify(folder);
  const place = Array.isArray(entries)
    ? entries.findIndex((entry) => commandsOf(entry).some((command) => command.includes(`"hook" ${mark}`)))
    : -1;
  return place < 0 ? undefined : place;
}

function commandsOf(entry: unknown): string[] {
  const hooks = at(entry, ["hooks"]);
  if (!Array.isArray(hooks)) return [];
  return hooks.flatMap((hook) => (isFields(hook) && typeof hook.command === "string" ? [hook.command] : []));
}

export const hasHook = (text: string | undefined, folder: string): boolean =>
  text !== undefined && placeOf(text, folder) !== undefined;

/** Adds the bridge's entry and changes nothing else. */
export function withHook(text: string, program: readonly string[], folder: string): string {
  if (hasHook(text, folder)) return text;
  const entry = { matcher: MATCHER, hooks: [{ type: "command", command: hookCommand(program, folder) }] };
  const entries = at(parseSettings("json", text), EVENT);
  if (!Array.isArray(entries)) return editJson(text, { path: EVENT, value: [entry] });
  return applyEdits(text, modify(text, [...EVENT, entries.length], entry, { isArrayInsertion: true }));
}

/** Removes the bridge's entry, and the groups that are empty without it. */
export function withoutHook(text: string, folder: string): string {
  const place = placeOf(text, folder);
  if (place === undefined) return text;
  let current = removeJson(text, [...EVENT, place]);
  for (const path of [[...EVENT], [EVENT[0]]]) {
    const value = at(parseSettings("json", current), path);
    const isEmpty = Array.isArray(value)
      ? value.length === 0
      : isFields(value) && Object.keys(value).length === 0;
    if (isEmpty) current = editJson(current, { path, value: undefined });
  }
  return current;
}

/** Notes that a session began. Called by the hook, which must never disturb a session: it throws nothing. */
export async function noteHook(folder: string, input: string, now: number): Promise<void> {
  try {
    await requireSafeFolder(folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const log = await open(logOf(folder), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    try {
      if ((await log.stat()).size > LARGEST_LOG) await log.truncate(0);
      await log.appendFile(`${JSON.stringify({ at: now, source: sourceOf(input) })}\n`);
    } finally {
      await log.close();
    }
  } catch {
    // The policy stays received, which is less than what happened but not wrong.
  }
}

function sourceOf(input: string): string | undefined {
  try {
    const source = (JSON.parse(input) as { source?: unknown }).source;
    return typeof source === "string" ? source.slice(0, 64) : undefined;
  } catch {
    return undefined;
  }
}

/** When a hook last noted a session, in epoch ms. */
export async function lastNote(folder: string): Promise<number | undefined> {
  const text = await readFile(logOf(folder), "utf8").catch(() => "");
  const last = text.trimEnd().split("\n").at(-1);
  try {
    const at = (JSON.parse(last ?? "") as { at?: unknown }).at;
    return typeof at === "number" ? at : undefined;
  } catch {
    return undefined;
  }
}
