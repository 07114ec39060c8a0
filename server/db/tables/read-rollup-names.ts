import type { Sql } from "../sql.ts";
import { arrayLiteral } from "./binary-arrays.ts";
import { NamesOfDay } from "./rollup-names.ts";

const NAMES = `
SELECT (extract(epoch FROM n.day) * 1000)::float8 AS day, n.harness, n.model FROM rollup_names n
WHERE n.project_id = $1 AND n.day = ANY(ARRAY(SELECT to_timestamp(d / 1000) FROM unnest($2::float8[]) AS d))`;

/** Reads the names that rollups of some UTC days (epoch ms) are counted under. Has an entry for each day. */
export async function readNamesOfDays(
  sql: Pick<Sql, "query">,
  projectId: number,
  days: Iterable<number>,
): Promise<Map<number, NamesOfDay>> {
  const names = new Map([...days].map((day) => [day, new NamesOfDay()]));
  if (names.size === 0) return names;
  const rows = await sql.query<{ day: number; harness: string; model: string }>(
    NAMES,
    projectId,
    arrayLiteral([...names.keys()]),
  );
  for (const { day, harness, model } of rows) names.get(day)!.add(harness, model);
  return names;
}
