import type { WindowSource } from "@plimsoll/protocol/pure";
export interface ResolvedWindow {
  tokens: number | undefined;
  source: WindowSource;
}

export interface WindowFacts {
  model: string;
  /** What the harness reported with this turn, or earlier in this agent for the same model. Tokens. */
  reported: number | undefined;
  /** Whether a prompt of the agent exceeded the reported size. */
  isRefuted?: boolean;
}

/** Gives the size a person configured or a catalog lists, in tokens; undefined when it knows none. */
export type WindowLookup = (model: string) => number | undefined;

export interface WindowLookups {
  configured: WindowLookup;
  /** The size that other sessions reported for the model. */
  observed?: WindowLookup;
  catalog: WindowLookup;
}

/**
 * Reported beats configured beats observed beats catalog. A larger configured size beats a report that a prompt refuted. Without
 * any of them the size is unknown: there is no default.
 */
export function resolveWindow(facts: WindowFacts, lookups: WindowLookups): ResolvedWindow {
  const { reported, isRefuted = false } = facts;
  if (reported !== undefined && !isRefuted) return { tokens: reported, source: "reported" };
  const configured = lookups.configured(facts.model);
  if (reported !== undefined && (configured === undefined || configured <= reported))
    return { tokens: reported, source: "reported" };
  if (configured !== undefined) return { tokens: configured, source: "configured" };
  const observed = lookups.observed?.(facts.model);
  if (observed !== undefined) return { tokens: observed, source: "observed" };
  const catalog = lookups.catalog(facts.model);
  if (catalog !== undefined) return { tokens: catalog, source: "catalog" };
  return { tokens: undefined, source: "unknown" };
}

/** Context tokens ÷ window tokens; above 1 the window is suspect and is shown so. */
export function utilizationOf(
  contextTokens: number | undefined,
  windowTokens: number | undefined,
): number | undefined {
  return contextTokens === undefined || windowTokens === undefined || windowTokens === 0
    ? undefined
    : contextTokens / windowTokens;
}
