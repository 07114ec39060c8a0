import type { HarnessFile, HarnessSetting } from "./harness-settings.ts";

/** The settings as a file that holds nothing else, to paste. Ends without a line break. */
export function settingsText({ format, settings }: Pick<HarnessFile, "format" | "settings">): string {
  if (format === "json") return JSON.stringify(nested(settings), null, 2);
  if (format === "toml") return settings.map(tomlTable).join("\n\n");
  if (format === "env") return settings.map(({ path, value }) => envLine(path[0]!, String(value))).join("\n");
  return settings.map(({ value }) => String(value)).join("\n");
}

/** A line of a `.env` file that shells read alike. */
export function envLine(name: string, value: string): string {
  const isPlain = /^[\w./@:+,%=-]*$/.test(value);
  return `${name}=${isPlain ? value : `'${value.replaceAll("'", "'\\''")}'`}`;
}

function nested(settings: readonly HarnessSetting[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    let group = root;
    for (const name of path.slice(0, -1)) {
      group[name] ??= {};
      group = group[name] as Record<string, unknown>;
    }
    group[path.at(-1)!] = value;
  }
  return root;
}

function tomlTable({ path, value }: HarnessSetting): string {
  const table = path.slice(0, -1).map(tomlKey).join(".");
  return `${table === "" ? "" : `[${table}]\n`}${tomlKey(path.at(-1)!)} = ${tomlValue(value)}`;
}

const tomlKey = (name: string) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

function tomlValue(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(([name, part]) => `${tomlKey(name)} = ${tomlValue(part)}`);
  return `{ ${parts.join(", ")} }`;
}
