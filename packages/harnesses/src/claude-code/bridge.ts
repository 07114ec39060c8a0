import { join } from "node:path";
import type { BridgePart, DecidedLine, Fields, Known, SettingsLayer } from "../bridge/adapter.ts";
import type { HarnessLine } from "../bridge/line.ts";
import { at, isTrue, textAt, UNKNOWN_WINDOW } from "../fields.ts";
import { configFolder, managedSettings, settingsInForce } from "./managed.ts";

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
  managed: managedSettings,
  layers: (places) => [
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

/** A model has a window of its own since 2.1.288. */
const keyFor = ({ model }: Known): readonly string[] =>
  model === undefined ? [KEY] : ["modelSettings", model, KEY];

/** Where a setting was found, as in `autoCompactWindow in .claude/settings.json`. Undefined for the file that the bridge writes. */
const foundIn = (key: string, { name }: SettingsLayer) => (name === "" ? undefined : `${key} in ${name}`);

/** Claude Code sets the variables of its settings over those of its environment. */
function variable(name: string, settings: Fields, known: Known): { value: string; by: string } | undefined {
  for (const layer of settingsInForce(settings, known).layers) {
    const value = at(layer.settings, ["env", name]);
    if (value !== undefined && value !== "")
      return { value: String(value), by: foundIn(name, layer) ?? `${name} in env` };
  }
  const own = known.env[name];
  return own === undefined || own === "" ? undefined : { value: own, by: name };
}

/** What switches automatic compaction off; undefined if nothing does. */
function switchedOff(settings: Fields, known: Known): string | undefined {
  for (const name of ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"]) {
    const found = variable(name, settings, known);
    if (found !== undefined && isTrue(found.value)) return found.by;
  }
  for (const layer of settingsInForce(settings, known).layers) {
    const value = at(layer.settings, ["autoCompactEnabled"]);
    if (typeof value !== "boolean") continue;
    return value ? undefined : (foundIn("autoCompactEnabled", layer) ?? "autoCompactEnabled");
  }
  return undefined;
}

/** The window that counts, and what sets it if the settings file does not. No value: that of the model. */
function decided(settings: Fields, known: Known): { value: number | undefined; by?: string } {
  const fromVariable = variable("CLAUDE_CODE_AUTO_COMPACT_WINDOW", settings, known);
  // "500k" reads as 500, and the smallest window is taken instead.
  const asNumber = Number.parseInt(fromVariable?.value ?? "", 10);
  if (fromVariable !== undefined && asNumber > 0) return { value: clamped(asNumber), by: fromVariable.by };
  for (const line of known.commandLines) {
    const text = argumentOf(line);
    const value = tokensOf(text);
    if (text === "auto" || value !== undefined) return { value, by: "--autocompact" };
  }
  const { layers, instead } = settingsInForce(settings, known);
  for (const tier of tiersOf(layers)) {
    const found = windowIn(tier, known);
    if (found === undefined) continue;
    const by = foundIn(found.path.join("."), found.layer);
    return { value: found.value, ...(by !== undefined && { by }) };
  }
  return { value: undefined, ...(instead !== undefined && { by: instead }) };
}

/** Claude Code merges all managed settings before it compares them with others. */
function tiersOf(layers: readonly SettingsLayer[]): (readonly SettingsLayer[])[] {
  const managed = layers.filter(({ managed }) => managed !== undefined);
  return [managed, ...layers.filter(({ managed }) => managed === undefined).map((layer) => [layer])];
}

/** The window of the model, else that of all models. A stronger tier wins even if only a weaker one names the model. */
function windowIn(tier: readonly SettingsLayer[], { model }: Known) {
  const named = tier.flatMap((layer) =>
    Object.keys(at(layer.settings, ["modelSettings"]) ?? {})
      .filter((name) => model !== undefined && bareModel(name) === bareModel(model))
      .toSorted((one) => (one === model ? -1 : 0))
      .map((name) => ({ layer, path: ["modelSettings", name, KEY] })),
  );
  const places = [...named, ...tier.map((layer) => ({ layer, path: [KEY] }))];
  for (const { layer, path } of places) {
    const value = at(layer.settings, path);
    if (isWindow(value)) return { value, path, layer };
    if (value === "auto" && path.length > 1) return { value: undefined, path, layer };
  }
  return undefined;
}

/** The settings of a model also hold for its dated and [1m] spellings. */
const bareModel = (name: string) => name.replace(/\[1m\]$/i, "").replace(/-\d{8}$/, "");

/** Claude Code ignores a setting outside its range. */
const isWindow = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= SMALLEST && (value as number) <= LARGEST;

function argumentOf(line: readonly string[]): string | undefined {
  for (const [at, part] of line.entries()) {
    const text = part === "--autocompact" ? line[at + 1] : /^--autocompact=(.*)$/.exec(part)?.[1];
    if (text !== undefined) return text;
  }
  return undefined;
}

/** `200000`, `200k`, `1M`, or 100 to 1000 as thousands. Undefined if it is outside the range. */
function tokensOf(text: string | undefined): number | undefined {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([km]?)$/i.exec(text ?? "") ?? [];
  const scale = unit === "" && Number(digits) <= 1_000 ? "k" : unit?.toLowerCase();
  const value = Number(digits) * (scale === "k" ? 1_000 : scale === "m" ? 1_000_000 : 1);
  return isWindow(value) ? value : undefined;
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
