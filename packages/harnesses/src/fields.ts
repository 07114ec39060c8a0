import type { Fields, SettingsChange } from "./bridge/adapter.ts";

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path; undefined if there is none. */
export function at(settings: unknown, path: readonly string[]): unknown {
  let value = settings;
  for (const name of path) {
    if (!isFields(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The value at a path if it is a finite number. */
export function numberAt(settings: unknown, path: readonly string[]): number | undefined {
  const value = at(settings, path);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The same for a count, as a whole number. */
export function countAt(settings: unknown, path: readonly string[]): number | undefined {
  const value = numberAt(settings, path);
  return value !== undefined && value >= 0 ? Math.floor(value) : undefined;
}

export function textAt(settings: unknown, path: readonly string[]): string | undefined {
  const value = at(settings, path);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The same settings with changed keys. `undefined` removes a key. */
export function withChanges(
  settings: Fields,
  changes: readonly { path: readonly string[]; value: unknown }[],
): Fields {
  return changes.reduce((fields, { path, value }) => withValue(fields, path, value), settings);
}

function withValue(settings: Fields, [name, ...rest]: readonly string[], value: unknown): Fields {
  const copy = { ...settings };
  if (rest.length > 0) {
    const group = copy[name!];
    if (value === undefined && !isFields(group)) return settings;
    copy[name!] = withValue(isFields(group) ? group : {}, rest, value);
  } else if (value === undefined) delete copy[name!];
  else copy[name!] = value;
  return copy;
}

/** Settings as a text to search. TOML has larger integers than JSON. */
export const searchText = (settings: unknown): string =>
  JSON.stringify(settings, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)) ?? "";

/** The keys as people write them, such as `modelSettings.opus.autoCompactWindow`. */
export const pathText = ({ path }: Pick<SettingsChange, "path">): string => path.join(".");

/** A setting that an environment variable switches on: `1`, `true`, `yes` or `on`. */
export const isTrue = (text: string | undefined): boolean => /^(1|true|yes|on)$/i.test(text?.trim() ?? "");

/** Why a line cannot be written when it depends on the window. */
export const UNKNOWN_WINDOW = "the size of the window is unknown; name it with --window or --model";
