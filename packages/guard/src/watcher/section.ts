/** Priority of a section. A `critical` section is never compacted. */
export type Priority = "critical" | "high" | "medium" | "low";

/** The part of the prompt that a section belongs to. The budget's `allocation` gives each a share. */
export type Area = "system" | "context" | "observation";

/** How far a section is compacted: not at all, to a summary, to a one-line stub, or left out entirely. */
export type Stage = "full" | "summary" | "stub" | "left_out";

/** One section of a prompt. Immutable; a change is a new object. */
export interface Section {
  readonly id: string;
  /** Name shown in summaries and stubs. */
  readonly label: string;
  readonly content: string;
  readonly tokens: number;
  readonly priority: Priority;
  /** Relevance to the current task, from 0 to 1. */
  readonly relevance?: number;
  /** When the information was current, in epoch ms. */
  readonly recency?: number;
  readonly area?: Area;
  readonly stage?: Stage;
  /** True if no other text may replace it, so that it is never shortened or left out. */
  readonly fixed?: boolean;
}

/**
 * Critical has no weight: it is excluded, because even a high weight times a low relevance could be the lowest score.
 */
const WEIGHTS: Readonly<Record<Exclude<Priority, "critical">, number>> = { high: 1, medium: 0.6, low: 0.3 };
const HALF_LIFE_MS = 24 * 3_600_000;
const DECAY_PER_MS = Math.LN2 / HALF_LIFE_MS;
/** Weight of an unknown relevance or recency; for recency it means one half-life. */
const UNKNOWN = 0.5;

/**
 * Returns a section's value: priority × relevance × recency. The lowest is compacted first; `Infinity` means never.
 * Recency halves every 24 hours. `now` is in epoch ms; a time in the future counts as now.
 */
export function compactionScore(section: Section, now: number): number {
  if (section.priority === "critical") return Number.POSITIVE_INFINITY;
  const relevance = section.relevance === undefined ? UNKNOWN : Math.min(1, Math.max(0, section.relevance));
  return WEIGHTS[section.priority] * relevance * recencyWeight(section.recency, now);
}

/** Returns 1 for now, 0.5 for one day ago, 0.25 for two days ago. Both times are in epoch ms. */
export function recencyWeight(recency: number | undefined, now: number): number {
  if (recency === undefined) return UNKNOWN;
  const age = now - recency;
  return age <= 0 ? 1 : Math.exp(-age * DECAY_PER_MS);
}
