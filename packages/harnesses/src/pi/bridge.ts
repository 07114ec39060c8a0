import { join } from "node:path";
import type { BridgePart, Places } from "../bridge/adapter.ts";
import { freeOf } from "../bridge/line.ts";
import { at, numberAt, textAt, UNKNOWN_WINDOW } from "../fields.ts";

const PATH = ["compaction", "reserveTokens"] as const;
const DEFAULT = 16_384;

const folder = (places: Places) => places.env.PI_CODING_AGENT_DIR || join(places.home, ".pi", "agent");

/** pi. It compacts when fewer tokens than its reserve remain. */
export const piBridge: BridgePart = {
  name: "pi",
  control: "next_session",
  format: "json",
  programs: ["pi"],
  settingsFile: (places) => join(folder(places), "settings.json"),
  folders: (places) => [folder(places)],
  layers: (places) => [join(places.project, ".pi", "settings.json")],
  sessions: (places) => join(folder(places), "sessions"),
  model: (settings) => textAt(settings, ["defaultModel"]),
  switch: { path: ["compaction", "enabled"], on: true },
  express(wanted, _settings, { windowTokens }) {
    const free = wanted.free ?? freeOf(wanted.tokens, windowTokens);
    return free === undefined ? UNKNOWN_WINDOW : [{ path: PATH, value: free }];
  },
  line(settings, { layers, windowTokens }) {
    const all = [...layers, { name: "", settings }];
    const enabled = all.find((layer) => typeof at(layer.settings, ["compaction", "enabled"]) === "boolean");
    if (enabled !== undefined && at(enabled.settings, ["compaction", "enabled"]) === false) {
      const by = enabled.name === "" ? "compaction.enabled" : `compaction.enabled in ${enabled.name}`;
      return { line: { kind: "off" }, by };
    }
    const decided = all.find((layer) => numberAt(layer.settings, PATH) !== undefined);
    const by =
      decided === undefined || decided.name === "" ? undefined : `${PATH.join(".")} in ${decided.name}`;
    if (windowTokens === undefined) return { line: { kind: "unknown" }, ...(by !== undefined && { by }) };
    const reserve = numberAt(decided?.settings, PATH) ?? DEFAULT;
    const tokens = Math.max(0, windowTokens - reserve);
    return { line: { kind: "tokens", tokens }, ...(by !== undefined && { by }) };
  },
};
