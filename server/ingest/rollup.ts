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

/** Gathers what a transaction changes in the rollups, as differences to add. */
export class RollupChanges {
  readonly turns = new Map<string, RollupRow>();
  readonly boundaries = new Map<string, BoundaryRow>();
  readonly #last = new Map<number, RollupRow>();
  readonly #lastOfAll = new Map<number, RollupRow>();

  addTurn(share: TurnShare): void {
    this.#change(share, 1);
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
    this.#change(before, -1, !grew);
    this.#change(after, 1);
  }

  addBoundary(
    place: { projectId: number; at: number; harness: string; type: string },
    count: number,
    reclaimed: number,
  ): void {
    if (count === 0 && reclaimed === 0) return;
    for (const grain of GRAINS) {
      const bucket = bucketOf(place.at, grain);
      for (const harness of [place.harness, ALL]) {
        const key = `${place.projectId}/${grain}/${bucket}/${place.type}/${harness}`;
        let row = this.boundaries.get(key);
        if (row === undefined) {
          const { projectId, type } = place;
          row = { projectId, grain, bucket, harness, type, count: 0, reclaimed: 0 };
          this.boundaries.set(key, row);
        }
        row.count += count;
        row.reclaimed += reclaimed;
      }
    }
  }

  #change(share: TurnShare, sign: 1 | -1, repeak = false): void {
    for (const grain of GRAINS) {
      add(this.#row(share, grain, share.harness, share.model, this.#last), share, sign, repeak);
      add(this.#row(share, grain, ALL, ALL, this.#lastOfAll), share, sign, repeak);
    }
  }

  #row(
    { projectId, at }: TurnShare,
    grain: number,
    harness: string,
    model: string,
    lastOf: Map<number, RollupRow>,
  ): RollupRow {
    const bucket = bucketOf(at, grain);
    // An agent's turns come together and mostly share a bucket: the row of the last one saves making its key.
    const last = lastOf.get(grain);
    if (
      last !== undefined &&
      last.bucket === bucket &&
      last.model === model &&
      last.harness === harness &&
      last.projectId === projectId
    ) {
      return last;
    }
    const key = `${projectId}/${grain}/${bucket}/${model}/${harness}`;
    let row = this.turns.get(key);
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
      this.turns.set(key, row);
    }
    lastOf.set(grain, row);
    return row;
  }
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
