import type { LineVerdict } from "@plimsoll/protocol/pure";
/** A compaction that a harness began by itself. */
export interface AutomaticFall {
  /** Epoch ms. */
  at: number;
  /** Context tokens before it. */
  tokens: number;
}

/** Where most compactions of a harness began, in tokens. */
export interface ObservedLine {
  /** How many began within the range, of how many in all. */
  falls: number;
  of: number;
  lowest: number;
  highest: number;
  /** Of the falls in the range. */
  median: number;
  /** The latest of them, epoch ms. */
  lastAt: number;
}

/** The range reaches at most this share of its upper end down. One turn adds a few percent of a window. */
const SPREAD = 0.15;

/**
 * The narrow range in which most of some falls began. Falls elsewhere, such as those of an idle session, do not widen it.
 * Of two ranges with as many falls, the one with the latest fall counts, then the higher one. The order of the falls has no effect.
 * @returns undefined without falls
 */
export function observedLine(falls: readonly AutomaticFall[]): ObservedLine | undefined {
  const sorted = falls.filter(({ tokens }) => tokens > 0).sort((one, other) => one.tokens - other.tokens);
  let best: ObservedLine | undefined;
  let from = 0;
  for (const [to, { tokens: highest }] of sorted.entries()) {
    while (sorted[from]!.tokens < highest * (1 - SPREAD)) from += 1;
    const count = to - from + 1;
    if (best !== undefined && count < best.falls) continue;
    const range = sorted.slice(from, to + 1);
    const lastAt = Math.max(...range.map(({ at }) => at));
    if (best !== undefined && count === best.falls && lastAt < best.lastAt) continue;
    best = {
      falls: count,
      of: sorted.length,
      lowest: range[0]!.tokens,
      highest,
      median: range[count >> 1]!.tokens,
      lastAt,
    };
  }
  return best;
}

/** The falls without those that were reported twice, for example by a hook and by a transcript. In order of time. */
export function distinctFalls<Fall extends AutomaticFall & { agent: number | string }>(
  falls: readonly Fall[],
): Fall[] {
  const sorted = [...falls].sort((one, other) => one.at - other.at || one.tokens - other.tokens);
  const latest = new Map<string, number>();
  return sorted.filter(({ agent, tokens, at }) => {
    const key = `${agent}/${tokens}`;
    const before = latest.get(key);
    if (before !== undefined && at - before <= SAME_FALL_MS) return false;
    latest.set(key, at);
    return true;
  });
}

/** Within this time, an agent does not fill the same window to the same token twice. */
const SAME_FALL_MS = 60_000;

/** Fewer falls prove nothing. */
const ENOUGH = 3;
/** A turn before the line may be this far below it: the next one would have crossed it. */
const BELOW = 0.9;
/** A level just above the line includes the turn that crossed it. */
const ABOVE = 1.05;

/** Whether a compaction from a level is one at a line. Tokens. */
export const isAtLine = (level: number, line: number): boolean =>
  level >= line * BELOW && level <= line * ABOVE;

/** @param line tokens, `off`, or undefined if unknown */
export function judgeLine(
  { falls, of, lowest, highest }: Pick<ObservedLine, "falls" | "of" | "lowest" | "highest">,
  line: number | "off" | undefined,
): LineVerdict {
  if (falls < ENOUGH) return "too_few";
  if (line === "off") return "not_off";
  if (falls * 2 <= of) return "scattered";
  if (line === undefined) return "no_line";
  if (highest < line * BELOW) return "earlier";
  return lowest > line * ABOVE ? "later" : "agrees";
}

/** Whether a harness does something else than its own line says. */
export const isDifferent = (verdict: LineVerdict): boolean =>
  verdict === "earlier" || verdict === "later" || verdict === "not_off";
