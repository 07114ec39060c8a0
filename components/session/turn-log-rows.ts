import type { BoundaryView, CrossingView, TurnView } from "@plimsoll/protocol";

/** The turn log: turns, newest first, with what happened between them. */
export type LogRow =
  | { kind: "turn"; key: string; turn: TurnView }
  | { kind: "boundary"; key: string; boundary: BoundaryView }
  | { kind: "crossing"; key: string; crossing: CrossingView }
  /** Above the rows of a day. */
  | { kind: "day"; key: string; day: string };

interface Placed {
  at: number;
  /** At the same instant: what a turn caused is newer than it, what made its level fall is older. */
  order: number;
  /** A level that rises passes the highest threshold last; one that falls, the lowest. In tokens. */
  passed: number;
  row: LogRow;
}

const opens = ({ type, detail }: BoundaryView) => type === "session" && detail.status === "started";

/**
 * Interleaves the turns loaded so far with the boundaries and crossings of the same agents. Older marks wait until the
 * turns around them are loaded, unless `complete`.
 */
export function turnLogRows(
  turns: readonly TurnView[],
  boundaries: readonly BoundaryView[],
  crossings: readonly CrossingView[],
  complete: boolean,
): LogRow[] {
  const oldest = turns.at(-1);
  const since = complete || oldest === undefined ? Number.NEGATIVE_INFINITY : Date.parse(oldest.at);
  const marks: Placed[] = [
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
    .filter(({ at }) => at >= since)
    .sort((a, b) => b.at - a.at || b.order - a.order || b.passed - a.passed);
  const rows: LogRow[] = [];
  let next = 0;
  for (const turn of turns) {
    const at = Date.parse(turn.at);
    for (let mark = marks[next]; mark !== undefined; mark = marks[next]) {
      if (mark.at < at || (mark.at === at && mark.order < 0)) break;
      rows.push(mark.row);
      next += 1;
    }
    rows.push({ kind: "turn", key: `${turn.agent_id}/${turn.number}`, turn });
  }
  rows.push(...marks.slice(next).map(({ row }) => row));
  return rows;
}

/** Puts the day above its rows, where it is not understood: on every day when one of them is not `today`. */
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
    // An agent whose clock went back may come to a day twice.
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
