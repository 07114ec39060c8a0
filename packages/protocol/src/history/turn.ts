import type { Composition, TurnEvent, Usage } from "../events/events.ts";
import { COMPOSITION_PARTS } from "../events/events.ts";
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
  /** The parts were estimated from what was sent, not counted. False without parts. */
  compositionEstimated: boolean;
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
    compositionEstimated: event.composition !== undefined && event.composition_estimated === true,
    durationMs: event.duration_ms,
    costUsd: event.cost_usd,
  };
}

/**
 * Merges two reports of one turn: counts take the maximum, the first time is kept, and a measured prompt replaces an
 * estimated one. The result does not depend on the order or the number of reports.
 */
export function mergeTurns(a: TurnFacts, b: TurnFacts): TurnFacts {
  const weightA = promptWeight(a);
  const weightB = promptWeight(b);
  const even = weightA === weightB;
  return {
    key: a.key,
    at: Math.min(a.at, b.at),
    model: compareText(a.model, b.model) > 0 ? a.model : b.model,
    usage: mergeUsage(
      even || weightA > weightB ? a.usage : withoutPrompt(a.usage),
      even || weightB > weightA ? b.usage : withoutPrompt(b.usage),
    ),
    seq: larger(a.seq, b.seq),
    sentWindow: larger(a.sentWindow, b.sentWindow),
    sentLimit: larger(a.sentLimit, b.sentLimit),
    estimated: even ? a.estimated && b.estimated : weightA > weightB ? a.estimated : b.estimated,
    compaction: a.compaction || b.compaction,
    ...mergeParts(a, b),
    durationMs: larger(a.durationMs, b.durationMs),
    costUsd: larger(a.costUsd, b.costUsd),
  };
}

/** A report that only counts the output says nothing of the prompt, measured or not. */
function promptWeight({ usage, estimated }: TurnFacts): 0 | 1 | 2 {
  const counted =
    usage.input_tokens !== undefined ||
    usage.cache_read_tokens !== undefined ||
    usage.cache_write_tokens !== undefined;
  if (!counted) return 0;
  return estimated ? 1 : 2;
}

function withoutPrompt(usage: Usage): Usage {
  return {
    ...usage,
    input_tokens: undefined,
    cache_read_tokens: undefined,
    cache_write_tokens: undefined,
    basis: undefined,
  };
}

/** Counted parts replace estimated ones. */
function mergeParts(a: TurnFacts, b: TurnFacts): Pick<TurnFacts, "composition" | "compositionEstimated"> {
  const countedOf = (facts: TurnFacts) => facts.composition !== undefined && !facts.compositionEstimated;
  const [counted, other] = countedOf(a) ? [a, b] : [b, a];
  if (countedOf(counted) && !countedOf(other))
    return { composition: counted.composition, compositionEstimated: false };
  const composition = mergeComposition(a.composition, b.composition);
  return { composition, compositionEstimated: a.compositionEstimated || b.compositionEstimated };
}

function mergeComposition(a: Composition | undefined, b: Composition | undefined): Composition | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const merged = {} as Composition;
  for (const part of COMPOSITION_PARTS) merged[part] = larger(a[part], b[part]);
  return merged;
}
