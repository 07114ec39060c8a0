import type { ThresholdValue } from "@plimsoll/protocol/policy";
import { type PolicySettings, thresholdTokens } from "@plimsoll/protocol/pure";

/** Where a harness compacts. `share` is a fraction of its window; `unknown` if it depends on a window of unknown size. */
export type HarnessLine =
  | { kind: "tokens"; tokens: number }
  | { kind: "share"; share: number }
  | { kind: "off" }
  | { kind: "unknown" };

/** The line that a policy asks for. */
export interface WantedLine {
  /** Path in the policy, such as `thresholds.ceiling`. */
  path: string;
  value: NonNullable<ThresholdValue>;
  /** Undefined if it depends on a window of unknown size. */
  tokens?: number;
  /** Fraction of the window, if the policy states one without a floor. */
  share?: number;
  /** Tokens that stay free, if the policy states them so. */
  free?: number;
}

/** `withdraw`: the policy switches its line off, so the harness keeps its own. `unset`: the policy says nothing of a line. */
export type PolicyLine = { kind: "line"; wanted: WantedLine } | { kind: "withdraw" } | { kind: "unset" };

/** The ceiling, else hard, else the reserve. A policy that only warns changes no harness. */
export function policyLine(policy: PolicySettings, windowTokens: number | undefined): PolicyLine {
  if (policy.enforcement === "warn_only") return { kind: "withdraw" };
  let switchedOff = false;
  for (const name of ["ceiling", "hard", "reserve"] as const) {
    const value = policy.thresholds?.[name];
    if (value === null) switchedOff = true;
    if (value === null || value === undefined) continue;
    const tokens = thresholdTokens(name, value, windowTokens);
    if (tokens === 0) continue;
    const share = shareOf(name, value);
    const free = typeof value === "number" && (name === "reserve" || value < 0) ? Math.abs(value) : undefined;
    return {
      kind: "line",
      wanted: {
        path: `thresholds.${name}`,
        value,
        ...(tokens !== undefined && { tokens: Math.min(tokens, windowTokens ?? tokens) }),
        ...(share !== undefined && { share }),
        ...(free !== undefined && { free }),
      },
    };
  }
  return { kind: switchedOff ? "withdraw" : "unset" };
}

function shareOf(name: string, value: ThresholdValue): number | undefined {
  if (typeof value !== "string") return undefined;
  const share = Number.parseFloat(value) / 100;
  return name === "reserve" ? 1 - share : share;
}

/** The fraction to write for a line, rounded down to six digits so that it never exceeds the line. */
export function wantedShare(
  { share, tokens }: WantedLine,
  windowTokens: number | undefined,
): number | undefined {
  if (share !== undefined) return roundedDown(share);
  if (tokens === undefined || windowTokens === undefined) return undefined;
  return roundedDown(tokens / windowTokens);
}

// The small addend undoes the error of binary fractions, such as 0.29 * 1e6 = 289999.99999999994.
const roundedDown = (share: number) => Math.floor(share * 1e6 + 1e-6) / 1e6;

/** A line at a fraction of the window. */
export function shareLine(share: number, windowTokens: number | undefined): HarnessLine {
  if (windowTokens === undefined) return { kind: "share", share };
  return { kind: "tokens", tokens: Math.floor(share * windowTokens + 1e-6) };
}

/** A line as the policy writes it: tokens, a percentage, or null if the harness never compacts. Undefined if unknown. */
export function lineValue(line: HarnessLine): ThresholdValue | undefined {
  if (line.kind === "tokens") return line.tokens;
  if (line.kind === "share") return `${Number((line.share * 100).toFixed(4))}%`;
  return line.kind === "off" ? null : undefined;
}

/** Whether a line is above, below or at what the policy asks for. Undefined if they cannot be compared. */
export function compareLine(line: HarnessLine, wanted: WantedLine): -1 | 0 | 1 | undefined {
  if (line.kind === "off") return 1;
  if (line.kind === "tokens" && wanted.tokens !== undefined) {
    // Rounding a fraction down costs less than one token in a million of the window.
    if (line.tokens > wanted.tokens) return 1;
    return wanted.tokens - line.tokens <= Math.ceil(wanted.tokens * 1e-4) ? 0 : -1;
  }
  if (line.kind === "share" && wanted.share !== undefined) {
    if (Math.abs(line.share - wanted.share) <= 1e-6) return 0;
    return line.share > wanted.share ? 1 : -1;
  }
  return undefined;
}

/** Tokens that stay free above a line. */
export function freeOf(tokens: number | undefined, windowTokens: number | undefined): number | undefined {
  return tokens === undefined || windowTokens === undefined ? undefined : Math.max(0, windowTokens - tokens);
}

/** A line that only the size of the window decides. */
export function fixedLine(
  { windowTokens }: { windowTokens?: number | undefined },
  of: (windowTokens: number) => number,
): { line: HarnessLine } {
  return windowTokens === undefined
    ? { line: { kind: "unknown" } }
    : { line: { kind: "tokens", tokens: of(windowTokens) } };
}
