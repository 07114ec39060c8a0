import { join } from "node:path";
import type { BridgePart, Places } from "../bridge/adapter.ts";
import { fixedLine } from "../bridge/line.ts";
import { at } from "../fields.ts";

const clineFolder = (places: Places) => places.env.CLINE_DATA_DIR || join(places.home, ".cline", "data");

/** Cline compacts at this share of the window: 0.9 of an input limit that is 0.9 of the window. */
const CLINE_SHARE = 0.81;

/** Cline's command line. The extension keeps its settings in VS Code, where no bridge reaches them. */
export const clineBridge: BridgePart = {
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
