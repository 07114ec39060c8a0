export type Priority = "critical" | "high" | "medium" | "low";

/** Which part of the prompt a section belongs to; the allocation gives each a share of the budget. */
export type Area = "system" | "context" | "observation";

/**
 * How far a section was compacted: not at all, to a summary, to a one-line stub, or left out with only a count of all
 * that were.
 */
export type Stage = "full" | "summary" | "stub" | "left_out";

/** One piece of a prompt with what is known about its value. Immutable: a change is a new object. */
export interface Section {
  readonly id: string;
  readonly label: string;
  readonly content: string;
  readonly tokens: number;
  readonly priority: Priority;
  /** How much it matters to the task at hand, 0 to 1. */
  readonly relevance?: number;
  /** When the information was current, epoch ms. */
  readonly recency?: number;
  readonly area?: Area;
  readonly stage?: Stage;
}

/** Critical has no weight: it is excluded, so that no low relevance can bring it down to nothing. */
const WEIGHTS: Readonly<Record<Exclude<Priority, "critical">, number>> = { high: 1, medium: 0.6, low: 0.3 };
const HALF_LIFE_MS = 24 * 3_600_000;
const DECAY_PER_MS = Math.LN2 / HALF_LIFE_MS;
/** For what nobody stated. A recency of 0.5 is that of information one half-life old. */
const UNKNOWN = 0.5;

/**
 * Value of a section: the lowest is compacted first; `Infinity` never is. Priority x relevance x recency, where
 * recency halves every 24 hours. `now` in epoch ms; information from the future counts as current.
 */
export function compactionScore(section: Section, now: number): number {
  if (section.priority === "critical") return Number.POSITIVE_INFINITY;
  const relevance = section.relevance === undefined ? UNKNOWN : Math.min(1, Math.max(0, section.relevance));
  return WEIGHTS[section.priority] * relevance * recencyWeight(section.recency, now);
}

/** 1 for now, 0.5 for a day ago, 0.25 for two. */
export function recencyWeight(recency: number | undefined, now: number): number {
  if (recency === undefined) return UNKNOWN;
  const age = now - recency;
  return age <= 0 ? 1 : Math.exp(-age * DECAY_PER_MS);
}
