import type { PolicySettings } from "./policy-schema.ts";
import { POLICY_PRESETS } from "./presets.ts";
import { familyOf } from "./resolve-policy.ts";

type Thresholds = NonNullable<PolicySettings["thresholds"]>;

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null } as const;
const ceiling = (value: NonNullable<Thresholds["ceiling"]>): Thresholds => ({ ...OFF, ceiling: value });

/**
 * Where each known harness compacts by itself, without settings of its user. A negative number is tokens that stay free.
 * Read in the harnesses' sources and documentation in November 2026.
 */
const OWN_LINES: Readonly<Record<string, Thresholds>> = {
  // autoCompactWindow − min(maxOutput, 20,000) − 13,000
  "claude-code": ceiling(-33_000),
  // model_auto_compact_token_limit is at most this share
  codex: ceiling("90%"),
  "gemini-cli": ceiling("50%"),
  // compaction.reserved
  opencode: ceiling(-20_000),
  kilo: ceiling(-20_000),
  copilot: ceiling("80%"),
  cline: ceiling("81%"),
  goose: ceiling("80%"),
  // compaction_trigger_ratio; in a small window reserved_context_size comes first
  kimi: ceiling("85%"),
  pi: ceiling(-16_384),
  zed: ceiling("90%"),
  deepagents: ceiling("85%"),
};

/** Nothing decisive happens to the agents of an unknown harness before their window ends. */
const WINDOW_END: Thresholds = { ...OFF, hard: "100%" };

/** The settings of a harness without a policy: those of its design, its own compaction line, or the end of the window. */
export function familyDefaults(harness: string): PolicySettings {
  const family = familyOf(harness);
  if (family === "phantom" || family === "ouroboros") return POLICY_PRESETS[family];
  const own = Object.hasOwn(OWN_LINES, family) ? OWN_LINES[family] : undefined;
  return { thresholds: own ?? WINDOW_END };
}
