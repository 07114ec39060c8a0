import { join } from "node:path";
import type { BridgePart } from "../bridge/adapter.ts";
import { wantedShare } from "../bridge/line.ts";
import { UNKNOWN_WINDOW } from "../fields.ts";
import { configFolder, layered, limitLine, opencodeBridge } from "../opencode/bridge.ts";

const PERCENT = ["compaction", "threshold_percent"] as const;

/** Kilo: opencode with a percentage. Whichever of the two lines comes first counts. */
export const kiloBridge: BridgePart = {
  ...opencodeBridge,
  name: "Kilo",
  programs: ["kilo", "kilocode"],
  settingsFile: (places) => join(configFolder(places, "kilo"), "kilo.json"),
  otherSettingsFile: (places) => join(configFolder(places, "kilo"), "kilo.jsonc"),
  folders: (places) => [configFolder(places, "kilo")],
  layers: (places) => [
    join(places.project, "kilo.jsonc"),
    join(places.project, "kilo.json"),
    join(configFolder(places, "kilo"), "kilo.jsonc"),
  ],
  express(wanted, _settings, { windowTokens }) {
    const share = wantedShare(wanted, windowTokens);
    if (share === undefined) return UNKNOWN_WINDOW;
    return [{ path: PERCENT, value: Math.max(1, Math.floor(share * 1e6 + 1e-6) / 1e4) }];
  },
  line(settings, known) {
    const buffer = limitLine(settings, known);
    if (buffer.line.kind === "off") return buffer;
    const { value, by } = layered(PERCENT, settings, known);
    if (value === undefined) return buffer;
    const { windowTokens } = known;
    if (windowTokens === undefined)
      return { line: { kind: "share", share: value / 100 }, ...(by !== undefined && { by }) };
    const tokens = Math.floor((windowTokens * value) / 100 + 1e-6);
    if (buffer.line.kind === "tokens" && buffer.line.tokens < tokens) return buffer;
    return { line: { kind: "tokens", tokens }, ...(by !== undefined && { by }) };
  },
};
