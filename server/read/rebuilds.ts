import { rebuildPrice } from "@plimsoll/fold";
import type { Rebuilds, StatusQuery } from "@plimsoll/protocol/api";
import type { RebuildCause } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { INSIGHT_GRAINS } from "../db/tables/buckets.ts";
import { OTHER } from "../db/tables/rollup-names.ts";
import type { FreshReader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";
import { coveringBuckets } from "./buckets.ts";

const MOST_ROWS = 8;

interface Row {
  cause: RebuildCause;
  level: number;
  isForHour: boolean;
  harness: string;
  model: string;
  turns: number;
  tokens: number;
}

type Sums = Rebuilds["total"];

/** Why caches were rebuilt in a range: by cause, and by harness and model. */
export async function readRebuilds(reader: FreshReader, query: StatusQuery): Promise<Rebuilds> {
  const span = spanOf(query);
  const harness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND harness = ${query.harness}`;
  const rows = await reader.prisma.$queryRaw<Row[]>`
    SELECT split_part(what, '/', 2) AS cause, split_part(what, '/', 3)::int4 AS level,
      split_part(what, '/', 4) = 'hour' AS "isForHour", harness, model,
      sum(count)::float8 AS turns, sum(tokens)::float8 AS tokens
    FROM insight_rollups
    WHERE project_id = ${reader.projectId} AND ${coveringBuckets(span, INSIGHT_GRAINS)} ${harness}
      AND what LIKE 'rebuild/%' AND tokens > 0
    GROUP BY 1, 2, 3, 4, 5`;
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    total: sumOf(rows),
    causes: summedBy(rows, ({ cause }) => cause).map(([{ cause }, sums]) => ({ cause, ...sums })),
    rows: summedBy(
      rows.filter(({ harness }) => harness !== OTHER),
      ({ harness, model }) => `${harness}\u0000${model}`,
    )
      .slice(0, MOST_ROWS)
      .map(([{ harness, model }, sums]) => ({ harness, model, ...sums })),
  };
}

/** One of each group and its sums, the most tokens first. */
function summedBy(rows: readonly Row[], keyOf: (row: Row) => string): [Row, Sums][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return [...groups.values()]
    .map((group): [Row, Sums] => [group[0]!, sumOf(group)])
    .sort(([, a], [, b]) => b.tokens - a.tokens);
}

function sumOf(rows: readonly Row[]): Sums {
  const sums = { turns: 0, tokens: 0, usd: 0, priced_tokens: 0 };
  for (const { turns, tokens, model, level, isForHour } of rows) {
    sums.turns += turns;
    sums.tokens += tokens;
    const usd = rebuildPrice({ model, tokens, level, hour: isForHour ? tokens : 0 });
    if (usd === undefined) continue;
    sums.usd += usd;
    sums.priced_tokens += tokens;
  }
  return sums;
}
