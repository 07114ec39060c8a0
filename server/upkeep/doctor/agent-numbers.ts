import { type Check, plural } from "./check.ts";

/** Agents of one range of numbers. A gap is where a number is missing; `before` and `after` are its neighbours. */
const RANGE = `
SELECT count(*)::float8 AS agents, max(p.number) AS last, count(*) FILTER (WHERE p.number = p.before)::float8 AS duplicates,
  COALESCE(array_agg(p.before) FILTER (WHERE p.number > p.before + 1), '{}') AS starts,
  COALESCE(array_agg(p.number) FILTER (WHERE p.number > p.before + 1), '{}') AS ends
FROM (SELECT a.number, lag(a.number, 1, $2::int4) OVER (ORDER BY a.number) AS before FROM agents a
      WHERE a.project_id = $1 AND a.number > $2::int4 AND a.number <= $3::int4) p`;
const HIGHEST =
  "SELECT max(a.number) AS number, count(*)::float8 AS count FROM agents a WHERE a.project_id = $1";
/** Rows that name a number of a gap. Each looks into an index once a gap. */
const ORPHANS = `
SELECT g.after AS gap, EXISTS (SELECT 1 FROM turn_blocks b WHERE b.project_id = $1 AND b.agent > g.after AND b.agent < g.before) AS turns,
  EXISTS (SELECT 1 FROM segments s WHERE s.project_id = $1 AND s.agent > g.after AND s.agent < g.before) AS segments
FROM unnest($2::int4[], $3::int4[]) AS g(after, before)`;

/** Blocks of one range of agents that hold more or fewer keys than they say, at eight bytes a key. */
const MISCOUNTED = `
SELECT count(*)::float8 AS count FROM turn_blocks b
WHERE b.project_id = $1 AND b.agent > $2::int4 AND b.agent <= $3::int4 AND octet_length(b.keys) <> 8 * b.turns`;

const HIGHEST_NUMBER = 2_147_483_647;

interface Range {
  agents: number;
  last: number | null;
  duplicates: number;
  starts: number[];
  ends: number[];
}

/** Every agent has a number of its own, and every number that a turn names belongs to an agent. */
export const agentNumbersCheck: Check = {
  name: "every turn has one agent",
  units: { plural: "agent numbers", done: "looked up" },
  weight: 1,
  size: 20_000,
  maxSize: 20_000,
  step({ connection, deadline, projectId }, position, size) {
    return connection.atOneMoment(deadline, async (sql) => {
      const total =
        position === undefined
          ? await sql.query<{ number: number | null; count: number }>(HIGHEST, projectId)
          : undefined;
      const [after, highest] = position?.split("/").map(Number) ?? [0, total![0]!.number ?? 0];
      const through = Math.min(after! + size, highest!);
      const [range] = await sql.query<Range>(RANGE, projectId, after, through);
      const { agents, last, duplicates, starts, ends } = range!;
      const atEnd = through >= highest!;
      // The numbers after the last agent of the range are a gap too, and at the end all that follow.
      const gaps = {
        starts: [...starts, last ?? after!],
        ends: [...ends, atEnd ? HIGHEST_NUMBER : through + 1],
      };
      const orphans = await sql.query<{ gap: number; turns: boolean; segments: boolean }>(
        ORPHANS,
        projectId,
        gaps.starts,
        gaps.ends,
      );
      const faults = duplicates > 0 ? [`${plural(duplicates, "number")} given twice (agents.number)`] : [];
      const [miscounted] = await sql.query<{ count: number }>(MISCOUNTED, projectId, after, through);
      if (miscounted!.count > 0)
        faults.push(`${plural(miscounted!.count, "block")} of turns miscounted (turn_blocks.turns)`);
      for (const { gap, turns, segments } of orphans) {
        if (turns) faults.push(`turns without an agent after number ${gap} (agents row missing)`);
        if (segments) faults.push(`segments without an agent after number ${gap} (agents row missing)`);
      }
      return {
        examined: agents,
        faults,
        next: atEnd ? undefined : `${through}/${highest}`,
        ...(total && { of: total[0]!.count }),
      };
    });
  },
};
