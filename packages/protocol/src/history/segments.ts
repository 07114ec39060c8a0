import { type AgentState, latestEventAt } from "./agent-state.ts";
import { extendAgent, type FoldOptions, type FoldResult } from "./fold.ts";
import type { MarkFacts } from "./mark.ts";
import type { TurnFacts } from "./turn.ts";

/** Events of one agent in any order. */
export interface AgentEvents {
  turns: readonly TurnFacts[];
  marks: readonly MarkFacts[];
}

/** A run of an agent's events that later events do not reach: a late event is folded again from the cut before it. */
export interface Segment {
  /** Epoch ms. Every event of this and the earlier segments is at or before it. */
  endsAt: number;
  result: FoldResult;
}

export interface Segments {
  closed: Segment[];
  /** The events after the last cut, and the state they lead to. */
  open: FoldResult;
}

export interface SegmentOptions {
  /** Turns after which a segment is cut. */
  size: number;
  /** Turns since the last cut before `state`. */
  openTurns: number;
  /** Least turns after a cut; 0 by default. */
  keep?: number;
}

/**
 * Continues from a state and cuts the events into segments. Returns undefined if some event does not come after
 * everything the state has seen.
 */
export function foldSegments(
  state: AgentState,
  events: AgentEvents,
  options: FoldOptions,
  { size, openTurns, keep = 0 }: SegmentOptions,
): Segments | undefined {
  const runs: SegmentRun[] = [];
  let from = state;
  // The events after the last cut that can be made, and how they fold.
  let carried: Slice | undefined;
  let open: FoldResult | undefined;
  for (const slice of slicesOf(events, { size, openTurns, keep })) {
    let joined = carried === undefined ? slice : joinSlices(carried, slice);
    let result = extendAgent(from, joined.turns, joined.marks, options);
    while (result === undefined) {
      const previous = runs.pop();
      if (previous === undefined) return undefined;
      joined = joinSlices(previous.slice, joined);
      from = previous.from;
      result = extendAgent(from, joined.turns, joined.marks, options);
    }
    if (slice.full && mayCut(result.state)) {
      runs.push({ from, slice: joined, result });
      from = result.state;
      carried = undefined;
      open = undefined;
    } else {
      carried = joined;
      open = result;
    }
  }
  open ??= extendAgent(from, [], [], options);
  if (open === undefined) return undefined;
  return { closed: runs.map(({ result }) => ({ endsAt: latestEventAt(result.state), result })), open };
}

interface SegmentRun {
  from: AgentState;
  slice: Slice;
  result: FoldResult;
}

interface Slice {
  turns: TurnFacts[];
  marks: MarkFacts[];
  full: boolean;
}

/** A cut must not separate a boundary from the turn that shows its effect, or a report from its level. */
export function mayCut({ pending, unmatched }: AgentState): boolean {
  return pending.length === 0 && unmatched.length === 0;
}

/** Slices by time. Events of the same time stay together. */
function slicesOf(
  { turns, marks }: AgentEvents,
  { size, openTurns, keep }: Required<SegmentOptions>,
): Slice[] {
  if (openTurns + turns.length < size + keep) return [{ turns: [...turns], marks: [...marks], full: false }];
  const events = [
    ...turns.map((turn) => ({ at: turn.at, turn, mark: undefined })),
    ...marks.map((mark) => ({ at: mark.at, turn: undefined, mark })),
  ].sort((a, b) => a.at - b.at);
  const slices: Slice[] = [];
  let slice: Slice = { turns: [], marks: [], full: false };
  let before = openTurns;
  let left = turns.length;
  for (const [index, { at, turn, mark }] of events.entries()) {
    if (turn === undefined) slice.marks.push(mark);
    else {
      slice.turns.push(turn);
      left -= 1;
    }
    if (left < keep || before + slice.turns.length < size || events[index + 1]?.at === at) continue;
    slices.push({ ...slice, full: true });
    slice = { turns: [], marks: [], full: false };
    before = 0;
  }
  if (slice.turns.length + slice.marks.length > 0) slices.push(slice);
  return slices;
}

function joinSlices(earlier: Slice, later: Slice): Slice {
  return {
    turns: [...earlier.turns, ...later.turns],
    marks: [...earlier.marks, ...later.marks],
    full: later.full,
  };
}
