/**
 * The fingerprints of a conversation's messages after its leading system messages, which harnesses write anew for every
 * call. Two columns of numbers, so that a state can store thousands of messages.
 */
export interface Trail {
  /** Of everything that a message says. */
  exact: readonly number[];
  /** Without what harnesses shorten themselves: the texts of results, and the arguments of calls that have an id. */
  loose: readonly number[];
}

/** How a history differs from the one that was seen before it. */
export type HistoryChange =
  /** Nothing, or messages were added at its end. */
  | "grown"
  /** Its end was taken back or replaced, as by a retry, an undo or a fork. */
  | "rewound"
  /** Its oldest messages were dropped. */
  | "trimmed"
  /** A message that the user or the agent wrote was changed, inserted or removed. */
  | "edited"
  /** Nothing of it is left. */
  | "reset";

/** Messages that stand in both histories, in one piece. */
export interface SharedPiece {
  /** Index of the first one before. */
  from: number;
  /** Index of the first one now. */
  to: number;
  length: number;
}

export interface Alignment {
  change: HistoryChange;
  /** In order. They do not overlap. */
  pieces: readonly SharedPiece[];
  /** Messages in the pieces that say exactly the same as before. */
  exact: number;
  /** True if one of them is the agent's. Two conversations may begin with the same words of a user. */
  answered: boolean;
}

/** Positions of one message that are compared, where it was said many times. */
const MOST_POSITIONS = 8;

/**
 * Finds the messages of `before` in `now`, wherever a harness moved them. Results and arguments may have been shortened in
 * place.
 * @param isAgents whether the message at an index of `now` is the agent's
 */
export function align(before: Trail, now: Trail, isAgents: (index: number) => boolean): Alignment {
  const same = commonStart(before.exact, now.exact);
  const shift = likeliestShift(before.exact, now.exact, same);
  const pieces: SharedPiece[] = [];
  let exact = 0;
  let answered = false;
  const compare = (to: number, from: number) => {
    if (before.loose[from] !== now.loose[to]) return;
    const piece = pieces.at(-1);
    if (piece !== undefined && piece.to + piece.length === to && piece.from + piece.length === from)
      piece.length++;
    else pieces.push({ from, to, length: 1 });
    if (before.exact[from] !== now.exact[to]) return;
    exact++;
    answered ||= isAgents(to);
  };
  // A harness that drops old messages may keep the first ones.
  if (shift !== 0) for (let index = 0; index < same; index++) compare(index, index);
  const first = shift === 0 ? 0 : Math.max(same, same - shift);
  for (let to = first; to < now.exact.length && to + shift < before.exact.length; to++)
    compare(to, to + shift);
  // A user's "continue" at another place is no evidence.
  if (shift !== 0 && !answered) return { change: "reset", pieces: [], exact: 0, answered };
  return { change: changeOf(before, pieces), pieces, exact, answered };
}

function commonStart(before: readonly number[], now: readonly number[]): number {
  let same = 0;
  while (same < before.length && same < now.length && before[same] === now[same]) same++;
  return same;
}

/** By how many messages most of them moved towards the beginning. */
function likeliestShift(before: readonly number[], now: readonly number[], same: number): number {
  // No other shift can have more in common.
  if (same * 2 >= Math.min(before.length, now.length)) return 0;
  const positions = new Map<number, number[]>();
  for (const [index, print] of before.entries()) {
    const known = positions.get(print);
    if (known === undefined) positions.set(print, [index]);
    else if (known.length < MOST_POSITIONS) known.push(index);
    else known[MOST_POSITIONS - 1] = index;
  }
  const votes = new Map<number, number>([[0, 0]]);
  for (const [to, print] of now.entries()) {
    for (const from of positions.get(print) ?? []) votes.set(from - to, (votes.get(from - to) ?? 0) + 1);
  }
  let best = 0;
  for (const [shift, count] of votes) {
    const most = votes.get(best)!;
    if (count > most || (count === most && Math.abs(shift) < Math.abs(best))) best = shift;
  }
  return best;
}

function changeOf(before: Trail, pieces: readonly SharedPiece[]): HistoryChange {
  if (before.exact.length === 0) return "grown";
  let to = 0;
  let from = 0;
  for (const piece of pieces) {
    if (piece.to > to) return "edited";
    from = piece.from;
    to += piece.length;
  }
  const [first] = pieces;
  if (first === undefined) return "reset";
  if (pieces.length === 1 && from === 0) return first.length === before.exact.length ? "grown" : "rewound";
  return "trimmed";
}

/**
 * Where a cut stands now; undefined if something before it is not what it was.
 * @param at the number of messages before the cut, in the history before
 */
export function placeOfCut({ pieces }: Alignment, at: number): number | undefined {
  let to = 0;
  for (const piece of pieces) {
    if (piece.to !== to) return undefined;
    if (piece.from >= at) return to;
    if (piece.from + piece.length >= at) return to + at - piece.from;
    to += piece.length;
  }
  return undefined;
}

/** The index now of a message; undefined if it is gone or changed. */
export function placeOf({ pieces }: Alignment, index: number): number | undefined {
  const piece = pieces.find(({ from, length }) => from <= index && index < from + length);
  return piece === undefined ? undefined : index - piece.from + piece.to;
}
