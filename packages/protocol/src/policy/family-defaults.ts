import type { Line } from "../history/threshold-rules.ts";
import type { ThresholdSource } from "./in-force.ts";
import type { PolicySettings } from "./policy-schema.ts";
import { POLICY_PRESETS } from "./presets.ts";
import { familyOf } from "./resolve-policy.ts";

type Thresholds = NonNullable<PolicySettings["thresholds"]>;

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null } as const;
const line = (ceiling: NonNullable<Thresholds["ceiling"]>, warning: string): Thresholds => ({
  ...OFF,
  ceiling,
  warning,
});

/**
 * Where each known harness compacts by itself, without settings of its user, and a warning some turns before. A negative number
 * is tokens that stay free. Read in the harnesses' sources and documentation in November 2026.
 */
const OWN_LINES: Readonly<Record<string, Thresholds>> = {
  // autoCompactWindow − min(maxOutput, 20,000) − 13,000
  "claude-code": line(-33_000, "70%"),
  // model_auto_compact_token_limit is at most this share
  codex: line("90%", "75%"),
  "gemini-cli": line("50%", "40%"),
  // compaction.reserved
  opencode: line(-20_000, "75%"),
  kilo: line(-20_000, "75%"),
  copilot: line("80%", "65%"),
  cline: line("81%", "65%"),
  goose: line("80%", "65%"),
  // compaction_trigger_ratio; in a small window reserved_context_size comes first
  kimi: line("85%", "70%"),
  pi: line(-16_384, "75%"),
  zed: line("90%", "75%"),
  deepagents: line("85%", "70%"),
};

/** Nothing decisive happens to the agents of an unknown harness before their window ends. */
const WINDOW_END: Thresholds = { ...OFF, hard: "100%", warning: "80%" };

/** The settings of a harness without a policy: those of its design, its own compaction line, or the end of the window. */
export function familyDefaults(harness: string): PolicySettings {
  const family = familyOf(harness);
  if (family === "phantom" || family === "ouroboros") return POLICY_PRESETS[family];
  const own = Object.hasOwn(OWN_LINES, family) ? OWN_LINES[family] : undefined;
  return { thresholds: own ?? WINDOW_END };
}

/** What happens at a line. Known harnesses compact by themselves; an unknown one is only known to meet the window's end. */
export const LINE_KINDS = ["ceiling", "hard", "reserve", "compaction", "window_end"] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** @param windowTokens undefined if unknown */
export function lineKind(
  harness: string,
  { threshold, tokens }: Line,
  source: ThresholdSource,
  windowTokens: number | undefined,
): LineKind {
  if (windowTokens !== undefined && tokens >= windowTokens) return "window_end";
  if (source === "default" && Object.hasOwn(OWN_LINES, familyOf(harness))) return "compaction";
  return threshold;
}
