import { join } from "node:path";
import type { BridgePart, DecidedLine, Fields, Known, SettingsLayer } from "../bridge/adapter.ts";
import type { HarnessLine } from "../bridge/line.ts";
import { at, isTrue, numberAt, textAt, UNKNOWN_WINDOW } from "../fields.ts";

/** Claude Code keeps room for a summary and a margin below the window that it is given, in tokens. */
const ROOM_FOR_OUTPUT = 20_000;
const ROOM = ROOM_FOR_OUTPUT + 13_000;
/** The range that `autoCompactWindow` accepts, in tokens. */
const SMALLEST = 100_000;
const LARGEST = 1_000_000;
const KEY = "autoCompactWindow";

/** Claude Code. It watches its settings files, but a session keeps the line that it began with. */
export const claudeCodeBridge: BridgePart = {
  name: "Claude Code",
  control: "next_session",
  hook: true,
  reinjects: true,
  format: "json",
  programs: ["claude"],
  settingsFile: (places) => join(configFolder(places), "settings.json"),
  // Not settings.json, which is shared through the repository: the file holds a key.
  projectSettings: ({ project }) => join(project, ".claude", "settings.local.json"),
  folders: (places) => [configFolder(places)],
  layers: (places) => [
    ...managedFiles(places.platform),
    join(places.project, ".claude", "settings.local.json"),
    join(places.project, ".claude", "settings.json"),
  ],
  sessions: (places) => join(configFolder(places), "projects"),
  model: (settings) => textAt(settings, ["env", "ANTHROPIC_MODEL"]) ?? textAt(settings, ["model"]),
  hasModelSettings: true,
  switch: { path: ["autoCompactEnabled"], on: true },
  express(wanted, _settings, known) {
    if (wanted.tokens === undefined) return UNKNOWN_WINDOW;
    const value = Math.min(LARGEST, Math.max(SMALLEST, Math.floor(wanted.tokens) + ROOM));
    return [{ path: keyFor(known), value }];
  },
  line(settings, known) {
    const off = switchedOff(settings, known);
    if (off !== undefined) return { line: { kind: "off" }, by: off };
    const { value, by } = decided(settings, known);
    const window = least(value, known.windowTokens);
    const line: HarnessLine =
      window === undefined ? { kind: "unknown" } : { kind: "tokens", tokens: Math.max(0, window - ROOM) };
    return lowered({ line, ...(by !== undefined && { by }) }, window, settings, known);
  },
};

function configFolder({ home, env }: { home: string; env: Known["env"] }): string {
  return env.CLAUDE_CONFIG_DIR || join(home, ".claude");
}

function managedFiles(platform: NodeJS.Platform): string[] {
  if (platform === "darwin") return ["/Library/Application Support/ClaudeCode/managed-settings.json"];
  if (platform === "win32") return ["C:\\Program Files\\ClaudeCode\\managed-settings.json"];
  return ["/etc/claude-code/managed-settings.json"];
}

/** A model has a window of its own since 2.1.288. */
const keyFor = ({ model }: Known): readonly string[] =>
  model === undefined ? [KEY] : ["modelSettings", model, KEY];

const ownLayer = (settings: Fields): SettingsLayer => ({ name: "", settings });

/** Variables of the bridge's own environment, then those that settings files pass to sessions. */
function variable(name: string, settings: Fields, known: Known): { value: string; by: string } | undefined {
  const own = known.env[name];
  if (own !== undefined && own !== "") return { value: own, by: name };
  for (const layer of [...known.layers, ownLayer(settings)]) {
    const value = at(layer.settings, ["env", name]);
    if (value !== undefined && value !== "")
      return { value: String(value), by: layer.name === "" ? `${name} in env` : `${name} in ${layer.name}` };
  }
  return undefined;
}

/** What switches automatic compaction off; undefined if nothing does. */
function switchedOff(settings: Fields, known: Known): string | undefined {
  for (const name of ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"]) {
    const found = variable(name, settings, known);
    if (found !== undefined && isTrue(found.value)) return found.by;
  }
  for (const layer of [...known.layers, ownLayer(settings)]) {
    const value = at(layer.settings, ["autoCompactEnabled"]);
    if (typeof value !== "boolean") continue;
    if (value) return undefined;
    return layer.name === "" ? "autoCompactEnabled" : `autoCompactEnabled in ${layer.name}`;
  }
  return undefined;
}

/** The window that counts, and what sets it if the settings file does not. */
function decided(settings: Fields, known: Known): { value: number | undefined; by?: string } {
  const fromVariable = variable("CLAUDE_CODE_AUTO_COMPACT_WINDOW", settings, known);
  // "500k" reads as 500, and the smallest window is taken instead.
  const asNumber = Number.parseInt(fromVariable?.value ?? "", 10);
  if (fromVariable !== undefined && asNumber > 0) return { value: clamped(asNumber), by: fromVariable.by };
  for (const line of known.commandLines) {
    const value = argumentOf(line);
    if (value !== undefined) return { value: clamped(value), by: "--autocompact" };
  }
  const layers = [...known.layers, ownLayer(settings)];
  for (const path of [keyFor(known), [KEY]]) {
    for (const layer of layers) {
      const value = numberAt(layer.settings, path);
      if (value === undefined) continue;
      return {
        value: clamped(value),
        ...(layer.name !== "" && { by: `${path.join(".")} in ${layer.name}` }),
      };
    }
  }
  return { value: undefined };
}

function argumentOf(line: readonly string[]): number | undefined {
  for (const [at, part] of line.entries()) {
    const text = part === "--autocompact" ? line[at + 1] : /^--autocompact=(.*)$/.exec(part)?.[1];
    const value = Number.parseInt(text ?? "", 10);
    if (value > 0) return value;
  }
  return undefined;
}

const clamped = (value: number) => Math.min(LARGEST, Math.max(SMALLEST, Math.floor(value)));

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** CLAUDE_AUTOCOMPACT_PCT_OVERRIDE is a percentage of the window without the room for output, and only lowers the line. */
function lowered(
  decidedLine: DecidedLine,
  window: number | undefined,
  settings: Fields,
  known: Known,
): DecidedLine {
  const found = variable("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", settings, known);
  const percent = Number.parseFloat(found?.value ?? "");
  if (found === undefined || !(percent > 0 && percent <= 100) || window === undefined) return decidedLine;
  const tokens = Math.floor(((window - ROOM_FOR_OUTPUT) * percent) / 100);
  if (decidedLine.line.kind !== "tokens" || tokens >= decidedLine.line.tokens) return decidedLine;
  return { line: { kind: "tokens", tokens }, by: found.by };
}
