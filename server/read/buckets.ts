import { Prisma } from "../db/client.ts";
import { GRAINS, type Grain } from "../db/tables/buckets.ts";
import { mayBePacked, packedMinutes, ROLLUP_COLUMNS } from "../db/tables/packed-minutes.ts";
import type { Reader } from "../lines/reader.ts";
import { HOUR_MS, type Span } from "../times.ts";

const MINUTE = 60_000;

/** Buckets of one grain, next to each other. */
export interface Piece {
  grain: Grain;
  /** Epoch ms, inclusive. */
  from: number;
  /** Epoch ms, exclusive. */
  to: number;
}

/** The fewest buckets that make up a span, exact to the shortest grain: the longest in the middle, shorter ones at its ends. */
export function piecesOf({ from, to }: Span, grains: readonly Grain[] = GRAINS): Piece[] {
  const grain = grains.at(-1)!;
  const width = grain * MINUTE;
  if (grains.length === 1) {
    const start = Math.floor(from / width) * width;
    return start < to ? [{ grain, from: start, to }] : [];
  }
  const finer = grains.slice(0, -1);
  const start = Math.ceil((Math.floor(from / MINUTE) * MINUTE) / width) * width;
  const end = Math.floor(to / width) * width;
  if (start >= end) return piecesOf({ from, to }, finer);
  return [
    ...piecesOf({ from, to: start }, finer),
    { grain, from: start, to: end },
    ...piecesOf({ from: end, to }, finer),
  ];
}

/** The condition under which a rollup row is one of those that make up a span. */
export function coveringBuckets(span: Span, grains: readonly Grain[] = GRAINS): Prisma.Sql {
  return inPieces(piecesOf(span, grains));
}

function inPieces(pieces: readonly Piece[]): Prisma.Sql {
  const conditions = pieces.map(
    ({ grain, from, to }) =>
      Prisma.sql`(grain = ${grain} AND bucket >= ${new Date(from)} AND bucket < ${new Date(to)})`,
  );
  return conditions.length === 0 ? Prisma.sql`false` : Prisma.sql`(${Prisma.join(conditions, " OR ")})`;
}

/**
 * The rows of `rollups` in some pieces, their packed minutes included, to select from.
 * @param names a condition on `harness` and `model`
 */
export function rollupsIn(
  { projectId, now }: Pick<Reader, "projectId" | "now">,
  names: Prisma.Sql,
  pieces: readonly Piece[],
): Prisma.Sql {
  const project = Prisma.sql`${projectId}`;
  const stored = Prisma.sql`SELECT ${ROLLUP_COLUMNS} FROM rollups
    WHERE project_id = ${project} AND ${names} AND ${inPieces(pieces)}`;
  const packed = pieces
    // An hour more, because the projector has another clock. Recent minutes, which most ranges end with, need no look.
    .filter(({ grain, from }) => grain === 1 && mayBePacked(from, now + HOUR_MS))
    .map(({ from, to }) =>
      packedMinutes({
        project,
        names,
        from: Prisma.sql`${new Date(from)}`,
        to: Prisma.sql`${new Date(to)}`,
      }),
    );
  return Prisma.sql`(${Prisma.join([stored, ...packed], " UNION ALL ")}) AS rollups`;
}

/** Seconds; each divides the next, or is whole hours. */
const STEPS = [60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000];
const WANTED_BUCKETS = 120;
const MOST_BUCKETS = 1_000;
/** Of all groups of a series together. */
const MOST_POINTS = 11_000;

/** The step in seconds that gives about 120 buckets, or the one asked for when that stays within 1,000, or 11,000 in all groups. */
export function stepFor({ from, to }: Span, asked: number | undefined, groups = 1): number {
  const seconds = (to - from) / 1_000;
  const fewest = seconds / Math.min(MOST_BUCKETS, Math.floor(MOST_POINTS / groups));
  if (asked !== undefined && asked >= fewest) return asked;
  const target = asked === undefined ? seconds / WANTED_BUCKETS : fewest;
  return STEPS.find((step) => step >= target) ?? Math.ceil(target / 86_400) * 86_400;
}

/** The longest rollup buckets that a step in seconds is made of. */
export function grainFor(step: number): Grain {
  return GRAINS.findLast((grain) => step % (grain * 60) === 0) ?? 1;
}
