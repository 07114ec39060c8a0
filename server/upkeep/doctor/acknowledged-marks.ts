import { BOUNDARY_ORIGIN } from "../../db/tables/codes.ts";
import { READ_REMOVED_COUNTS } from "../../db/tables/removed-counts.ts";
import { type Check, count, plural } from "./check.ts";

const ACKNOWLEDGED = `
SELECT COALESCE(sum(i.count), 0)::float8 AS count FROM ingest_counts i WHERE i.project_id = $1 AND i.outcome = 'mark'`;
const PAGE = `
SELECT count(*)::float8 AS rows, count(*) FILTER (WHERE p.origin = ${BOUNDARY_ORIGIN.reported})::float8 AS reported,
  (array_agg(p.agent_id ORDER BY p.agent_id DESC, p.id DESC))[1] AS last_agent,
  (array_agg(p.id ORDER BY p.agent_id DESC, p.id DESC))[1] AS last_id
FROM (SELECT b.agent_id, b.id, b.origin FROM boundaries b
      WHERE b.project_id = $1 AND (b.agent_id, b.id) > ($2::uuid, $3) ORDER BY b.agent_id, b.id LIMIT $4) p`;

/** Rows counted by one statement. */
const ROWS = 20_000;

interface Page {
  rows: number;
  reported: number;
  last_agent: string | null;
  last_id: string | null;
}

/** Counts all marks, a page at a time, and compares their number with the acknowledged ones. */
export const marksCheck: Check = {
  name: "acknowledged marks are stored",
  units: undefined,
  weight: 2,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [acknowledged] = await sql.query<{ count: number }>(ACKNOWLEDGED, projectId);
      let stored = 0;
      let after = { agent: "00000000-0000-0000-0000-000000000000", id: "" };
      for (;;) {
        const [page] = await sql.query<Page>(PAGE, projectId, after.agent, after.id, ROWS);
        stored += page!.reported;
        if (page!.rows < ROWS) break;
        after = { agent: page!.last_agent!, id: page!.last_id! };
      }
      const removed = await sql.query<{ what: string; count: number }>(
        READ_REMOVED_COUNTS,
        projectId,
        "ingest",
      );
      const gone = removed.find(({ what }) => what === "marks")?.count ?? 0;
      const expected = acknowledged!.count - gone;
      const faults =
        stored === expected
          ? []
          : [
              `${plural(expected, "mark")} acknowledged and not removed, ${count(stored)} stored (boundaries, ingest_counts.count)`,
            ];
      const deleted = gone === 0 ? "" : `, ${count(gone)} more removed since`;
      const message = `${plural(expected, "mark")} acknowledged and stored${deleted}.`;
      return { examined: 0, faults, next: undefined, message };
    });
  },
};
