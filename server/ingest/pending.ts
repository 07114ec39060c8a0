import type { WriterSql } from "../db/sql.ts";
import type { BatchHarness, BatchSession } from "./batch.ts";
import { Columns } from "./columns.ts";
import { harnessId } from "./identity.ts";
import type { OutcomeCount } from "./outcomes.ts";
import { type BoundaryRow, RollupChanges, type RollupRow } from "./rollup.ts";
import type { SessionKey } from "./sessions.ts";

/** A count on the day it was received, as YYYY-MM-DD in UTC. */
export interface DayCount extends OutcomeCount {
  day: string;
}

export interface SeenHarness extends BatchHarness {
  /** Epoch ms, by the server's clock. */
  receivedAt: number;
}

/** A session whose agents moved. */
export interface MovedSession extends SessionKey {
  /** Whether something was said of it: its title, its end. */
  described: boolean;
}

/** What a transaction adds to rollups, harnesses and counts, and the sessions whose figures it moved. */
export interface Additions {
  receivedAt: number;
  sessions: Iterable<BatchSession>;
  harnesses: Iterable<BatchHarness>;
  rollups: RollupChanges;
  counts: Iterable<OutcomeCount>;
}

/** A transaction's additions for one project, as they wait. Names stand in `names`; others give their place in it. */
export interface Delta {
  received_at: number;
  names: string[];
  sessions: [id: string, described: 0 | 1][];
  harnesses: [instance: number, firstAt: number, lastAt: number, described: 0 | 1][];
  turns: TurnsDelta[];
  boundaries: [minute: number, harness: number, type: number, count: number, reclaimed: number][];
  counts: [outcome: number, count: number][];
}

type TurnsDelta = [
  minute: number,
  harness: number,
  model: number,
  turns: number,
  missing: number,
  fresh: number,
  cacheRead: number,
  cacheWrite: number,
  output: number,
  costMicros: number,
  peakTokens: number | null,
  peakUtilization: number | null,
  repeak: 0 | 1,
  /** Of each bin that changed, its place and by how many turns. */
  ...bins: number[],
];

/** A row of `pending_totals`. */
export interface PendingRow {
  project_id: number;
  delta: Delta;
}

const MINUTE = 60_000;

/** Makes the delta of one project. */
class DeltaMaker {
  readonly delta: Delta;
  readonly #places = new Map<string, number>();

  constructor(receivedAt: number) {
    this.delta = {
      received_at: receivedAt,
      names: [],
      sessions: [],
      harnesses: [],
      turns: [],
      boundaries: [],
      counts: [],
    };
  }

  name(name: string): number {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.delta.names.push(name) - 1;
      this.#places.set(name, place);
    }
    return place;
  }
}

const COLUMNS = new Columns<{ projectId: number; delta: string }>([
  ["project_id", "int4", (row) => row.projectId],
  ["delta", "text", (row) => row.delta],
]);

const INSERT = `INSERT INTO pending_totals (project_id, delta)
SELECT project_id, delta::json FROM (${COLUMNS.select}) r ORDER BY project_id`;

/** Leaves what a transaction adds to the totals where `settle` finds it: one row a project, and no lock on any other. */
export function writePending(sql: WriterSql, additions: Additions): void {
  const rows = [...deltasOf(additions)].map(([projectId, delta]) => ({
    projectId,
    delta: JSON.stringify(delta),
  }));
  if (rows.length > 0) sql.send(INSERT, ...COLUMNS.parameters(rows));
}

function deltasOf({ receivedAt, sessions, harnesses, rollups, counts }: Additions): Map<number, Delta> {
  const makers = new Map<number, DeltaMaker>();
  const deltas = new Map<number, Delta>();
  const of = (projectId: number): DeltaMaker => {
    let maker = makers.get(projectId);
    if (maker === undefined) {
      maker = new DeltaMaker(receivedAt);
      makers.set(projectId, maker);
      deltas.set(projectId, maker.delta);
    }
    return maker;
  };
  for (const { projectId, id, described } of sessions) {
    of(projectId).delta.sessions.push([id, described ? 1 : 0]);
  }
  for (const { projectId, instance, firstAt, lastAt, described } of harnesses) {
    const maker = of(projectId);
    maker.delta.harnesses.push([maker.name(instance), firstAt, lastAt, described ? 1 : 0]);
  }
  for (const row of rollups.turns.values()) {
    const maker = of(row.projectId);
    maker.delta.turns.push(turnsDelta(maker, row));
  }
  for (const { projectId, bucket, harness, type, count, reclaimed } of rollups.boundaries.values()) {
    const maker = of(projectId);
    maker.delta.boundaries.push([bucket / MINUTE, maker.name(harness), maker.name(type), count, reclaimed]);
  }
  for (const { projectId, outcome, count } of counts) {
    const maker = of(projectId);
    maker.delta.counts.push([maker.name(outcome), count]);
  }
  return deltas;
}

function turnsDelta(maker: DeltaMaker, row: RollupRow): TurnsDelta {
  const delta: TurnsDelta = [
    row.bucket / MINUTE,
    maker.name(row.harness),
    maker.name(row.model),
    row.turns,
    row.missing,
    row.fresh,
    row.cacheRead,
    row.cacheWrite,
    row.output,
    row.costMicros,
    row.peakTokens ?? null,
    row.peakUtilization ?? null,
    row.repeak ? 1 : 0,
  ];
  for (let bin = 0; bin < row.bins.length; bin++) if (row.bins[bin] !== 0) delta.push(bin, row.bins[bin]!);
  return delta;
}

/** What pending rows come to together. */
export class PendingSum {
  readonly rollups = new RollupChanges();
  /** By project and id. */
  readonly sessions = new Map<string, MovedSession>();
  /** By id. */
  readonly harnesses = new Map<string, SeenHarness>();
  /** By project, day and outcome. */
  readonly counts = new Map<string, DayCount>();

  constructor(rows: Iterable<PendingRow>) {
    for (const row of rows) this.#add(row);
  }

  #add({ project_id: projectId, delta }: PendingRow): void {
    const { received_at: receivedAt, names } = delta;
    const name = (place: number): string => names[place]!;
    this.rollups.addMinutes(
      delta.turns.map((turns) => turnsRow(projectId, name, turns)),
      delta.boundaries.map(([minute, harness, type, count, reclaimed]): BoundaryRow => {
        const bucket = minute * MINUTE;
        return { projectId, grain: 1, bucket, harness: name(harness), type: name(type), count, reclaimed };
      }),
    );
    for (const [id, described] of delta.sessions) {
      const key = `${projectId}/${id}`;
      const known = this.sessions.get(key);
      if (known === undefined) this.sessions.set(key, { projectId, id, described: described === 1 });
      else known.described ||= described === 1;
    }
    for (const [instance, firstAt, lastAt, described] of delta.harnesses) {
      this.#addHarness({
        projectId,
        id: harnessId(projectId, name(instance)),
        instance: name(instance),
        firstAt,
        lastAt,
        described: described === 1,
        receivedAt,
      });
    }
    const day = new Date(receivedAt).toISOString().slice(0, 10);
    for (const [outcome, count] of delta.counts)
      this.#addCount({ projectId, day, outcome: name(outcome), count });
  }

  #addHarness(more: SeenHarness): void {
    const harness = this.harnesses.get(more.id);
    if (harness === undefined) {
      this.harnesses.set(more.id, more);
      return;
    }
    harness.firstAt = Math.min(harness.firstAt, more.firstAt);
    harness.lastAt = Math.max(harness.lastAt, more.lastAt);
    harness.receivedAt = Math.max(harness.receivedAt, more.receivedAt);
    harness.described ||= more.described;
  }

  #addCount(more: DayCount): void {
    const key = `${more.projectId}/${more.day}/${more.outcome}`;
    const known = this.counts.get(key);
    if (known === undefined) this.counts.set(key, more);
    else known.count += more.count;
  }
}

function turnsRow(projectId: number, name: (place: number) => string, delta: TurnsDelta): RollupRow {
  const [minute, harness, model, turns, missing, fresh, cacheRead, cacheWrite, output, costMicros] = delta;
  const [, , , , , , , , , , peakTokens, peakUtilization, repeak, ...changed] = delta;
  const bins: number[] = [];
  for (let at = 0; at < changed.length; at += 2) {
    const bin = changed[at]!;
    while (bins.length <= bin) bins.push(0);
    bins[bin] = changed[at + 1]!;
  }
  return {
    projectId,
    grain: 1,
    bucket: minute * MINUTE,
    harness: name(harness),
    model: name(model),
    turns,
    missing,
    fresh,
    cacheRead,
    cacheWrite,
    output,
    costMicros,
    peakTokens: peakTokens ?? undefined,
    peakUtilization: peakUtilization ?? undefined,
    bins,
    repeak: repeak === 1,
  };
}
