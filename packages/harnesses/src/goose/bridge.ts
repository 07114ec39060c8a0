import { join } from "node:path";
import type { BridgePart } from "../bridge/adapter.ts";
import { expressFraction, fractionLine } from "../bridge/fractions.ts";
import { at, textAt } from "../fields.ts";

const KEY = "GOOSE_AUTO_COMPACT_THRESHOLD";
const DEFAULT = 0.8;
const WINDOW = 128_000;

/** Goose. */
export const gooseBridge: BridgePart = {
  name: "Goose",
  control: "next_session",
  format: "yaml",
  programs: ["goose"],
  settingsFile: ({ home, env, platform }) =>
    platform === "win32"
      ? join(env.APPDATA ?? home, "Block", "goose", "config", "config.yaml")
      : join(env.XDG_CONFIG_HOME || join(home, ".config"), "goose", "config.yaml"),
  folders: ({ home, env }) => [join(env.XDG_CONFIG_HOME || join(home, ".config"), "goose")],
  layers: () => [],
  model: (settings) => textAt(settings, ["GOOSE_MODEL"]),
  window: (_settings, model) => (model === undefined ? WINDOW : undefined),
  express: (wanted, _settings, known) => expressFraction([KEY], wanted, known, { least: 0.000001, most: 1 }),
  line(settings, known) {
    const fromVariable = Number.parseFloat(known.env[KEY] ?? "");
    const by = Number.isFinite(fromVariable) ? KEY : undefined;
    const written = at(settings, [KEY]);
    const own = typeof written === "string" ? Number.parseFloat(written) : written;
    const share =
      by === undefined ? (typeof own === "number" && Number.isFinite(own) ? own : DEFAULT) : fromVariable;
    // 0 switches compaction off, and so does a line that is never reached.
    if (share <= 0) return { line: { kind: "off" }, by: by ?? KEY };
    return fractionLine(Math.min(1, share), known, by);
  },
};
