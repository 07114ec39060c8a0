import type { LoggedStatement } from "./citus.ts";
import { readSqlSources } from "./sql-sources.ts";

/** Statements that no test of a run on Citus can run, and why. By file. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "server/db/postgres/embedded.ts": "the embedded PostgreSQL has no Citus",
  "server/db/presence.ts": "the embedded PostgreSQL has no Citus",
  "server/db/migrations/migrate.ts":
    "its own statements touch only the table of migrations, which stays on the coordinator",
  "server/upkeep/backup/unreleased.ts": "an old backup is restored into PostgreSQL first",
};

/** SQLSTATEs of a statement that Citus cannot run: it lacks the feature, or cannot tell a type. */
const REFUSED = /^(0A000|42P18|XX000)/;

/** What Citus refused, and which statements of the server nobody ran. */
export function problemsOf(logged: readonly LoggedStatement[]): string[] {
  const ends = new Map<string, number>();
  for (const { statement, error } of logged)
    ends.set(statement, (ends.get(statement) ?? 0) + (error === undefined ? 1 : -1));
  const succeeded = [...ends].filter(([, count]) => count > 0).map(([statement]) => statement);
  const sources = readSqlSources();
  const refused = new Map(
    logged
      .filter(({ statement, error }) => error !== undefined && REFUSED.test(error) && isOurs(statement))
      .map(({ statement, error }) => [statement, error]),
  );
  const missing = sources.filter(
    ({ place, pattern }) =>
      !(place.split(":")[0]! in LEFT_OUT) && !succeeded.some((statement) => pattern.test(statement)),
  );
  return [
    ...[...refused].map(([statement, error]) => `Citus refuses (${error}):\n${statement}`),
    ...missing.map(({ place }) => `No test on Citus runs the statement at ${place}`),
  ];

  /** Tests have statements of their own. */
  function isOurs(statement: string): boolean {
    return sources.some(({ pattern }) => pattern.test(statement));
  }
}
