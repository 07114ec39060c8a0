import {
  type BoundaryReading,
  binOf,
  hourWrite,
  isBoundary,
  larger,
  normaliseUsage,
  reclaimedTokens,
  type TurnReading,
} from "@plimsoll/fold";
import { ALL, bucketOf, GRAINS, INSIGHT_GRAINS } from "../../db/tables/buckets.ts";
import { dayOf, OTHER } from "../../db/tables/rollup-names.ts";
import {
  type BoundaryRollupRow,
  type InsightRollupRow,
  type RollupRow,
  rebuildCounts,
} from "../../db/tables/rollups.ts";
import { costMicros, estimatedCostMicros } from "../../db/tables/turns.ts";

/** Differences to add to the rollups. Turns that repeat a call count nothing. Collected by minute, harness and model; `everyGrain` derives the rest. */
export class RollupChanges {
  /** By UTC day, because each day has names of its own. */
  readonly #days = new Map<number, ChangesOfDay>();
  #last: Mutable<RollupRow> | undefined;
  #stale = false;

  /** Whether a peak may be too high and has to be read again from the turns. */
  get stale(): boolean {
    return this.#stale;
  }

  /** The UTC days that change, epoch ms. */
  get days(): Iterable<number> {
    return this.#days.keys();
  }

  addTurn(harness: string, reading: TurnReading): void {
    if (reading.isRepeat) return;
    this.#add(harness, reading, 1);
  }

  /** A turn that was counted is removed. */
  removeTurn(harness: string, reading: TurnReading): void {
    if (reading.isRepeat) return;
    const row = this.#add(harness, reading, -1);
    if (levelOf(reading) === undefined) return;
    row.stale = true;
    this.#stale = true;
  }

  /** A turn that was counted now reads differently. */
  replaceTurn(harness: string, before: TurnReading, after: TurnReading): void {
    if (before.isRepeat || after.isRepeat) {
      this.removeTurn(harness, before);
      this.addTurn(harness, after);
      return;
    }
    const from = this.#add(harness, before, -1);
    const to = this.#add(harness, after, 1);
    // A maximum cannot be subtracted from, unless the level only grew where it was.
    const grew =
      from === to && !isBelow(levelOf(after), levelOf(before)) && !isBelow(shareOf(after), shareOf(before));
    if (grew || levelOf(before) === undefined) return;
    from.stale = true;
    this.#stale = true;
  }

  addBoundary(harness: string, reading: BoundaryReading, count: 1 | -1): void {
    if (!isBoundary(reading.type)) return;
    const row = { grain: 1, bucket: bucketOf(reading.at, 1), harness, type: reading.type };
    const { boundaries } = this.#day(row.bucket);
    addBoundaries(boundaries, { ...row, count, reclaimed: count * reclaimedTokens(reading) });
  }

  /**
   * Counts under one name what `isKept` refuses of a day.
   * @param isKept called with `ALL` as the model for a harness of boundaries
   */
  rename(day: number, isKept: (harness: string, model: string) => boolean): void {
    const { turns, boundaries, insights } = this.#day(day);
    for (const [key, row] of [...turns]) {
      if (isKept(row.harness, row.model)) continue;
      turns.delete(key);
      addTurns(turns, { ...row, harness: OTHER, model: OTHER });
    }
    for (const [key, row] of [...boundaries]) {
      if (isKept(row.harness, ALL)) continue;
      boundaries.delete(key);
      addBoundaries(boundaries, { ...row, harness: OTHER });
    }
    for (const [key, row] of [...insights]) {
      if (isKept(row.harness, row.model)) continue;
      insights.delete(key);
      addInsights(insights, { ...row, harness: OTHER, model: OTHER });
    }
    this.#last = undefined;
  }

  everyGrain(): { turns: RollupRow[]; boundaries: BoundaryRollupRow[]; insights: InsightRollupRow[] } {
    const days = [...this.#days.values()];
    const turns = days.flatMap((day) => [...day.turns.values()]);
    const boundaries = days.flatMap((day) => [...day.boundaries.values()]);
    const insights = days.flatMap((day) => [...day.insights.values()]);
    return {
      turns: inEveryGrain(withAll(turns, addTurns, { harness: ALL, model: ALL }), addTurns, GRAINS),
      boundaries: inEveryGrain(withAll(boundaries, addBoundaries, { harness: ALL }), addBoundaries, GRAINS),
      insights: inEveryGrain(insights, addInsights, INSIGHT_GRAINS),
    };
  }

  #day(at: number): ChangesOfDay {
    const day = dayOf(at);
    let changes = this.#days.get(day);
    if (changes === undefined) {
      changes = { turns: new Map(), boundaries: new Map(), insights: new Map() };
      this.#days.set(day, changes);
    }
    return changes;
  }

  #add(harness: string, reading: TurnReading, sign: 1 | -1): Mutable<RollupRow> {
    const row = this.#row(harness, reading);
    add(row, reading, sign);
    const { turn, rebuild } = reading;
    if (rebuild !== undefined) {
      const [grain] = INSIGHT_GRAINS;
      const place = { grain, bucket: bucketOf(turn.at, grain), harness, model: turn.model };
      const { insights } = this.#day(row.bucket);
      const prompt = reading.contextTokens ?? 0;
      for (const { what, count, tokens } of rebuildCounts({
        rebuild,
        prompt,
        hour: hourWrite(turn.usage) ?? 0,
      }))
        addInsights(insights, { ...place, what, count: sign * count, tokens: sign * tokens });
    }
    return row;
  }

  #row(harness: string, { turn: { at, model } }: TurnReading): Mutable<RollupRow> {
    const bucket = bucketOf(at, 1);
    const last = this.#last;
    // Consecutive turns of an agent mostly share a minute.
    if (last !== undefined && last.bucket === bucket && last.model === model && last.harness === harness)
      return last;
    this.#last = rowAt(this.#day(bucket).turns, { grain: 1, bucket, harness, model });
    return this.#last;
  }
}

type Mutable<Row> = {
  -readonly [Field in keyof Row]: Row[Field] extends readonly (infer Item)[] ? Item[] : Row[Field];
};
/** Minutes of one day. */
interface ChangesOfDay {
  turns: Map<string, Mutable<RollupRow>>;
  boundaries: Map<string, Mutable<BoundaryRollupRow>>;
  /** Hours. */
  insights: Map<string, Mutable<InsightRollupRow>>;
}

type Place = Pick<RollupRow, "grain" | "bucket" | "harness" | "model">;

/** No name may contain NUL, so the joined text is unambiguous. */
const SEPARATOR = "\u0000";

function rowAt(
  rows: Map<string, Mutable<RollupRow>>,
  { grain, bucket, harness, model }: Place,
): Mutable<RollupRow> {
  const key = [grain, bucket, harness, model].join(SEPARATOR);
  let row = rows.get(key);
  if (row === undefined) {
    row = {
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
      estimatedCostMicros: 0,
      unpricedTurns: 0,
      peakTokens: undefined,
      peakUtilization: undefined,
      bins: [],
      stale: false,
    };
    rows.set(key, row);
  }
  return row;
}

/** The level a turn stands for; undefined if its prompt was not counted or only compacted. */
function levelOf({ turn, contextTokens }: TurnReading): number | undefined {
  return turn.compaction ? undefined : contextTokens;
}

function shareOf({ turn, utilization }: TurnReading): number | undefined {
  return turn.compaction ? undefined : utilization;
}

function isBelow(after: number | undefined, before: number | undefined): boolean {
  return before !== undefined && (after === undefined || after < before);
}

function add(row: Mutable<RollupRow>, reading: TurnReading, sign: 1 | -1): void {
  const usage = normaliseUsage(reading.turn.usage);
  row.turns += sign;
  if (reading.contextTokens === undefined) row.missing += sign;
  row.fresh += sign * (usage.fresh ?? 0);
  row.cacheRead += sign * (usage.cacheRead ?? 0);
  row.cacheWrite += sign * (usage.cacheWrite ?? 0);
  row.output += sign * (usage.output ?? 0);
  const cost = costMicros(reading.turn);
  if (cost === undefined) {
    const estimate = estimatedCostMicros(reading.turn, usage);
    if (estimate === undefined) row.unpricedTurns += sign;
    else row.estimatedCostMicros += sign * estimate;
  } else row.costMicros += sign * cost;
  const share = shareOf(reading);
  if (share !== undefined) {
    const bin = binOf(share);
    while (row.bins.length <= bin) row.bins.push(0);
    row.bins[bin] = (row.bins[bin] ?? 0) + sign;
  }
  if (sign === -1) return;
  row.peakTokens = larger(row.peakTokens, levelOf(reading));
  row.peakUtilization = larger(row.peakUtilization, share);
}

type AddTo<Row> = (rows: Map<string, Row>, more: Row) => void;

/** The rows, and those that add up all harnesses and models. */
function withAll<Row>(rows: readonly Row[], addTo: AddTo<Row>, ofAll: Partial<Row>): Row[] {
  const all = new Map<string, Row>();
  for (const row of rows) addTo(all, { ...row, ...ofAll });
  return [...rows, ...all.values()];
}

/** @param finest rows of the first of the grains */
function inEveryGrain<Row extends { grain: number; bucket: number }>(
  finest: readonly Row[],
  addTo: AddTo<Row>,
  grains: readonly number[],
): Row[] {
  const rows = [...finest];
  // Each length comes from the one before, which has fewer rows than there are minutes.
  let finer: Iterable<Row> = rows;
  for (const grain of grains.slice(1)) {
    const longer = new Map<string, Row>();
    for (const row of finer) addTo(longer, { ...row, grain, bucket: bucketOf(row.bucket, grain) });
    finer = [...longer.values()];
    rows.push(...longer.values());
  }
  return rows;
}

function addTurns(rows: Map<string, Mutable<RollupRow>>, more: Mutable<RollupRow>): void {
  const row = rowAt(rows, more);
  row.turns += more.turns;
  row.missing += more.missing;
  row.fresh += more.fresh;
  row.cacheRead += more.cacheRead;
  row.cacheWrite += more.cacheWrite;
  row.output += more.output;
  row.costMicros += more.costMicros;
  row.estimatedCostMicros += more.estimatedCostMicros;
  row.unpricedTurns += more.unpricedTurns;
  row.peakTokens = larger(row.peakTokens, more.peakTokens);
  row.peakUtilization = larger(row.peakUtilization, more.peakUtilization);
  while (row.bins.length < more.bins.length) row.bins.push(0);
  for (const [bin, turns] of more.bins.entries()) row.bins[bin] = (row.bins[bin] ?? 0) + (turns ?? 0);
  row.stale ||= more.stale;
}

function addBoundaries(
  rows: Map<string, Mutable<BoundaryRollupRow>>,
  more: Mutable<BoundaryRollupRow>,
): void {
  const key = [more.grain, more.bucket, more.harness, more.type].join(SEPARATOR);
  const row = rows.get(key);
  if (row === undefined) {
    rows.set(key, { ...more });
    return;
  }
  row.count += more.count;
  row.reclaimed += more.reclaimed;
}

function addInsights(rows: Map<string, Mutable<InsightRollupRow>>, more: Mutable<InsightRollupRow>): void {
  const key = [more.grain, more.bucket, more.harness, more.model, more.what].join(SEPARATOR);
  const row = rows.get(key);
  if (row === undefined) {
    rows.set(key, { ...more });
    return;
  }
  row.count += more.count;
  row.tokens += more.tokens;
}
