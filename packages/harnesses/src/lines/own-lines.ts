import { familyOf, type ThresholdValue, thresholdTokens } from "@plimsoll/protocol/pure";

/** Where a harness compacts by itself without settings of its user. Negative numbers are tokens that stay free. */
interface OwnLine {
  /** The harness compacts at the lowest. The first one decides in the windows of the models that it is made for. */
  rules: readonly [NonNullable<ThresholdValue>, ...NonNullable<ThresholdValue>[]];
  /** A warning some turns before. */
  warning: string;
  /** The rule for windows of up to this many tokens; null if the harness does not compact in them. */
  small?: { upTo: number; rule: ThresholdValue };
  /** The setting that moves the line. */
  setting?: string;
  /** Settings of a project or an administrator win over those of the user. */
  layered?: true;
}

/** Read in the harnesses' sources and documentation in November 2026. */
const OWN_LINES = {
  // autoCompactWindow − min(maxOutput, 20,000) − 13,000
  "claude-code": { rules: [-33_000], warning: "70%", setting: "autoCompactWindow", layered: true },
  // 90 % of the model's window, of which Codex reports 95 %
  codex: { rules: ["94.7%"], warning: "75%", setting: "model_auto_compact_token_limit", layered: true },
  "gemini-cli": { rules: ["50%"], warning: "40%", setting: "model.compressionThreshold", layered: true },
  // The most output that it requests. A model with an input limit compacts at that limit − compaction.reserved.
  opencode: {
    rules: [-32_000],
    warning: "75%",
    setting: "the model's limit or compaction.reserved",
    layered: true,
  },
  kilo: {
    rules: [-32_000],
    warning: "75%",
    setting: "compaction.threshold_percent or the model's limit",
    layered: true,
  },
  copilot: { rules: ["80%"], warning: "65%" },
  cline: { rules: ["81%"], warning: "65%" },
  goose: { rules: ["80%"], warning: "65%", setting: "GOOSE_AUTO_COMPACT_THRESHOLD" },
  // reserved_context_size and compaction_trigger_ratio
  kimi: {
    rules: [-50_000, "85%"],
    warning: "60%",
    setting: "loop_control.compaction_trigger_ratio or loop_control.reserved_context_size",
  },
  "qwen-code": {
    rules: ["85%", -33_000],
    warning: "70%",
    setting: "context.autoCompactThreshold",
    layered: true,
  },
  pi: { rules: [-16_384], warning: "75%", setting: "compaction.reserveTokens", layered: true },
  crush: { rules: [-20_000], warning: "70%", small: { upTo: 200_000, rule: "80%" } },
  // Of the window without room for output, which is not known here
  zed: { rules: ["90%"], warning: "75%", small: { upTo: 79_999, rule: null }, setting: "agent.auto_compact" },
  deepagents: { rules: ["85%"], warning: "70%" },
} satisfies Record<string, OwnLine>;

/** Families whose own line is known. */
export type OwnLineFamily = keyof typeof OWN_LINES;
export const OWN_LINE_FAMILIES: readonly string[] = Object.keys(OWN_LINES);

const LINES: ReadonlyMap<string, OwnLine> = new Map(Object.entries(OWN_LINES));

const ownOf = (harness: string): OwnLine | undefined => LINES.get(familyOf(harness));

/** The setting that changes a harness's own line. */
export const lineSetting = (harness: string): string | undefined => ownOf(harness)?.setting;

/** Whether settings of a project or an administrator win over those of the user. */
export const hasLayers = (harness: string): boolean => ownOf(harness)?.layered === true;

export const hasOwnLine = (harness: string): boolean => ownOf(harness) !== undefined;

/**
 * Where a harness compacts by itself with its default settings, in tokens. Undefined if its family or the size of its window is
 * unknown, or if it does not compact in such a window.
 * @example ownLine("claude-code@laptop", 200_000) // 167000
 */
export function ownLine(harness: string, windowTokens: number | undefined): number | undefined {
  const own = ownOf(harness);
  if (own === undefined || windowTokens === undefined) return undefined;
  const { rules, small } = own;
  const applied = small !== undefined && windowTokens <= small.upTo ? [small.rule] : rules;
  const tokens = applied.map((rule) => thresholdTokens("ceiling", rule, windowTokens) ?? 0);
  return Math.min(...tokens) || undefined;
}

/** The own line of a harness as thresholds, which can state one rule only. */
export function ownThresholds(
  harness: string,
): { ceiling: NonNullable<ThresholdValue>; warning: string } | undefined {
  const own = ownOf(harness);
  return own && { ceiling: own.rules[0], warning: own.warning };
}
