import { binOf, larger } from "@plimsoll/protocol";

/** Minutes a bucket spans, finest first; each divides the next. */
export const GRAINS = [1, 15, 60, 360] as const;
export type Grain = (typeof GRAINS)[number];
const MINUTE = 60_000;

/**
 * Stands for the harness, and the model, of the rows in which all of them are added up. Nobody has this name. Without
 * these rows a fleet's chart would read a row for each harness and model in each bucket.
 */
export const ALL = "";

/** What one turn adds to the buckets it falls in. Tokens; `utilization` is a fraction of the window. */
export interface TurnShare {
  projectId: number;
  at: number;
  harness: string;
  model: string;
  fresh: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  costMicros: number;
  /** The level, or undefined when uncounted or when the call only compacted. */
  level: number | undefined;
  utilization: number | undefined;
  missing: boolean;
}

export interface RollupRow {
  projectId: number;
  grain: number;
  bucket: number;
  harness: string;
  model: string;
  turns: number;
  missing: number;
  fresh: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  costMicros: number;
  peakTokens: number | undefined;
  peakUtilization: number | undefined;
  bins: number[];
  /** A level was taken away, so the stored peak must be read from the turns again. */
  repeak: boolean;
}

export interface BoundaryRow {
  projectId: number;
  grain: number;
  bucket: number;
  harness: string;
  type: string;
  count: number;
  reclaimed: number;
}

export function bucketOf(at: number, grain: number): number {
  const span = grain * MINUTE;
  return Math.floor(at / span) * span;
}

/**
 * Gathers what a transaction changes in the rollups, as differences to add: by minute, harness and model, which is all
 * that the longer buckets and the whole fleet's are made of (see `inEveryGrain`).
 */
export class RollupChanges {
  readonly turns = new Map<string, RollupRow>();
  readonly boundaries = new Map<string, BoundaryRow>();
  #last: RollupRow | undefined;

  addTurn(share: TurnShare): void {
    add(this.#row(share), share, 1, false);
  }

  /** A turn that was counted already reads differently now. */
  replaceTurn(before: TurnShare, after: TurnShare): void {
    const samePlace =
      bucketOf(before.at, 1) === bucketOf(after.at, 1) &&
      before.model === after.model &&
      before.harness === after.harness;
    // A level that only grew in its bucket cannot lower the bucket's peak.
    const grew =
      samePlace && atLeast(after.level, before.level) && atLeast(after.utilization, before.utilization);
    add(this.#row(before), before, -1, !grew);
    add(this.#row(after), after, 1, false);
  }

  addBoundary(
    place: { projectId: number; at: number; harness: string; type: string },
    count: number,
    reclaimed: number,
  ): void {
    if (count === 0 && reclaimed === 0) return;
    const { projectId, harness, type } = place;
    const bucket = bucketOf(place.at, 1);
    sumBoundaries(this.boundaries, { projectId, grain: 1, bucket, harness, type, count, reclaimed });
  }

  /** What another transaction gathered. */
  addMinutes(turns: Iterable<RollupRow>, boundaries: Iterable<BoundaryRow>): void {
    for (const row of turns) sumTurns(this.turns, row);
    for (const row of boundaries) sumBoundaries(this.boundaries, row);
  }

  #row({ projectId, at, harness, model }: TurnShare): RollupRow {
    const bucket = bucketOf(at, 1);
    // An agent's turns come together and mostly share a minute: the row of the last one saves making its key.
    const last = this.#last;
    if (
      last !== undefined &&
      last.bucket === bucket &&
      last.model === model &&
      last.harness === harness &&
      last.projectId === projectId
    ) {
      return last;
    }
    this.#last = rowAt(this.turns, { projectId, grain: 1, bucket, harness, model });
    return this.#last;
  }
}

/** What minutes come to in buckets of every length, of each harness and model and of all of them together. */
export function inEveryGrain(minutes: RollupChanges): { turns: RollupRow[]; boundaries: BoundaryRow[] } {
  return {
    turns: lengthened(minutes.turns, sumTurns, (row) => ({ ...row, harness: ALL, model: ALL })),
    boundaries: lengthened(minutes.boundaries, sumBoundaries, (row) => ({ ...row, harness: ALL })),
  };
}

function lengthened<Row extends RollupRow | BoundaryRow>(
  minutes: Map<string, Row>,
  sum: (into: Map<string, Row>, more: Row) => void,
  ofAll: (row: Row) => Row,
): Row[] {
  const all = new Map<string, Row>();
  for (const row of minutes.values()) sum(all, ofAll(row));
  const rows = [...minutes.values(), ...all.values()];
  // Each length is made of the one before, which has fewer rows than there are minutes.
  let finer: Iterable<Row> = rows;
  for (const grain of GRAINS.slice(1)) {
    const longer = new Map<string, Row>();
    for (const row of finer) sum(longer, { ...row, grain, bucket: bucketOf(row.bucket, grain) });
    finer = [...longer.values()];
    rows.push(...longer.values());
  }
  return rows;
}

type Place = Pick<RollupRow, "projectId" | "grain" | "bucket" | "harness" | "model">;

function rowAt(rows: Map<string, RollupRow>, place: Place): RollupRow {
  const { projectId, grain, bucket, harness, model } = place;
  const key = `${projectId}/${grain}/${bucket}/${model}/${harness}`;
  let row = rows.get(key);
  if (row === undefined) {
    row = {
      projectId,
      grain,
      bucket,
      harness,
      model,
      turns: 0,
      missing: 0,
      fresh: 0,
      cacheRead: 0,
      cacheWrite: 0,
      output: 0,
      costMicros: 0,
      peakTokens: undefined,
      peakUtilization: undefined,
      bins: [],
      repeak: false,
    };
    rows.set(key, row);
  }
  return row;
}

function sumTurns(rows: Map<string, RollupRow>, more: RollupRow): void {
  const row = rowAt(rows, more);
  row.turns += more.turns;
  row.missing += more.missing;
  row.fresh += more.fresh;
  row.cacheRead += more.cacheRead;
  row.cacheWrite += more.cacheWrite;
  row.output += more.output;
  row.costMicros += more.costMicros;
  row.peakTokens = larger(row.peakTokens, more.peakTokens);
  row.peakUtilization = larger(row.peakUtilization, more.peakUtilization);
  const { bins } = row;
  while (bins.length < more.bins.length) bins.push(0);
  for (let bin = 0; bin < more.bins.length; bin++) bins[bin]! += more.bins[bin]!;
  row.repeak ||= more.repeak;
}

function sumBoundaries(rows: Map<string, BoundaryRow>, more: BoundaryRow): void {
  const { projectId, grain, bucket, harness, type } = more;
  const key = `${projectId}/${grain}/${bucket}/${type}/${harness}`;
  const row = rows.get(key);
  if (row === undefined) {
    rows.set(key, { ...more });
    return;
  }
  row.count += more.count;
  row.reclaimed += more.reclaimed;
}

function add(row: RollupRow, share: TurnShare, sign: 1 | -1, repeak: boolean): void {
  row.turns += sign;
  if (share.missing) row.missing += sign;
  row.fresh += sign * share.fresh;
  row.cacheRead += sign * share.cacheRead;
  row.cacheWrite += sign * share.cacheWrite;
  row.output += sign * share.output;
  row.costMicros += sign * share.costMicros;
  if (share.utilization !== undefined) {
    const bin = binOf(share.utilization);
    while (row.bins.length <= bin) row.bins.push(0);
    row.bins[bin]! += sign;
  }
  if (sign === -1) {
    row.repeak ||= repeak && share.level !== undefined;
    return;
  }
  row.peakTokens = larger(row.peakTokens, share.level);
  row.peakUtilization = larger(row.peakUtilization, share.utilization);
}

function atLeast(a: number | undefined, b: number | undefined): boolean {
  return b === undefined || (a !== undefined && a >= b);
}
