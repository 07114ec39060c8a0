import type { Sql } from "../db/sql.ts";
import type { RejectedSample } from "./rejected-events.ts";

/** Milliseconds a holder may be silent before another process takes over. */
export const EVALUATOR_LEASE_MS = 6_000;

/** Milliseconds without a holder after which silence before says nothing: no server may have listened. */
const GAP_MS = 30_000;

/** The right to evaluate the rules of one project. Every transaction of the holder proves that nobody took over since. */
export interface EvaluatorLease {
  projectId: number;
  holder: string;
  epoch: number;
  /** Since when the project has been watched without a gap. Epoch ms. */
  watchingSince: number;
  /** What the last holder counted; see rejected-events.ts. */
  samples: readonly RejectedSample[];
}

/** Thrown if another process has taken over. Nothing of the transaction is stored. */
export class EvaluatorLeaseLost extends Error {
  constructor(projectId: number) {
    super(`another process evaluates the alert rules of project ${projectId} now`);
  }
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;

const ACQUIRE_LEASE = `
INSERT INTO alert_evaluators AS t (project_id, holder, epoch, expires_at, watching_since, samples)
SELECT p.id, $2::uuid, 1, ${time("$4")}, ${time("$3")}, '[]' FROM projects p WHERE p.id = $1 AND p.deleting_at IS NULL
ON CONFLICT (project_id) DO UPDATE SET holder = EXCLUDED.holder, epoch = t.epoch + 1, expires_at = EXCLUDED.expires_at,
  watching_since = CASE WHEN t.expires_at < ${time("$5")} THEN EXCLUDED.watching_since ELSE t.watching_since END
WHERE t.expires_at < ${time("$3")} OR t.holder = EXCLUDED.holder
RETURNING epoch::float8 AS epoch, (extract(epoch FROM watching_since) * 1000)::float8 AS "watchingSince", samples`;

const PROVE_LEASE = `
UPDATE alert_evaluators SET expires_at = ${time("$4")}, samples = $5::jsonb
WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8`;

/** What a holder leaves to the next one: nothing is wrong, so the next may take over at once. */
const RELEASE_LEASE = `
UPDATE alert_evaluators SET expires_at = ${time("$4")} WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8`;

/** Returns undefined while another process holds it. `now` is the database's time in epoch ms. */
export async function acquireEvaluatorLease(
  sql: Pick<Sql, "query">,
  projectId: number,
  holder: string,
  now: number,
): Promise<EvaluatorLease | undefined> {
  const [row] = await sql.query<Pick<EvaluatorLease, "epoch" | "watchingSince" | "samples">>(
    ACQUIRE_LEASE,
    projectId,
    holder,
    now,
    now + EVALUATOR_LEASE_MS,
    now - GAP_MS,
  );
  return row && { projectId, holder, ...row };
}

/**
 * Renews the lease inside a transaction. The row stays locked until the commit, so nobody can take over before it.
 * @throws EvaluatorLeaseLost
 */
export async function proveEvaluatorLease(sql: Sql, lease: EvaluatorLease, now: number): Promise<void> {
  const { projectId, holder, epoch, samples } = lease;
  const values = [projectId, holder, epoch, now + EVALUATOR_LEASE_MS, JSON.stringify(samples)];
  if ((await sql.execute(PROVE_LEASE, ...values)) !== 1) throw new EvaluatorLeaseLost(projectId);
}

/** Lets another process acquire the lease at once. `now` is the database's time in epoch ms. */
export async function releaseEvaluatorLease(
  sql: Pick<Sql, "query">,
  { projectId, holder, epoch }: EvaluatorLease,
  now: number,
): Promise<void> {
  await sql.query(RELEASE_LEASE, projectId, holder, epoch, now - 1);
}
