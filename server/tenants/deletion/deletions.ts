import { setTimeout as delay } from "node:timers/promises";
import type { DeletionView, UndeletionView } from "@plimsoll/protocol/api";
import { Prisma, type PrismaClient } from "../../db/client.ts";
import { PlimsollError } from "../../errors.ts";
import { UNDO_ACCEPTED_MS, UNDO_MS } from "../../write/project/undo-time.ts";
import { type Actor, type AuditNote, addEntry } from "../audit/entry.ts";

export interface DeletionsOptions {
  prisma: PrismaClient;
  /** Tells open pages that anything may have changed. */
  changed: (projectId: number) => void;
  /** Epoch ms. */
  clock: () => number;
}

export type Deletions = ReturnType<typeof createDeletions>;

export interface DeleteOptions {
  projectId: number;
  actor: Actor;
  /** Count, and delete nothing. */
  dryRun?: boolean;
}

/** Rows of one statement. */
const BATCH = 5_000;
/** Milliseconds after which rows that stay locked fail the call. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 10;
/** Names that an entry of the audit log lists. */
const NAMED = 5;

const NOTHING: DeletionView = { harnesses: 0, sessions: 0, turns: 0, undo_until: null };

/** Marks sessions and harnesses as deleted, which hides them. The projector removes them later; see remove-sessions.ts. */
export function createDeletions({ prisma, changed, clock }: DeletionsOptions) {
  async function note(note: AuditNote): Promise<void> {
    await addEntry(prisma, clock(), note);
  }

  async function count(where: Prisma.Sql) {
    const [row] = await prisma.$queryRaw<{ sessions: number; turns: number; names: string[] }[]>`
      SELECT count(*)::int4 AS sessions, COALESCE(sum(turns), 0)::float8 AS turns,
        (array_agg(COALESCE(title, name) ORDER BY id))[1:${Prisma.raw(String(NAMED))}] AS names
      FROM sessions WHERE ${where} AND deleted_at IS NULL`;
    return { sessions: row?.sessions ?? 0, turns: row?.turns ?? 0, names: row?.names ?? [] };
  }

  /** The database's clock, because any server may judge the time for undo. */
  async function now(): Promise<Date> {
    const [row] = await prisma.$queryRaw<{ at: Date }[]>`SELECT clock_timestamp()::timestamptz(3) AS at`;
    return row!.at;
  }

  /** Sets the mark on all sessions that match, a few thousand at a time. Returns how many it changed. */
  async function mark(where: Prisma.Sql, deletedAt: Date | null): Promise<number> {
    const open = deletedAt === null ? Prisma.sql`deleted_at IS NOT NULL` : Prisma.sql`deleted_at IS NULL`;
    const until = performance.now() + PATIENCE_MS;
    let marked = 0;
    for (;;) {
      // Waits for no lock: a chunk of the projector has the same rows in another order.
      const rows = await prisma.$executeRaw`
        UPDATE sessions SET deleted_at = ${deletedAt} WHERE (project_id, id) IN (
          SELECT project_id, id FROM sessions WHERE ${where} AND ${open} LIMIT ${BATCH} FOR NO KEY UPDATE SKIP LOCKED)`;
      marked += rows;
      if (rows > 0) continue;
      const [left] = await prisma.$queryRaw<{ some: boolean }[]>`
        SELECT EXISTS (SELECT 1 FROM sessions WHERE ${where} AND ${open}) AS some`;
      if (left?.some !== true) return marked;
      if (performance.now() > until)
        throw new PlimsollError("overloaded", "Some of the sessions are being written. Try again in 1 s.", {
          details: { retry_after_seconds: 1 },
        });
      await delay(PAUSE_MS);
    }
  }

  async function deleteSessions(
    ids: readonly string[],
    { projectId, actor, dryRun = false }: DeleteOptions,
  ): Promise<DeletionView> {
    const where = Prisma.sql`project_id = ${projectId} AND id = ANY(${[...ids]}::uuid[])`;
    const { sessions, turns, names } = await count(where);
    if (dryRun || sessions === 0) return { ...NOTHING, sessions, turns };
    const at = await now();
    await mark(where, at);
    changed(projectId);
    await note({ actor, action: "sessions_deleted", projectId, target: listed(names, sessions) });
    return { harnesses: 0, sessions, turns, undo_until: undoUntil(at) };
  }

  async function deleteHarnesses(
    instances: readonly string[],
    { projectId, actor, dryRun = false }: DeleteOptions,
  ): Promise<DeletionView> {
    const where = Prisma.sql`project_id = ${projectId} AND harness = ANY(${[...instances]})`;
    const [{ sessions, turns }, harnesses] = await Promise.all([
      count(where),
      prisma.harness.count({ where: { projectId, instance: { in: [...instances] }, deletedAt: null } }),
    ]);
    if (dryRun || sessions + harnesses === 0) return { ...NOTHING, harnesses, sessions, turns };
    const at = await now();
    await prisma.harness.updateMany({
      where: { projectId, instance: { in: [...instances] }, deletedAt: null },
      data: { deletedAt: at },
    });
    await mark(where, at);
    changed(projectId);
    const detail = `${sessions} sessions`;
    await note({
      actor,
      action: "harnesses_deleted",
      projectId,
      target: listed(instances, instances.length),
      detail,
    });
    return { harnesses, sessions, turns, undo_until: undoUntil(at) };
  }

  return {
    /** Hides sessions, and has them removed once the time for undo is over. Unknown ids are left out. */
    deleteSessions,

    /** Brings back sessions that were deleted a moment ago. */
    async undeleteSessions(
      ids: readonly string[],
      { projectId, actor }: DeleteOptions,
    ): Promise<UndeletionView> {
      const sessions = await mark(
        Prisma.sql`project_id = ${projectId} AND id = ANY(${[...ids]}::uuid[]) AND ${RECENT}`,
        null,
      );
      changed(projectId);
      if (sessions > 0)
        await note({ actor, action: "sessions_restored", projectId, detail: `${sessions} sessions` });
      return { harnesses: 0, sessions };
    },

    /** Deletes harness instances with all of their sessions. */
    deleteHarnesses,

    /** Brings back harness instances that were deleted a moment ago, with the sessions that were deleted with them. */
    async undeleteHarnesses(
      instances: readonly string[],
      { projectId, actor }: DeleteOptions,
    ): Promise<UndeletionView> {
      const found = await prisma.$queryRaw<{ at: Date }[]>`
        SELECT DISTINCT deleted_at AS at FROM sessions
        WHERE project_id = ${projectId} AND harness = ANY(${[...instances]}) AND ${RECENT}
        UNION SELECT deleted_at FROM harnesses
        WHERE project_id = ${projectId} AND instance = ANY(${[...instances]}) AND ${RECENT} ORDER BY at DESC LIMIT 1`;
      const at = found[0]?.at;
      if (at === undefined) return { harnesses: 0, sessions: 0 };
      const harnesses = await prisma.$executeRaw`
        UPDATE harnesses SET deleted_at = NULL
        WHERE project_id = ${projectId} AND instance = ANY(${[...instances]}) AND deleted_at = ${at} AND ${RECENT}`;
      const sessions = await mark(
        Prisma.sql`project_id = ${projectId} AND harness = ANY(${[...instances]}) AND deleted_at = ${at} AND ${RECENT}`,
        null,
      );
      changed(projectId);
      const target = listed(instances, instances.length);
      await note({ actor, action: "harnesses_restored", projectId, target, detail: `${sessions} sessions` });
      return { harnesses, sessions };
    },
  };
}

/** Citus refuses the VOLATILE clock_timestamp() in the condition of an UPDATE. */
const RECENT = Prisma.sql`deleted_at > statement_timestamp() - ${UNDO_ACCEPTED_MS} * interval '1 ms'`;

const undoUntil = (at: Date): string => new Date(at.getTime() + UNDO_MS).toISOString();

function listed(names: readonly string[], count: number): string {
  const some = names.slice(0, NAMED);
  const more = count - some.length;
  return `${some.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
