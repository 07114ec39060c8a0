import type { LineKeeper } from "@plimsoll/fold";
import {
  type Line,
  type LineKind,
  POLICY_PRESETS,
  type PolicySettings,
  type ThresholdSource,
} from "@plimsoll/protocol/pure";
import { familyLine } from "./family-lines.ts";
import { hasOwnLine, ownThresholds } from "./own-lines.ts";

type Thresholds = NonNullable<PolicySettings["thresholds"]>;

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null } as const;

/** Nothing decisive happens to the agents of an unknown harness before their window ends. */
const WINDOW_END: Thresholds = { ...OFF, hard: "100%", warning: "80%" };

/** The settings of a harness without a policy: those of its design, its own compaction line, or the end of the window. */
export function familyDefaults(harness: string): PolicySettings {
  const preset = familyLine(harness)?.preset;
  if (preset !== undefined) return POLICY_PRESETS[preset];
  const own = ownThresholds(harness);
  return { thresholds: own === undefined ? WINDOW_END : { ...OFF, ...own } };
}

/** @param windowTokens undefined if unknown */
export function lineKind(
  harness: string,
  { threshold, tokens }: Line,
  source: ThresholdSource,
  windowTokens: number | undefined,
): LineKind {
  if (windowTokens !== undefined && tokens >= windowTokens) return "window_end";
  if (source === "default" && hasOwnLine(harness)) return "compaction";
  return threshold;
}

/** Who acts at the line of a harness. A policy that the harness did not acknowledge moves nothing in it. */
export function lineKeeper(harness: string, source: ThresholdSource): LineKeeper {
  if (source !== "default") return source === "policy" ? "nobody" : "harness";
  const family = familyLine(harness);
  return family?.own === undefined && family?.preset === undefined ? "nobody" : "harness";
}
