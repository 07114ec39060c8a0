import type { FleetAgent } from "@plimsoll/protocol/api";

/** Milliseconds without activity after which a live agent is silent. The server sorts by the same time. */
export const SILENT_AFTER = 10 * 60_000;
/** Milliseconds between two changes of the order of rows. */
export const STEADY_FOR = 10_000;

export const FLEET_SORTS = ["line", "load", "tokens", "last"] as const;
export type FleetSort = (typeof FLEET_SORTS)[number];

/** @param now epoch ms */
export function isSilent({ active_at }: Pick<FleetAgent, "active_at">, now: number): boolean {
  return Date.parse(active_at) <= now - SILENT_AFTER;
}

/**
 * Minutes until an agent reaches its line at its present pace, for comparison only: 0 past its line, infinite if it does not
 * get there. Without a known pace, a turn counts as a minute.
 */
export function minutesToLine({ forecast, line, context_tokens: level }: FleetAgent): number {
  if (line !== null && level !== null && level >= line.tokens) return 0;
  const { reason, turns, minutes } = forecast;
  return reason === "rising" && turns !== null ? (minutes ?? turns) : Number.POSITIVE_INFINITY;
}

type Compare = (a: FleetAgent, b: FleetAgent) => number;

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
export function sortFleet(agents: readonly FleetAgent[], sort: FleetSort, now: number): FleetAgent[] {
  const group = (agent: FleetAgent) => (isSilent(agent, now) ? 2 : agent.window_suspect ? 1 : 0);
  return agents.toSorted((a, b) => group(a) - group(b) || COMPARE[sort](a, b));
}

/** The order of rows on screen. */
export interface SteadyOrder {
  ids: readonly string[];
  /** When rows last changed places, epoch ms. */
  since: number;
}

/**
 * The next order on screen. Agents come and go at once; rows change places at most every ten seconds, and not while they are
 * held. Returns `shown` itself if nothing changes.
 * @param wanted the ids in the order of the latest data
 */
export function steadyOrder(
  shown: SteadyOrder,
  wanted: readonly string[],
  { now, held }: { now: number; held: boolean },
): SteadyOrder {
  const kept = keepPlaces(shown.ids, wanted, held);
  const moves = !held && now - shown.since >= STEADY_FOR && !isSameOrder(kept, wanted);
  if (moves) return { ids: wanted, since: now };
  return isSameOrder(kept, shown.ids) ? shown : { ids: kept, since: shown.since };
}

/** The shown ids that are still wanted, with each new one after the one it follows in `wanted`; at the end while held. */
function keepPlaces(shown: readonly string[], wanted: readonly string[], held: boolean): string[] {
  const wantedSet = new Set(wanted);
  const known = new Set(shown);
  const kept = shown.filter((id) => wantedSet.has(id));
  if (held) return [...kept, ...wanted.filter((id) => !known.has(id))];
  const followers = new Map<string | undefined, string[]>();
  let last: string | undefined;
  for (const id of wanted) {
    if (known.has(id)) last = id;
    else followers.set(last, [...(followers.get(last) ?? []), id]);
  }
  return [...(followers.get(undefined) ?? []), ...kept.flatMap((id) => [id, ...(followers.get(id) ?? [])])];
}

export const isSameOrder = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((id, index) => id === b[index]);
