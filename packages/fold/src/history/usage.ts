import type { Basis } from "@plimsoll/protocol/events";
import type { Usage } from "@plimsoll/protocol/pure";

/**
 * How sure we are of what `input_tokens` means: `inclusive` and `exclusive` were said or proven by the numbers,
 * `unproven` is read as inclusive because nothing contradicts it.
 */
export type ProvenBasis = Basis | "unproven";

/** One turn's counts, normalised so that `fresh + cacheRead + cacheWrite` is the whole prompt. Tokens. */
export interface NormalisedUsage {
  fresh: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
  output: number | undefined;
  reasoning: number | undefined;
  basis: ProvenBasis;
  /** The prompt side of the turn, or undefined when the sender did not count it. Never a sum over turns. */
  contextTokens: number | undefined;
}

/**
 * Reads a usage object whichever way the provider counts cached tokens. When `basis` is absent, cached tokens that
 * exceed the input prove that the input excludes them; anything else is read as inclusive.
 */
export function normaliseUsage(usage: Usage): NormalisedUsage {
  const { input_tokens: input, cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite } = usage;
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const basis = provenBasis(usage);
  const exclusive = basis === "exclusive";
  // One literal, written out: this runs twice for every turn that comes in, and spreading costs more than the sums.
  return {
    fresh: input === undefined ? undefined : exclusive ? input : Math.max(0, input - cached),
    cacheRead,
    cacheWrite,
    output: usage.output_tokens,
    reasoning: usage.reasoning_tokens,
    basis,
    contextTokens: promptOf(input, cached, exclusive),
  };
}

/**
 * Tokens that were written to a cache for an hour: never more than were written. Undefined if the sender does not say for how long, or
 * how many were written.
 */
export function hourWrite({
  cache_write_1h_tokens: hour,
  cache_write_tokens: written,
}: Usage): number | undefined {
  return hour === undefined || written === undefined ? undefined : Math.min(hour, written);
}

export function provenBasis(usage: Usage): ProvenBasis {
  if (usage.basis !== undefined) return usage.basis;
  const cached = (usage.cache_read_tokens ?? 0) + (usage.cache_write_tokens ?? 0);
  if (usage.input_tokens !== undefined && cached > usage.input_tokens) return "exclusive";
  return "unproven";
}

/** Context tokens of one turn: fresh input + cache read + cache write. Undefined when it was not counted. */
export function contextTokens(usage: Usage): number | undefined {
  const { input_tokens: input, cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite } = usage;
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  return promptOf(input, cached, provenBasis(usage) === "exclusive");
}

/** An inclusive prompt cannot be smaller than its cached part; the larger figure is what the window held. */
function promptOf(input: number | undefined, cached: number, exclusive: boolean): number | undefined {
  if (input === undefined) return undefined;
  return exclusive ? input + cached : Math.max(input, cached);
}

/** A call of which nothing was counted. */
export const NO_USAGE: Usage = {
  input_tokens: undefined,
  cache_read_tokens: undefined,
  cache_write_tokens: undefined,
  cache_write_1h_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
};

/**
 * Merges two reports of the same turn field by field: the maximum of each count, because streams report a growing
 * output and placeholders before the final figure. Commutative, associative and idempotent.
 */
export function mergeUsage(a: Usage, b: Usage): Usage {
  const merged: Usage = { ...NO_USAGE, basis: mergeBasis(a.basis, b.basis) };
  for (const count of Object.keys(NO_USAGE) as Exclude<keyof Usage, "basis">[])
    merged[count] = larger(a[count], b[count]);
  return merged;
}

/** The report with the larger prompt, as a whole: fields of two prompts add up to none. Of equal ones, any that says more. */
export function largerPrompt(a: Usage, b: Usage): Usage {
  const context = (contextTokens(a) ?? -1) - (contextTokens(b) ?? -1);
  if (context !== 0) return context > 0 ? a : b;
  for (const count of PROMPT_COUNTS) {
    const difference = (a[count] ?? -1) - (b[count] ?? -1);
    if (difference !== 0) return difference > 0 ? a : b;
  }
  return BASES.indexOf(a.basis) >= BASES.indexOf(b.basis) ? a : b;
}

const PROMPT_COUNTS = ["input_tokens", "cache_read_tokens", "cache_write_tokens"] as const;
const BASES: readonly (Basis | undefined)[] = [undefined, "inclusive", "exclusive"];

/** Said beats unsaid; two that contradict settle on exclusive, whichever came first. */
export function mergeBasis(a: Basis | undefined, b: Basis | undefined): Basis | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a === b ? a : "exclusive";
}

export function larger(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return Math.max(a, b);
}
