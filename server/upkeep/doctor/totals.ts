import type { Sql } from "../../db/sql.ts";
import { ALL } from "../../db/tables/buckets.ts";
import { type CountedIn, READ_REMOVED_COUNTS } from "../../db/tables/removed-counts.ts";
import { type Check, count, plural } from "./check.ts";

const HIGHEST = "SELECT max(a.number) AS number FROM agents a WHERE a.project_id = $1";
const AGENTS = `
SELECT COALESCE(sum(a.turns), 0)::float8 AS turns, COALESCE(sum(a.masked), 0)::float8 AS masked,
  COALESCE(sum(a.compacted), 0)::float8 AS compacted, COALESCE(sum(a.subticks), 0)::float8 AS subtick,
  COALESCE(sum(a.restarts), 0)::float8 AS restarted, COALESCE(sum(a.cleared), 0)::float8 AS cleared,
  COALESCE(sum(a.unexplained), 0)::float8 AS unexplained, COALESCE(sum(a.reclaimed), 0)::float8 AS reclaimed
FROM agents a WHERE a.project_id = $1 AND a.number > $2 AND a.number <= $3`;
const ACKNOWLEDGED = `
SELECT COALESCE(sum(i.count), 0)::float8 AS count FROM ingest_counts i WHERE i.project_id = $1 AND i.outcome = 'turn'`;
/** Six-hour buckets are the fewest rows that hold all turns. */
const ROLLUPS = `
SELECT r.harness = '${ALL}' AS fleet, COALESCE(sum(r.turns), 0)::float8 AS turns
FROM rollups r WHERE r.project_id = $1 AND r.grain = 360 GROUP BY 1`;
const BOUNDARY_ROLLUPS = `
SELECT r.harness = '${ALL}' AS fleet, r.type, COALESCE(sum(r.count), 0)::float8 AS count,
  COALESCE(sum(r.reclaimed), 0)::float8 AS reclaimed
FROM boundary_rollups r WHERE r.project_id = $1 AND r.grain = 360 GROUP BY 1, 2`;

/** Agents summed by one statement. */
const RANGE = 50_000;
const TYPES = ["masked", "compacted", "subtick", "restarted", "cleared", "unexplained"] as const;

type StoredTotals = Record<"turns" | "reclaimed" | (typeof TYPES)[number], number>;

/** Compares what was acknowledged with what agents and rollups count, without a look at single turns. */
export const totalsCheck: Check = {
  name: "acknowledged turns are counted",
  units: undefined,
  weight: 1,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const agents = await sumAgents(sql, projectId);
      const [acknowledged] = await sql.query<{ count: number }>(ACKNOWLEDGED, projectId);
      const removed = await readRemoved(sql, projectId, "ingest");
      const kept = await readRemoved(sql, projectId, "rollups");
      const faults = differences(
        "ingest_counts.count",
        "acknowledged turns",
        acknowledged!.count - removed("turns"),
        agents.turns,
      );
      const rollups = await sql.query<{ fleet: boolean; turns: number }>(ROLLUPS, projectId);
      const boundaries = await sql.query<{ fleet: boolean; type: string; count: number; reclaimed: number }>(
        BOUNDARY_ROLLUPS,
        projectId,
      );
      for (const fleet of [true, false]) {
        const whose = fleet ? "all harnesses" : "single harnesses";
        const turns = (rollups.find((row) => row.fleet === fleet)?.turns ?? 0) - kept("turns");
        faults.push(...differences("rollups.turns", `turns in rollups of ${whose}`, turns, agents.turns));
        const rows = boundaries.filter((row) => row.fleet === fleet);
        for (const type of TYPES) {
          const found = (rows.find((row) => row.type === type)?.count ?? 0) - kept(type);
          faults.push(
            ...differences("boundary_rollups.count", `${type} in rollups of ${whose}`, found, agents[type]),
          );
        }
        const reclaimed = rows.reduce((sum, row) => sum + row.reclaimed, 0) - kept("reclaimed");
        const what = `reclaimed tokens in rollups of ${whose}`;
        faults.push(...differences("boundary_rollups.reclaimed", what, reclaimed, agents.reclaimed));
      }
      const gone = removed("turns");
      const deleted = gone === 0 ? "" : `, ${count(gone)} of them removed since`;
      const message = `${plural(acknowledged!.count, "turn")} acknowledged${deleted}; agents and rollups count the same.`;
      return { examined: 0, faults, next: undefined, message };
    });
  },
};

function differences(column: string, what: string, found: number, ofAgents: number): string[] {
  return found === ofAgents
    ? []
    : [`${count(found)} ${what}, ${count(ofAgents)} counted by agents (${column})`];
}

/** What was removed and is still counted, by what it is. */
async function readRemoved(
  sql: Pick<Sql, "query">,
  projectId: number,
  countedIn: CountedIn,
): Promise<(what: string) => number> {
  const rows = await sql.query<{ what: string; count: number }>(READ_REMOVED_COUNTS, projectId, countedIn);
  const counts = new Map(rows.map(({ what, count }) => [what, count]));
  return (what) => counts.get(what) ?? 0;
}

async function sumAgents(sql: Pick<Sql, "query">, projectId: number): Promise<StoredTotals> {
  const [highest] = await sql.query<{ number: number | null }>(HIGHEST, projectId);
  const sums: StoredTotals = {
    turns: 0,
    reclaimed: 0,
    masked: 0,
    compacted: 0,
    subtick: 0,
    restarted: 0,
    cleared: 0,
    unexplained: 0,
  };
  const last = highest!.number ?? 0;
  for (let after = 0; after < last; after += RANGE) {
    const [part] = await sql.query<StoredTotals>(AGENTS, projectId, after, after + RANGE);
    for (const field of Object.keys(sums) as (keyof StoredTotals)[]) sums[field] += part![field];
  }
  return sums;
}
