import { type Check, plural } from "./check.ts";

const RETENTION = `
SELECT p.session_days AS "sessionDays", p.rollup_days AS "rollupDays", to_char(p.horizon AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS horizon
FROM projects p WHERE p.id = $1`;
const DELETED = `
SELECT count(*)::float8 AS count FROM sessions s WHERE s.project_id = $1 AND s.deleted_at IS NOT NULL`;

interface Retention {
  sessionDays: number | null;
  rollupDays: number | null;
  horizon: string | null;
}

/** What the project keeps, and from when on charts can be compared with turns. */
export const retentionNote: Check = {
  name: "retention",
  units: undefined,
  note: true,
  weight: 1,
  size: 1,
  maxSize: 1,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [retention] = await sql.query<Retention>(RETENTION, projectId);
      const [deleted] = await sql.query<{ count: number }>(DELETED, projectId);
      const { sessionDays = null, rollupDays = null, horizon = null } = retention ?? {};
      const parts = [
        sessionDays === null
          ? "Sessions are kept for good."
          : `Sessions are kept for ${plural(sessionDays, "day")}.`,
        ...(rollupDays === null ? [] : [`Rollups are kept for ${plural(rollupDays, "day")}.`]),
        ...(horizon === null
          ? []
          : [
              `Retention removed sessions from before ${horizon} UTC, so charts before it are not compared with turns.`,
            ]),
        ...(deleted!.count === 0
          ? []
          : [`${plural(deleted!.count, "deleted session")} will be removed within a minute.`]),
      ];
      return { examined: 0, faults: [], next: undefined, message: parts.join(" ") };
    });
  },
};
