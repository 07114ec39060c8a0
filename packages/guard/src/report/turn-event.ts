import type { Crossing, UsageEvidence } from "@plimsoll/fold";
import type { StopReason, TurnContents, Usage } from "@plimsoll/protocol/pure";
import type { ObserveFacts } from "../conversation/types.ts";
import type { TurnObserved } from "../state/observe-turn.ts";
import type { ContextComposition } from "../view/composition.ts";
import type { EventBody } from "./events.ts";

export interface TurnToReport {
  id: string;
  model: string;
  usage: Usage;
  evidence: UsageEvidence;
  facts: ObserveFacts;
  /** The guard's interpretation; `undefined` for a turn of another agent or purpose. */
  observed: TurnObserved | undefined;
  /** Window size in tokens, as reported by the provider or configured. */
  reportedWindow: number | undefined;
  composition: ContextComposition | undefined;
  contents: TurnContents | undefined;
  stop: StopReason | undefined;
}

/**
 * Builds the `turn` event of one call. Without a count that can be, it carries the estimate and sets `estimated`. Counts that
 * contradict each other are sent as they are, and set it too.
 */
export function turnBody(turn: TurnToReport): EventBody {
  const { id, model, usage, evidence, facts, observed, reportedWindow, composition, contents, stop } = turn;
  const contradictory = evidence === "contradiction";
  const replaced = !contradictory && observed?.estimated === true && observed.level !== undefined;
  return {
    type: "turn",
    id,
    model,
    usage: replaced ? { ...usage, input_tokens: observed.level, basis: "inclusive" } : usage,
    ...(replaced || contradictory ? { estimated: true } : {}),
    ...(reportedWindow === undefined ? {} : { context_window: reportedWindow }),
    ...(composition === undefined ? {} : { composition }),
    ...(contents === undefined ? {} : { contents }),
    ...(facts.durationMs === undefined ? {} : { duration_ms: facts.durationMs }),
    ...(facts.costUsd === undefined ? {} : { cost_usd: facts.costUsd }),
    ...(facts.purpose === undefined ? {} : { purpose: facts.purpose }),
    ...(stop === undefined ? {} : { stop_reason: stop }),
  };
}

/** Builds the event of one crossed threshold. */
export function crossingBody({ threshold, up, thresholdTokens, contextTokens }: Crossing): EventBody {
  return {
    type: "threshold_crossed",
    threshold,
    direction: up ? "up" : "down",
    threshold_tokens: thresholdTokens,
    context_tokens: contextTokens,
  };
}
