import { isDeepStrictEqual } from "node:util";
import type { Fields } from "@plimsoll/harnesses/bridge";
import type { ConnectableHarness, HarnessFile, HarnessSetting } from "@plimsoll/harnesses/connect";
import { at, isFields, searchText, textAt, withChanges } from "@plimsoll/harnesses/fields";
import type { KeyEdit } from "../bridge/edit/key-edit.ts";
import { withoutCommands } from "./hook-settings.ts";

/** Values that one file can name; more are no work of `connect`. */
const MOST_NAMED = 4;

/** What the settings of a connection say about it. */
export interface ConnectionTraces {
  keys: readonly string[];
  /** Base URLs of servers and forwarders. */
  urls: readonly string[];
  hosts: readonly string[];
}

/** @param settings of all files of a harness */
export function tracesIn(settings: readonly Fields[], host: string): ConnectionTraces {
  const text = searchText(settings);
  const named = (pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([, found]) => found!))].slice(0, MOST_NAMED);
  const hosts = [...named(/host\.name=([^",\\]+)/g), ...named(/plimsoll\.harness=\w+(?:%40|@)([^",\\]+)/g)];
  return {
    keys: named(/(plim_\w+)/g),
    urls: named(/(https?:\/\/[^\s"'\\]+?)\/otlp\b/g),
    hosts: [...new Set([host, ...hosts.map(decoded)])],
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The edits that take out of a file what `connect` wrote, by its values alone: for a connection whose record is gone. What a
 * person may have set alike stays.
 */
export function leftoverEdits(
  harness: Pick<ConnectableHarness, "family" | "files">,
  id: HarnessFile["id"],
  settings: Fields,
  { keys, urls, hosts }: ConnectionTraces,
  folder: string,
): KeyEdit[] {
  const isReported = keys.length > 0 || urls.length > 0;
  const wanted = isReported
    ? [...keys, ""].flatMap((key) =>
        [...urls, ""].flatMap((url) => hosts.flatMap((host) => harness.files({ url, key, host, folder }))),
      )
    : [];
  const edits = new Map<string, KeyEdit>();
  const set = (edit: KeyEdit) => edits.set(JSON.stringify(edit.path), edit);
  for (const file of wanted.filter((one) => one.id === id)) {
    for (const setting of file.settings) {
      const found = at(settings, setting.path);
      const value = without(setting, found);
      if (value !== found) set({ path: setting.path, value });
    }
  }
  if (id === "profile") {
    const value = textAt(settings, [harness.family]);
    if (value?.includes(`connect/${harness.family}.env`)) set({ path: [harness.family], value: undefined });
  }
  if (id === "settings") for (const edit of ownCommands(harness.family, settings)) set(edit);
  return withEmptyGroups([...edits.values()], settings);
}

/** The value without what is Plimsoll's; the same one if nothing is. */
function without({ value, mode }: HarnessSetting, found: unknown): unknown {
  const isOurs = isDeepStrictEqual(found, value);
  if (mode === "add" && typeof found === "string") {
    const parts = found.split(",");
    const left = parts.filter((part) => part.trim() !== value);
    return left.length === parts.length ? found : left.join(",") || undefined;
  }
  // A time limit of exports is a setting that nobody else writes like this.
  const isKept = mode === "keep" && !/^\d+$/.test(String(value));
  return isOurs && !isKept ? undefined : found;
}

/** The edits that take out the commands of hooks and the status line. */
export const commandEdits = (family: string, settings: Fields): KeyEdit[] =>
  withEmptyGroups(ownCommands(family, settings), settings);

function ownCommands(family: string, settings: Fields): KeyEdit[] {
  const hooks = at(settings, ["hooks"]);
  const edits = Object.entries(isFields(hooks) ? hooks : {}).flatMap(([event, groups]): KeyEdit[] => {
    if (!Array.isArray(groups)) return [];
    const left = withoutCommands(groups, (command) => command.includes(` hook ${family} --connection `));
    if (isDeepStrictEqual(left, groups)) return [];
    return [{ path: ["hooks", event], value: left.length > 0 ? left : undefined }];
  });
  const line = at(settings, ["statusLine"]);
  const [, wrapped] = STATUS_LINE.exec(textAt(line, ["command"]) ?? "") ?? [];
  if (wrapped === undefined) return edits;
  const own = wrapped.replace(/^ --wrap /, "");
  const command = own.startsWith("'") ? own.slice(1, -1).replaceAll("'\\''", "'") : own;
  const value = command === "" ? undefined : { ...(isFields(line) ? line : {}), command };
  return [...edits, { path: ["statusLine"], value }];
}

const STATUS_LINE = /plimsoll\.js'? statusline(?: --(?:quota|cache))*((?: --wrap .+)?) 2>\/dev\/null \|\| :$/;

/** A group that holds nothing afterwards goes too. */
function withEmptyGroups(edits: readonly KeyEdit[], settings: Fields): KeyEdit[] {
  const after = withChanges(settings, edits);
  const groups = new Map<string, KeyEdit>();
  for (const { path, value } of edits) {
    for (let length = path.length - 1; length > 0 && value === undefined; length -= 1) {
      const group = path.slice(0, length);
      const left = at(withChanges(after, [...groups.values()]), group);
      if (!isFields(left) || Object.keys(left).length > 0) break;
      groups.set(JSON.stringify(group), { path: group, value: undefined });
    }
  }
  return [...edits, ...groups.values()];
}
