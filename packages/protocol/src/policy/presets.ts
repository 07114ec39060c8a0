import type { PolicySettings } from "./policy-schema.ts";

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null } as const;

/** The settings of the four designs that Plimsoll unites, by name. */
export const POLICY_PRESETS = {
  phantom: {
    thresholds: { ...OFF, warning: "15%", ceiling: "20%" },
    loop: { max_context_pct: 15 },
    compaction: { mode: "compact" },
    notifications: { compacting: true, boundary: "silent" },
  },
  ouroboros: {
    thresholds: { ...OFF, soft: "70%", hard: "90%" },
    masking: { enabled: true },
    compaction: { mode: "off" },
    restart: { mode: "auto", carryover_turns: 5, max: null },
  },
  autopilot: {
    enforcement: "warn_only",
    thresholds: { ...OFF, warning: "70%", hard: "90%" },
    split: { issues: 3, files: 4, complex_tasks: 5, reads: 10 },
  },
  watcher: {
    thresholds: { ...OFF, reserve: "15%" },
    compaction: { mode: "compact" },
  },
} as const satisfies Record<string, PolicySettings>;
export type PolicyPreset = keyof typeof POLICY_PRESETS;
