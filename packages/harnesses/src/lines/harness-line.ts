import type { InForce } from "@plimsoll/fold";
import { type HarnessLineBasis, lineOf } from "@plimsoll/protocol/pure";
import { hasOwnLine, ownLine } from "./own-lines.ts";

/** Where a harness compacts by itself. */
export interface OwnHarnessLine {
  /** Undefined if it is off or unknown. */
  tokens: number | undefined;
  basis: HarnessLineBasis;
}

/**
 * Where a harness compacts by itself. A policy that the harness has not acknowledged does not move it.
 * @returns undefined if the harness acknowledged no line, and that of its family is not known here
 */
export function harnessLine(
  harness: string,
  { thresholds, sources }: InForce,
  windowTokens: number | undefined,
): OwnHarnessLine | undefined {
  const computed = hasOwnLine(harness) ? withTokens("computed", ownLine(harness, windowTokens)) : undefined;
  if (sources.ceiling !== "acknowledged") return computed;
  const size = windowTokens ?? ANY_WINDOW;
  const line = lineOf(thresholds, size);
  if (line === undefined) return computed;
  // A harness that does not compact acknowledges a hard line at the end of its window.
  if (thresholds.ceiling === null && line.tokens >= size) return { tokens: undefined, basis: "off" };
  return withTokens("acknowledged", lineOf(thresholds, windowTokens)?.tokens);
}

/** Any size tells whether a line is the end of the window. */
const ANY_WINDOW = 1_000_000;

const withTokens = (basis: HarnessLineBasis, tokens: number | undefined): OwnHarnessLine =>
  tokens === undefined ? { tokens, basis: "unknown" } : { tokens, basis };
