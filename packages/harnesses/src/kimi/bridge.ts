import { join } from "node:path";
import type { BridgePart, Fields, SettingsChange } from "../bridge/adapter.ts";
import { wantedShare } from "../bridge/line.ts";
import { numberAt, textAt, UNKNOWN_WINDOW } from "../fields.ts";

const RATIO = ["loop_control", "compaction_trigger_ratio"] as const;
export const RESERVED = ["loop_control", "reserved_context_size"] as const;
const DEFAULT_RATIO = 0.85;
const DEFAULT_RESERVED = 50_000;
/** The ranges that Kimi CLI accepts. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 0.99;
const LEAST_RESERVED = 1_000;

const modelOf = (settings: Fields) => textAt(settings, ["default_model"]);
export const limitOf = (settings: Fields, model: string | undefined, key: string) =>
  model === undefined
    ? undefined
    : (numberAt(settings, ["models", model, "overrides", key]) ?? numberAt(settings, ["models", model, key]));

/** What Kimi Code kept. */
export const kimiCommon = {
  control: "next_session",
  format: "toml",
  programs: ["kimi"],
  layers: () => [],
  model: modelOf,
} as const;

/** Kimi CLI. It compacts at a share of the window, or when its reserve is reached, whichever comes first. */
export const kimiBridge: BridgePart = {
  ...kimiCommon,
  name: "Kimi CLI",
  settingsFile: (places) => join(places.env.KIMI_SHARE_DIR || join(places.home, ".kimi"), "config.toml"),
  folders: (places) => [places.env.KIMI_SHARE_DIR || join(places.home, ".kimi")],
  sessions: (places) => join(places.env.KIMI_SHARE_DIR || join(places.home, ".kimi"), "sessions"),
  window: (settings, model) => limitOf(settings, model, "max_context_size"),
  express(wanted, settings, { windowTokens }) {
    const share = wantedShare(wanted, windowTokens);
    if (share === undefined && wanted.free === undefined) return UNKNOWN_WINDOW;
    const changes: SettingsChange[] = [];
    if (share === undefined || windowTokens === undefined) {
      if (wanted.free !== undefined)
        changes.push({ path: RESERVED, value: Math.max(LEAST_RESERVED, wanted.free) });
      else if (share! < LEAST_RATIO) return UNKNOWN_WINDOW;
      else changes.push({ path: RATIO, value: Math.min(MOST_RATIO, share!) });
      return changes;
    }
    const tokens = wanted.tokens!;
    const reserved = numberAt(settings, RESERVED) ?? DEFAULT_RESERVED;
    if (share >= LEAST_RATIO) changes.push({ path: RATIO, value: Math.min(MOST_RATIO, share) });
    // The reserve must not come before the share, and is all that reaches below half of the window.
    if (share < LEAST_RATIO || windowTokens - reserved < tokens)
      changes.push({ path: RESERVED, value: Math.max(LEAST_RESERVED, windowTokens - tokens) });
    return changes;
  },
  line(settings, { windowTokens }) {
    const ratio = numberAt(settings, RATIO) ?? DEFAULT_RATIO;
    const reserved = numberAt(settings, RESERVED) ?? DEFAULT_RESERVED;
    if (windowTokens === undefined) return { line: { kind: "share", share: ratio } };
    const tokens = Math.min(Math.floor(ratio * windowTokens + 1e-6), windowTokens - reserved);
    return { line: { kind: "tokens", tokens: Math.max(0, tokens) } };
  },
};
