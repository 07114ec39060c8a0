/** What the order of a fleet depends on: a row of `/api/v1/fleet`. */
export interface OrderedAgent {
  /** ISO 8601. */
  active_at: string;
  load: number | null;
  context_tokens: number | null;
  line: { tokens: number } | null;
  forecast: { reason: string; turns: number | null; minutes: number | null };
  window_suspect: boolean;
}

/** Milliseconds without activity after which a live agent is silent. The server sorts by the same time. */
export const SILENT_AFTER = 10 * 60_000;

export const FLEET_SORTS = ["line", "load", "tokens", "last"] as const;
export type FleetSort = (typeof FLEET_SORTS)[number];

/** @param now epoch ms */
export function isSilent({ active_at }: Pick<OrderedAgent, "active_at">, now: number): boolean {
  return Date.parse(active_at) <= now - SILENT_AFTER;
}

/**
 * Minutes until an agent reaches its line at its present pace, for comparison only: 0 past its line, infinite if it does not
 * get there. Without a known pace, a turn counts as a minute.
 */
export function minutesToLine({ forecast, line, context_tokens: level }: OrderedAgent): number {
  if (line !== null && level !== null && level >= line.tokens) return 0;
  const { reason, turns, minutes } = forecast;
  return reason === "rising" && turns !== null ? (minutes ?? turns) : Number.POSITIVE_INFINITY;
}

type Compare = (a: OrderedAgent, b: OrderedAgent) => number;

const byLoad: Compare = (a, b) => (b.load ?? -1) - (a.load ?? -1);

const COMPARE: Readonly<Record<FleetSort, Compare>> = {
  line: (a, b) => {
    const [first, second] = [minutesToLine(a), minutesToLine(b)];
    return first === second ? byLoad(a, b) : first - second;
  },
  load: byLoad,
  tokens: (a, b) => (b.context_tokens ?? -1) - (a.context_tokens ?? -1),
  last: (a, b) => Date.parse(b.active_at) - Date.parse(a.active_at),
};

/**
 * The agents in the order of `sort`. Those with a suspect window follow, because their load is wrong, then silent ones. Keeps the
 * order of equals.
 */
export function sortFleet<T extends OrderedAgent>(agents: readonly T[], sort: FleetSort, now: number): T[] {
  const group = (agent: OrderedAgent) => (isSilent(agent, now) ? 2 : agent.window_suspect ? 1 : 0);
  return agents.toSorted((a, b) => group(a) - group(b) || COMPARE[sort](a, b));
}
