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
const HOUR_MS = 3_600_000;
/** Weight of an unknown relevance or recency; for recency it means one half-life. */
const UNKNOWN = 0.5;

/** Weight of information by its age in hours, from 1 for now down to 0. */
export type Recency = (ageHours: number) => number;

/** Halves every 24 hours. */
export const halfLife: Recency = (ageHours) => 0.5 ** (ageHours / 24);

/** `exp(-ageHours / 24)`, the formula of the design of optimistic compaction. Halves every 16.6 hours. */
export const expDecay: Recency = (ageHours) => Math.exp(-ageHours / 24);

/**
 * Returns a section's value: priority × relevance × recency. The lowest is compacted first; `Infinity` means never.
 * `now` is in epoch ms; a time in the future counts as now.
 */
export function compactionScore(section: Section, now: number, recency: Recency = halfLife): number {
  if (section.priority === "critical") return Number.POSITIVE_INFINITY;
  const relevance = section.relevance === undefined ? UNKNOWN : Math.min(1, Math.max(0, section.relevance));
  return WEIGHTS[section.priority] * relevance * recencyWeight(section.recency, now, recency);
}

/** The weight of information that was current at a time. Both times are in epoch ms. */
export function recencyWeight(at: number | undefined, now: number, recency: Recency = halfLife): number {
  if (at === undefined) return UNKNOWN;
  return now <= at ? 1 : recency((now - at) / HOUR_MS);
}
