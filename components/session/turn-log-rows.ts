import type { BoundaryView, CrossingView, TurnView } from "@plimsoll/protocol/api";

/** A row of the turn log: a turn, a boundary or crossing between turns, or a day heading. */
export type LogRow =
  | {
      kind: "turn";
      key: string;
      turn: TurnView;
      change: number | null /** Whether `change` is since a fall. */;
      afterFall: boolean;
    }
  | { kind: "boundary"; key: string; boundary: BoundaryView }
  | { kind: "crossing"; key: string; crossing: CrossingView }
  | { kind: "day"; key: string; day: string };

interface Placed {
  at: number;
  /** Order at the same instant: an effect of a turn sorts after it, a fall shown by a turn before it. */
  order: number;
  /** Order of crossings at the same instant, in tokens: rising levels cross the highest threshold last. */
  passed: number;
  row: LogRow;
}

const opens = ({ type, detail }: BoundaryView) => type === "session" && detail.status === "started";

/**
 * Interleaves loaded turns with the boundaries and crossings of the same agent, newest first.
 * Leaves out entries beyond the loaded turns, unless these reach to the oldest or the newest one.
 */
export function turnLogRows(
  turns: readonly TurnView[],
  boundaries: readonly BoundaryView[],
  crossings: readonly CrossingView[],
  { toOldest, toNewest }: { toOldest: boolean; toNewest: boolean },
): LogRow[] {
  const oldest = turns.at(-1);
  const since = toOldest || oldest === undefined ? Number.NEGATIVE_INFINITY : Date.parse(oldest.at);
  const newest = turns[0];
  const until = toNewest || newest === undefined ? Number.POSITIVE_INFINITY : Date.parse(newest.at);
  const entries: Placed[] = [
    ...boundaries.map((boundary) => ({
      at: Date.parse(boundary.at),
      order: boundary.inferred || opens(boundary) ? -1 : 1,
      passed: 0,
      row: { kind: "boundary", key: boundary.id, boundary } as const,
    })),
    ...crossings.map((crossing, index) => ({
      at: Date.parse(crossing.at),
      order: 2,
      passed: crossing.direction === "up" ? crossing.threshold_tokens : -crossing.threshold_tokens,
      row: { kind: "crossing", key: `${crossing.at}/${crossing.threshold}/${index}`, crossing } as const,
    })),
  ]
    .filter(({ at }) => at >= since && at <= until)
    .sort((a, b) => b.at - a.at || b.order - a.order || b.passed - a.passed);
  const rows: LogRow[] = [];
  let next = 0;
  for (const turn of turns) {
    const at = Date.parse(turn.at);
    for (let entry = entries[next]; entry !== undefined; entry = entries[next]) {
      if (entry.at < at || (entry.at === at && entry.order < 0)) break;
      rows.push(entry.row);
      next += 1;
    }
    const { change } = turn;
    rows.push({ kind: "turn", key: `${turn.agent_id}/${turn.number}`, turn, change, afterFall: false });
  }
  rows.push(...entries.slice(next).map(({ row }) => row));
  return sinceFalls(rows);
}

/**
 * Counts the change of a turn after a fall from the level after that fall. The fall has a row with its own number, so
 * that the changes add up to the level and no number stands for two things.
 */
function sinceFalls(rows: readonly LogRow[]): LogRow[] {
  let fall: BoundaryView | undefined;
  return rows
    .toReversed()
    .map((row): LogRow => {
      if (row.kind === "boundary" && row.boundary.explains_fall) fall = row.boundary;
      if (row.kind !== "turn") return row;
      const { context_tokens: tokens, compaction } = row.turn;
      if (fall === undefined || tokens === null || compaction) return row;
      const after = fall.tokens_after;
      fall = undefined;
      return { ...row, change: after === null ? null : tokens - after, afterFall: true };
    })
    .reverse();
}

/** Adds a heading above the rows of each day, unless all rows are of `today`. */
export function withDayRows(
  rows: readonly LogRow[],
  today: string,
  dayOf: (at: string) => string,
): readonly LogRow[] {
  const days = rows.map((row) => {
    const at = timeOf(row);
    return at === undefined ? undefined : dayOf(at);
  });
  if (days.every((day) => day === today)) return rows;
  return rows.flatMap((row, index) => {
    const day = days[index];
    if (day === undefined || day === days[index - 1]) return [row];
    // A day can repeat if the clock of an agent went back, so the key includes the index.
    return [{ kind: "day", key: `day/${day}/${index}`, day } as const, row];
  });
}

function timeOf(row: LogRow): string | undefined {
  switch (row.kind) {
    case "turn":
      return row.turn.at;
    case "boundary":
      return row.boundary.at;
    case "crossing":
      return row.crossing.at;
    case "day":
      return undefined;
  }
}
