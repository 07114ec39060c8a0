import { join } from "node:path";
import type { BridgePart, DecidedLine, Fields, Known } from "../bridge/adapter.ts";
import { fixedLine } from "../bridge/line.ts";
import { at } from "../fields.ts";

/** Crush compacts when 20,000 tokens remain, or 20 % in a window of at most 200,000. */
const CRUSH_LARGE = 200_000;
const CRUSH_ROOM = 20_000;

/** Crush. */
export const crushBridge: BridgePart = {
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
