import type { Composition, TurnEvent, Usage } from "./events.ts";
import { COMPOSITION_PARTS } from "./events.ts";
import { compareText } from "./timeline.ts";
import { larger, mergeUsage } from "./usage.ts";

/** What a sender said of one inference call, merged over every time it was sent. Times in epoch ms. */
export interface TurnFacts {
  /** Identity within the agent; also breaks ties in order. */
  key: string;
  at: number;
  model: string;
  usage: Usage;
  seq: number | undefined;
  /** Window index the sender gave; when absent it is counted from the boundaries. */
  sentWindow: number | undefined;
  /** Size of the window the harness reported with this turn, tokens. */
  sentLimit: number | undefined;
  estimated: boolean;
  /** The call was made to compact the context: its prompt is not a level. */
  compaction: boolean;
  composition: Composition | undefined;
  durationMs: number | undefined;
  costUsd: number | undefined;
}

export function turnFacts(event: TurnEvent, key: string): TurnFacts {
  return {
    key,
    at: event.at,
    model: event.model,
    usage: event.usage,
    seq: event.seq,
    sentWindow: event.window,
    sentLimit: event.context_window,
    estimated: event.estimated ?? false,
    compaction: event.purpose === "compaction",
    composition: event.composition,
    durationMs: event.duration_ms,
    costUsd: event.cost_usd,
  };
}

/**
 * Merges two reports of one turn: counts take the maximum, the first time is kept, and a measured count replaces an
 * estimate. The result does not depend on the order or the number of reports.
 */
export function mergeTurns(a: TurnFacts, b: TurnFacts): TurnFacts {
  return {
    key: a.key,
    at: Math.min(a.at, b.at),
    model: compareText(a.model, b.model) > 0 ? a.model : b.model,
    usage: a.estimated === b.estimated ? mergeUsage(a.usage, b.usage) : a.estimated ? b.usage : a.usage,
    seq: larger(a.seq, b.seq),
    sentWindow: larger(a.sentWindow, b.sentWindow),
    sentLimit: larger(a.sentLimit, b.sentLimit),
    estimated: a.estimated && b.estimated,
    compaction: a.compaction || b.compaction,
    composition: mergeComposition(a.composition, b.composition),
    durationMs: larger(a.durationMs, b.durationMs),
    costUsd: larger(a.costUsd, b.costUsd),
  };
}

function mergeComposition(a: Composition | undefined, b: Composition | undefined): Composition | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const merged = {} as Composition;
  for (const part of COMPOSITION_PARTS) merged[part] = larger(a[part], b[part]);
  return merged;
}
