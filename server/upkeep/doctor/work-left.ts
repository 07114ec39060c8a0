import { contestedInWords, readContestedLeases } from "../../db/lease.ts";
import { type Check, plural } from "./check.ts";

/** Rows counted at most: the figure tells how much is left, not exactly how much. */
const MOST = 100_000;

const JOURNAL = `
SELECT count(*)::float8 AS rows, COALESCE(sum(j.events), 0)::float8 AS events,
  COALESCE(max(GREATEST(0, extract(epoch FROM clock_timestamp() - j.received_at))), 0)::float8 AS seconds
FROM (SELECT j.events, j.received_at FROM journal j WHERE j.project_id = $1 LIMIT ${MOST}) j`;
const REJECTED = `
SELECT count(*)::float8 AS rows FROM (SELECT 1 FROM rejected_events r WHERE r.project_id = $1 LIMIT ${MOST}) r`;
const REASON = "SELECT r.error FROM rejected_events r WHERE r.project_id = $1 LIMIT 1";
const REFOLDS = `
SELECT count(*)::float8 AS rows FROM (
  SELECT 1 FROM refolds r WHERE r.project_id = $1 AND r.reason <> 'failed' LIMIT ${MOST}) r`;
const STALE = `
SELECT count(*)::float8 AS rows FROM (SELECT 1 FROM rollups r WHERE r.project_id = $1 AND r.stale LIMIT ${MOST}) r`;

const NO_UNITS = { units: undefined, note: true, weight: 1, size: 1, maxSize: 1 } as const;

/** Events that are acknowledged and not yet in any figure. */
export const journalNote: Check = {
  name: "journal",
  ...NO_UNITS,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [left] = await sql.query<{ rows: number; events: number; seconds: number }>(JOURNAL, projectId);
      const { rows, events, seconds } = left!;
      const message =
        rows === 0
          ? "Every acknowledged event is projected."
          : `${atLeast(rows, "event", events)} ${events === 1 ? "waits" : "wait"} to be projected, the oldest for ${seconds.toFixed(1)} s.`;
      return { examined: 0, faults: [], next: undefined, message };
    });
  },
};

/** Events that were acknowledged and are in no figure, because they cannot be projected. */
export const setAsideCheck: Check = {
  name: "events set aside",
  ...NO_UNITS,
  note: false,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [left] = await sql.query<{ rows: number }>(REJECTED, projectId);
      const rows = left!.rows;
      if (rows === 0) return { examined: 0, faults: [], next: undefined, message: "None." };
      const [reason] = await sql.query<{ error: string }>(REASON, projectId);
      const fault = `${atLeast(rows, "event")} could not be projected and ${rows === 1 ? "is" : "are"} kept in the table rejected_events, with the error. One of the errors: ${reason?.error}`;
      return { examined: 0, faults: [fault], next: undefined };
    });
  },
};

/** Corrections that the projector has still to make. */
export const upkeepNote: Check = {
  name: "upkeep",
  ...NO_UNITS,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const [refolds] = await sql.query<{ rows: number }>(REFOLDS, projectId);
      const [stale] = await sql.query<{ rows: number }>(STALE, projectId);
      const left = [
        ...(refolds!.rows > 0 ? [`${atLeast(refolds!.rows, "agent")} to compute again`] : []),
        ...(stale!.rows > 0 ? [`${atLeast(stale!.rows, "peak")} to read again`] : []),
      ];
      const message = left.length === 0 ? "Nothing is left to do." : `Left to do: ${left.join(", ")}.`;
      return { examined: 0, faults: [], next: undefined, message };
    });
  },
};

/** Servers that take a project from each other make no progress. */
export const contestNote: Check = {
  name: "leases",
  ...NO_UNITS,
  step({ connection, deadline, projectId }) {
    return connection.atOneMoment(deadline, async (sql) => {
      const contested = await readContestedLeases(sql, projectId);
      const message =
        contested.length === 0 ? "Each has one holder." : contested.map(contestedInWords).join(" ");
      return { examined: 0, faults: [], next: undefined, message };
    });
  },
};

function atLeast(rows: number, noun: string, value = rows): string {
  return rows < MOST ? plural(value, noun) : `at least ${plural(value, noun)}`;
}
