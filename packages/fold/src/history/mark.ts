import type { MarkEvent } from "@plimsoll/protocol/events";
import { BOUNDARY_TYPES, type BoundaryType, type Survived } from "@plimsoll/protocol/pure";

/** How a mark reads that reports a boundary again, such as the hook and the log of one compaction. It explains nothing. */
export const REPEATED = "repeated";

/** Boundaries after which the agent begins a new window. */
const OPENERS: ReadonlySet<string> = new Set(["subtick", "restarted", "cleared"]);

/** An event of an agent that is not a turn, reduced to what moves or explains its level. Times in epoch ms. */
export interface MarkFacts {
  id: string;
  at: number;
  type: MarkEvent["type"];
  sentWindow: number | undefined;
  tokensBefore: number | undefined;
  tokensAfter: number | undefined;
  crossing: ReportedCrossing | undefined;
  survived: Survived | undefined;
}

/** A crossing as a harness reported it. Tokens. */
export interface ReportedCrossing {
  threshold: string;
  up: boolean;
  thresholdTokens: number;
  contextTokens: number;
}

export function markFacts(event: MarkEvent): MarkFacts {
  return {
    id: event.id,
    at: event.at,
    type: event.type,
    sentWindow: event.window,
    tokensBefore: "tokens_before" in event ? event.tokens_before : undefined,
    tokensAfter: "tokens_after" in event ? event.tokens_after : undefined,
    crossing:
      event.type === "threshold_crossed"
        ? {
            threshold: event.threshold,
            up: event.direction === "up",
            thresholdTokens: event.threshold_tokens,
            contextTokens: event.context_tokens,
          }
        : undefined,
    survived: event.type === "compacted" ? event.survived : undefined,
  };
}

export function isBoundary(type: string): type is BoundaryType {
  return (BOUNDARY_TYPES as readonly string[]).includes(type);
}

export function opensWindow(type: string): boolean {
  return OPENERS.has(type);
}
