import { isDeepStrictEqual } from "node:util";
import type { Fields } from "@plimsoll/harnesses/bridge";
import type { HarnessFile, HarnessSetting } from "@plimsoll/harnesses/connect";
import { at, pathText, textAt } from "@plimsoll/harnesses/fields";
import type { KeyEdit } from "../bridge/edit/key-edit.ts";

export const CONFLICT_REASONS = ["other_exporter", "other_server", "own_function"] as const;
/** `other_exporter`: it sends elsewhere or is switched off. `other_server`: it sends to another Plimsoll. */
export type ConflictReason = (typeof CONFLICT_REASONS)[number];

/** A setting of somebody else that keeps the harness from reporting to this server. */
export interface SettingsConflict {
  path: readonly string[];
  reason: ConflictReason;
  /** Undefined if a value would give away a secret. */
  found: string | undefined;
}

/** What to write into a file, and what somebody must decide first. */
export interface FileChanges {
  changes: readonly KeyEdit[];
  conflicts: readonly SettingsConflict[];
}

/**
 * What a file needs for a connection.
 * @param settings of the file
 * @param isOurs whether Plimsoll wrote the value that is there
 */
export function changesOf(
  file: HarnessFile,
  settings: Fields,
  isOurs: (path: readonly string[]) => boolean,
): FileChanges {
  const changes: KeyEdit[] = [];
  const conflicts: SettingsConflict[] = [];
  for (const setting of file.settings) {
    const { path } = setting;
    const found = at(settings, path);
    const value = wantedValue(setting, found, settings, isOurs(path));
    changes.push({ path, value });
    if (found === undefined || isDeepStrictEqual(found, value) || isOurs(path)) continue;
    if (
      setting.mode === undefined
        ? !isDeepStrictEqual(found, setting.unset)
        : takesOverMetrics(path, found, settings)
    )
      conflicts.push(conflictAt(path, found));
    else if (setting.mode === undefined) continue;
    // A list to which something is added loses nothing.
    else if (setting.mode === "keep") changes.pop();
  }
  for (const path of file.rivals ?? []) {
    const found = at(settings, path);
    if (found === undefined || isOurs(path)) continue;
    conflicts.push(conflictAt(path, found));
    changes.push({ path, value: undefined });
  }
  return { changes: changes.filter(({ path }, index) => !isRepeated(changes, path, index)), conflicts };
}

const isRepeated = (changes: readonly KeyEdit[], path: readonly string[], index: number) =>
  changes.findIndex((change) => isDeepStrictEqual(change.path, path)) < index;

function wantedValue(
  { mode, value, path }: HarnessSetting,
  found: unknown,
  settings: Fields,
  isOurs: boolean,
): unknown {
  if (mode === "keep" && found !== undefined && !isOurs && !takesOverMetrics(path, found, settings))
    return found;
  if (mode !== "add" || typeof found !== "string" || found.trim() === "" || isOurs) return value;
  const name = String(value).split("=", 1)[0]!;
  const names = found.split(",").map((part) => part.split("=", 1)[0]!.trim());
  return names.includes(name) ? found : `${found.replace(/[,\s]+$/, "")},${String(value)}`;
}

/** Metrics that go to somebody's collector would follow the endpoint to Plimsoll, which stores none. */
function takesOverMetrics(path: readonly string[], found: unknown, settings: Fields): boolean {
  if (path.at(-1) !== "OTEL_METRICS_EXPORTER" || typeof found !== "string") return false;
  const own = textAt(settings, [...path.slice(0, -1), "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]);
  return found.split(",").some((name) => name.trim() === "otlp") && own === undefined;
}

function conflictAt(path: readonly string[], found: unknown): SettingsConflict {
  const text = JSON.stringify(found);
  const isPlimsoll = /plim_\w/.test(text) || /\/otlp(?:\/v1\/\w+)?\/?"/.test(text);
  return {
    path,
    reason: isPlimsoll ? "other_server" : "other_exporter",
    found: shownValue(path, found),
  };
}

function shownValue(path: readonly string[], found: unknown): string | undefined {
  if (/header/i.test(pathText({ path }))) return undefined;
  if (typeof found === "object" && found !== null) {
    const endpoint = /"endpoint":"([^"]*)"/.exec(JSON.stringify(found))?.[1];
    return endpoint === undefined ? undefined : withoutPassword(endpoint);
  }
  return withoutPassword(String(found));
}

const withoutPassword = (text: string) => text.replace(/\/\/[^/@]*@/, "//").slice(0, 200);

/** Aliases and functions of a shell's start file that hide the function of a program. */
export function ownFunctions(program: string, text: string): SettingsConflict[] {
  const others = text.replace(/^# >>> plimsoll (\S+) >>>[\s\S]*?^# <<< plimsoll \1 <<<$/gm, "");
  const name = program.replace(/[^\w-]/g, "");
  const pattern = new RegExp(
    `^[ \\t]*(?:alias[ \\t]+${name}=|(?:function[ \\t]+)?${name}[ \\t]*\\(\\)|function[ \\t]+${name}\\b).*$`,
    "gm",
  );
  return [...others.matchAll(pattern)].map(([line]) => ({
    path: [program],
    reason: "own_function",
    found: line.trim().slice(0, 80),
  }));
}
