import type { AlertRuleInput } from "./alert-rule.ts";

/** Rules that are switched on by one click, by name. */
export const ALERT_PRESETS = {
  past_line: {
    name: "Stays past its line",
    condition: { type: "past_line" },
    severity: "critical",
    keep_firing_for: "1m",
  },
  over_window: {
    name: "Over 100% of the window",
    condition: { type: "window_suspect" },
    severity: "warning",
  },
  thrash: {
    name: "Compacting again and again",
    condition: { type: "thrash", boundaries: 3, within_turns: 10 },
    severity: "warning",
  },
  silent_harness: {
    name: "Harness stopped reporting",
    condition: { type: "harness_silence", longer_than: "10m" },
    severity: "critical",
  },
  policy_rejected: {
    name: "Policy rejected",
    condition: { type: "policy", state: "rejected" },
    severity: "warning",
  },
} as const satisfies Record<string, AlertRuleInput>;
export type AlertPreset = keyof typeof ALERT_PRESETS;
export const ALERT_PRESET_NAMES = Object.keys(ALERT_PRESETS) as [AlertPreset, ...AlertPreset[]];
