/** What the status line remembers of a session between two calls. */
export interface SessionMemory {
  /** Highest context tokens so far. */
  peak: number;
  /** Context tokens of turns since the level last fell, oldest first. */
  recent: readonly number[];
}

/** Turns that a forecast uses. */
const MOST_RECENT = 12;

/** The memory after a call. A status line is drawn several times for one turn, so an equal level is no turn. */
export function remembered(memory: SessionMemory | undefined, tokens: number | undefined): SessionMemory {
  const known = memory ?? { peak: 0, recent: [] };
  const last = known.recent.at(-1);
  if (tokens === undefined || tokens === last) return known;
  const hasFallen = last !== undefined && tokens < last;
  return {
    ...known,
    peak: Math.max(known.peak, tokens),
    recent: hasFallen ? [tokens] : [...known.recent, tokens].slice(-MOST_RECENT),
  };
}

/** The memory in a file; undefined if the text is none. */
export function parseMemory(text: string): SessionMemory | undefined {
  try {
    const { peak, recent } = JSON.parse(text) as Partial<SessionMemory>;
    if (typeof peak !== "number" || !Array.isArray(recent)) return undefined;
    const levels = recent.filter((level) => typeof level === "number");
    return { peak, recent: levels };
  } catch {
    return undefined;
  }
}
