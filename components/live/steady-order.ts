/** Milliseconds between two changes of the order of rows. */
export const STEADY_FOR = 10_000;

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
