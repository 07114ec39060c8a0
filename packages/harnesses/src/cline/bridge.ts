import { join } from "node:path";
import type { DecidedLine, Fields, HarnessAdapter, Known, Places } from "../bridge/adapter.ts";
import { at } from "../fields.ts";

const clineFolder = (places: Places) => places.env.CLINE_DATA_DIR || join(places.home, ".cline", "data");

/** Cline compacts at this share of the window: 0.9 of an input limit that is 0.9 of the window. */
const CLINE_SHARE = 0.81;

/** Cline's command line. The extension keeps its settings in VS Code, where no bridge reaches them. */
export const cline: HarnessAdapter = {
  family: "cline",
  name: "Cline CLI",
  control: "on_off",
  format: "json",
  programs: ["cline"],
  settingsFile: (places) =>
    places.env.CLINE_GLOBAL_SETTINGS_PATH || join(clineFolder(places), "settings", "global-settings.json"),
  folders: (places) => [join(places.home, ".cline")],
  layers: () => [],
  switch: { path: ["compactionEnabled"], on: true },
  express: () => "it compacts at a share of the window that no setting changes",
  line: (settings, known) =>
    at(settings, ["compactionEnabled"]) === false
      ? { line: { kind: "off" }, by: "compactionEnabled" }
      : fixedLine(known, (windowTokens) => Math.floor(CLINE_SHARE * windowTokens + 1e-6)),
  instead:
    "compaction.mode switches its compaction on and off. For a line, run the agent with @plimsoll/guard.",
};

/** Crush compacts when 20,000 tokens remain, or 20 % in a window of at most 200,000. */
const CRUSH_LARGE = 200_000;
const CRUSH_ROOM = 20_000;

/** Crush. */
export const crush: HarnessAdapter = {
  family: "crush",
  name: "Crush",
  control: "on_off",
  format: "json",
  programs: ["crush"],
  settingsFile: ({ home, env }) =>
    env.CRUSH_GLOBAL_CONFIG
      ? join(env.CRUSH_GLOBAL_CONFIG, "crush.json")
      : join(env.XDG_CONFIG_HOME || join(home, ".config"), "crush", "crush.json"),
  folders: ({ home, env }) => [join(env.XDG_CONFIG_HOME || join(home, ".config"), "crush")],
  layers: (places) => [join(places.project, ".crush.json"), join(places.project, "crush.json")],
  switch: { path: ["options", "disable_auto_summarize"], on: false },
  express: () => "it compacts when a fixed number of tokens remains",
  line: (settings, known) => crushOff(settings, known) ?? fixedLine(known, crushLine),
  instead:
    "compaction.mode switches its summaries on and off. For a line, run the agent with @plimsoll/guard.",
};

function crushOff(settings: Fields, { layers }: Known): DecidedLine | undefined {
  const path = ["options", "disable_auto_summarize"];
  for (const layer of [...layers, { name: "", settings }]) {
    const value = at(layer.settings, path);
    if (value === false) return undefined;
    if (value === true)
      return { line: { kind: "off" }, by: path.join(".") + (layer.name === "" ? "" : ` in ${layer.name}`) };
  }
  return undefined;
}

const crushLine = (windowTokens: number) =>
  windowTokens > CRUSH_LARGE ? windowTokens - CRUSH_ROOM : Math.floor(windowTokens * 0.8 + 1e-6);

function fixedLine({ windowTokens }: Known, of: (windowTokens: number) => number): DecidedLine {
  return windowTokens === undefined
    ? { line: { kind: "unknown" } }
    : { line: { kind: "tokens", tokens: of(windowTokens) } };
}
