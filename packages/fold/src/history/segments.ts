import { type AgentState, latestEventAt } from "./agent-state.ts";
import { type AgentEvents, extendAgent, extendInSteps, type FoldOptions, type FoldResult } from "./fold.ts";
import type { MarkFacts } from "./mark.ts";
import { MOST_WAITED } from "./pending-boundary.ts";
import type { Steps } from "./steps.ts";
import type { TurnFacts } from "./turn.ts";
import { contextTokens } from "./usage.ts";

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
  /** Turns after which a segment is cut, or `MARKS_FOR_TURN` times as many marks. */
  size: number;
  /** Turns and marks since the last cut before `state`. */
  openTurns: number;
  openMarks: number;
  /** Least turns after a cut; 0 by default. */
  keep?: number;
}

/** By how much events that cannot be cut must grow before the next attempt, which folds all of them again. */
const GROWTH = 1.25;
/** A history is cut at marks alone only where many came with few turns: they cost the fold less. */
export const MARKS_FOR_TURN = 4;

/**
 * Continues from a state and cuts the events into segments. Returns undefined if some event does not come after
 * everything the state has seen.
 */
export function* foldSegments(
  state: AgentState,
  events: AgentEvents,
  options: FoldOptions,
  { keep = 0, ...rest }: SegmentOptions,
): Steps<Segments | undefined> {
  const runs: SegmentRun[] = [];
  let from = state;
  // The events after the last cut that can be made, and how they fold.
  let carried: Slice = EMPTY_SLICE;
  let open: FoldResult | undefined;
  /** Events to gather before the next attempt. */
  let enough = 0;
  for (const slice of slicesOf(events, { ...rest, keep })) {
    carried = joinSlices([carried, slice]);
    if (!slice.last && lengthOf(carried) < enough) continue;
    enough = 0;
    let steps = extendInSteps(from, carried, options);
    // Twice as many runs each time, and then as many events at once: events in reverse would be quadratic otherwise.
    for (let back = 1; steps === undefined; back *= 2) {
      const undone = runs.splice(-back);
      const [earliest] = undone;
      if (earliest === undefined) return undefined;
      carried = joinSlices([...undone.map((run) => run.slice), carried]);
      from = earliest.from;
      enough = lengthOf(carried);
      steps = extendInSteps(from, carried, options);
    }
    open = yield* steps;
    yield;
    if (slice.full && mayCut(open.state)) {
      runs.push({ from, slice: carried, result: open });
      from = open.state;
      carried = EMPTY_SLICE;
      open = undefined;
    } else enough = Math.max(enough, GROWTH * lengthOf(carried));
  }
  open ??= extendAgent(from, [], [], options)!;
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
  last: boolean;
}

const EMPTY_SLICE: Slice = { turns: [], marks: [], full: false, last: false };

/**
 * A cut must not separate a boundary from the turn that shows its effect, or a report from its level, unless so many events
 * came in between that neither waits any more.
 */
export function mayCut({ pending, unmatched, waited }: AgentState): boolean {
  return waited === MOST_WAITED || (pending.length === 0 && unmatched.length === 0);
}

/** Slices by time. Events of the same time stay together. */
function* slicesOf(
  { turns, marks }: AgentEvents,
  { size, openTurns, openMarks, keep }: Required<SegmentOptions>,
): Generator<Slice> {
  const mostMarks = MARKS_FOR_TURN * size;
  let left = turns.reduce((count, { isToolResult }) => count + Number(!isToolResult), 0);
  const results = turns.length - left;
  if (openTurns + left < size + keep && openMarks + marks.length + results < mostMarks) {
    yield { turns: [...turns], marks: [...marks], full: false, last: true };
    return;
  }
  const events = [
    ...turns.map((turn) => ({ at: turn.at, turn, mark: undefined })),
    ...marks.map((mark) => ({ at: mark.at, turn: undefined, mark })),
  ].sort((a, b) => a.at - b.at);
  let slice: Pick<Slice, keyof AgentEvents> = { turns: [], marks: [] };
  let [sliceTurns, sliceMarks] = [openTurns, openMarks];
  for (const [index, { at, turn, mark }] of events.entries()) {
    if (turn === undefined) slice.marks.push(mark);
    else slice.turns.push(turn);
    // The end of a tool call costs as little as a mark.
    if (turn === undefined || turn.isToolResult) sliceMarks += 1;
    else {
      sliceTurns += 1;
      left -= 1;
    }
    const extraMarks = sliceMarks - mostMarks;
    // After a level nothing waits. Without one for so long, nothing waits either.
    const isFull =
      sliceTurns >= size ||
      (extraMarks >= 0 && ((turn !== undefined && hasLevel(turn)) || extraMarks >= MOST_WAITED));
    const last = index === events.length - 1;
    const full = isFull && left >= keep && events[index + 1]?.at !== at;
    if (!full && !last) continue;
    yield { ...slice, full, last };
    slice = { turns: [], marks: [] };
    [sliceTurns, sliceMarks] = [0, 0];
  }
}

function hasLevel({ compaction, usage }: TurnFacts): boolean {
  return !compaction && contextTokens(usage) !== undefined;
}

function lengthOf({ turns, marks }: AgentEvents): number {
  return turns.length + marks.length;
}

function joinSlices(slices: readonly Slice[]): Slice {
  return {
    turns: slices.flatMap(({ turns }) => turns),
    marks: slices.flatMap(({ marks }) => marks),
    full: false,
    last: false,
  };
}
