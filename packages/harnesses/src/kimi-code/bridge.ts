import { join } from "node:path";
import type { BridgePart, Places } from "../bridge/adapter.ts";
import { freeOf, type HarnessLine } from "../bridge/line.ts";
import { numberAt, UNKNOWN_WINDOW } from "../fields.ts";
import { kimiCommon, limitOf, RESERVED } from "../kimi/bridge.ts";

const codeFolder = (places: Places) => places.env.KIMI_CODE_HOME || join(places.home, ".kimi-code");

/** Kimi Code, the successor of Kimi CLI. It has a reserve only. */
export const kimiCodeBridge: BridgePart = {
  ...kimiCommon,
  name: "Kimi Code",
  settingsFile: (places) => join(codeFolder(places), "config.toml"),
  folders: (places) => [codeFolder(places)],
  sessions: (places) => join(codeFolder(places), "sessions"),
  window: (settings, model) =>
    limitOf(settings, model, "max_input_size") ?? limitOf(settings, model, "max_context_size"),
  express(wanted, _settings, { windowTokens }) {
    const free = wanted.free ?? freeOf(wanted.tokens, windowTokens);
    return free === undefined ? UNKNOWN_WINDOW : [{ path: RESERVED, value: Math.max(1, free) }];
  },
  line(settings, { windowTokens }) {
    const reserved = numberAt(settings, RESERVED);
    const line: HarnessLine =
      windowTokens === undefined || reserved === undefined
        ? { kind: "unknown" }
        : { kind: "tokens", tokens: Math.max(0, windowTokens - reserved) };
    return { line };
  },
};
