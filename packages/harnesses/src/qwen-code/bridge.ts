import { join } from "node:path";
import type { BridgePart } from "../bridge/adapter.ts";
import { decidedFraction, expressFraction, fractionLine } from "../bridge/fractions.ts";
import { textAt } from "../fields.ts";

const PATH = ["context", "autoCompactThreshold"] as const;
const DEFAULT = 0.85;
/** The range that the setting accepts. */
const LEAST = 0.01;
/** Qwen Code keeps this much free for the summary, in tokens, whatever the fraction. */
const ROOM = 33_000;

/** Qwen Code. */
export const qwenCodeBridge: BridgePart = {
  name: "Qwen Code",
  control: "next_session",
  format: "json",
  programs: ["qwen"],
  settingsFile: (places) => join(places.home, ".qwen", "settings.json"),
  folders: (places) => [join(places.home, ".qwen")],
  layers: (places) => [
    places.env.QWEN_CODE_SYSTEM_SETTINGS_PATH || "/etc/qwen-code/settings.json",
    join(places.project, ".qwen", "settings.json"),
  ],
  sessions: (places) => join(places.home, ".qwen", "projects"),
  model: (settings) => textAt(settings, ["model", "name"]),
  express: (wanted, _settings, known) => expressFraction(PATH, wanted, known, { least: LEAST, most: 1 }),
  line(settings, known) {
    const { value, by } = decidedFraction(PATH, settings, known);
    const share = value !== undefined && value > 0 && value <= 1 ? value : DEFAULT;
    const { windowTokens } = known;
    const latest = windowTokens === undefined ? 0 : windowTokens - ROOM;
    if (windowTokens !== undefined && latest > 0 && latest < share * windowTokens)
      return { line: { kind: "tokens", tokens: latest } };
    return fractionLine(share, known, by);
  },
};
