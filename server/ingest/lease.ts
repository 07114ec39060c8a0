import type { Sql } from "../db/sql.ts";

/** Milliseconds a holder may be silent before another process takes over. */
export const LEASE_MS = 3_000;

/** The right to project one project. Every transaction of the holder proves that nobody took over since. */
export interface Lease {
  projectId: number;
  holder: string;
  epoch: number;
}

/** A lease that was just acquired. */
export interface AcquiredLease extends Lease {
  /** The newest policy step that the holders so far have considered. */
  policyRevision: number;
}

/** Thrown if another process has taken over. Nothing of the transaction is stored. */
export class LeaseLost extends Error {
  constructor(projectId: number) {
    super(`another process projects project ${projectId} now`);
  }
}

const ACQUIRE = `
INSERT INTO projectors AS t (project_id, holder, epoch, expires_at) VALUES ($1, $2::uuid, 1, to_timestamp($4::float8 / 1000))
ON CONFLICT (project_id) DO UPDATE SET holder = EXCLUDED.holder, epoch = t.epoch + 1, expires_at = EXCLUDED.expires_at
WHERE t.expires_at < to_timestamp($3::float8 / 1000) OR t.holder = EXCLUDED.holder
RETURNING t.epoch::float8 AS epoch, t.policy_revision AS "policyRevision"`;

const EXISTS = "SELECT 1 FROM projects WHERE id = $1 AND deleting_at IS NULL";
const REMOVE_JOURNAL = "DELETE FROM journal WHERE project_id = $1";
const REMOVE_LEASE = "DELETE FROM projectors WHERE project_id = $1 AND holder = $2::uuid AND epoch = 1";

const PROVE = `
UPDATE projectors SET expires_at = to_timestamp($4::float8 / 1000)
WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8`;

const RELEASE = `
UPDATE projectors SET expires_at = to_timestamp(0) WHERE project_id = $1 AND holder = $2::uuid AND epoch = $3::int8`;

/** Returns undefined while another process holds it. `now` is the database's time in epoch ms. */
export async function acquireLease(
  sql: Pick<Sql, "query">,
  projectId: number,
  holder: string,
  now: number,
): Promise<AcquiredLease | undefined> {
  const [row] = await sql.query<{ epoch: number; policyRevision: number }>(
    ACQUIRE,
    projectId,
    holder,
    now,
    now + LEASE_MS,
  );
  return row && { projectId, holder, ...row };
}

/**
 * Removes a lease whose project is deleted, with what a late request journaled. Returns whether it did. Deletion removes
 * the lease first, so only a new row can be an orphan.
 */
export async function removeOrphan(
  sql: Pick<Sql, "query">,
  { projectId, holder, epoch }: Lease,
): Promise<boolean> {
  if (epoch > 1 || (await sql.query(EXISTS, projectId)).length > 0) return false;
  await sql.query(REMOVE_JOURNAL, projectId);
  await sql.query(REMOVE_LEASE, projectId, holder);
  return true;
}

/**
 * Renews the lease inside a transaction. The row stays locked until the commit, so nobody can take over before it.
 * @throws LeaseLost
 */
export async function proveLease(sql: Sql, { projectId, holder, epoch }: Lease, now: number): Promise<void> {
  const proven = await sql.execute(PROVE, projectId, holder, epoch, now + LEASE_MS);
  if (proven !== 1) throw new LeaseLost(projectId);
}

export async function releaseLease(
  sql: Pick<Sql, "query">,
  { projectId, holder, epoch }: Lease,
): Promise<void> {
  await sql.query(RELEASE, projectId, holder, epoch);
}
