import type { RetentionDays, RetentionPreview, RetentionView } from "@plimsoll/protocol/api";
import type { PrismaClient } from "../../db/client.ts";
import { ALL, SLOT_MS } from "../../db/tables/buckets.ts";
import { PlimsollError } from "../../errors.ts";
import { DAY_MS } from "../../times.ts";
import { rollupCut, sessionCut } from "../../write/project/retention-cut.ts";
import { type Actor, addEntry } from "../audit/entry.ts";

export interface RetentionOptions {
  prisma: PrismaClient;
  /** Called after a change: what is kept counts for new events too. */
  changed: () => void;
  /** Epoch ms. */
  clock: () => number;
}

export type Retention = ReturnType<typeof createRetention>;

/** How long projects keep what. The projector applies it; see apply-retention.ts. */
export function createRetention({ prisma, changed, clock }: RetentionOptions) {
  async function read(projectId: number): Promise<RetentionView> {
    const [[row], [oldest], disk] = await Promise.all([
      prisma.$queryRaw<StoredRetention[]>`
        SELECT session_days, rollup_days, horizon FROM projects WHERE id = ${projectId}`,
      prisma.$queryRaw<{ at: Date | null }[]>`
        SELECT min(bucket) AS at FROM rollups WHERE project_id = ${projectId} AND grain = 360 AND harness = ${ALL}`,
      readDisk(prisma),
    ]);
    const at = oldest?.at ?? null;
    return {
      session_days: row?.session_days ?? null,
      rollup_days: row?.rollup_days ?? null,
      horizon: row?.horizon?.toISOString() ?? null,
      oldest_days: at === null ? null : Math.max(0, Math.floor((clock() - at.getTime()) / DAY_MS)),
      disk,
    };
  }

  return {
    read,

    /**
     * @throws PlimsollError `bad_request` if rollups would not outlive sessions
     */
    async set(projectId: number, days: RetentionDays, actor: Actor): Promise<RetentionView> {
      requireOrder(days);
      await prisma.$transaction(async (tx) => {
        await tx.project.update({
          where: { id: projectId },
          data: { sessionDays: days.session_days, rollupDays: days.rollup_days },
        });
        const detail = `sessions: ${daysText(days.session_days)}, rollups: ${daysText(days.rollup_days)}`;
        await addEntry(tx, clock(), { actor, action: "retention_set", projectId, detail });
      });
      changed();
      return read(projectId);
    },

    /**
     * What a setting would remove now.
     * @throws PlimsollError `bad_request` if rollups would not outlive sessions
     */
    async preview(projectId: number, days: RetentionDays): Promise<RetentionPreview> {
      requireOrder(days);
      const { session_days: sessionDays, rollup_days: rollupDays } = days;
      if (sessionDays === null) return { sessions: 0, turns: 0, rollup_days: 0 };
      const slot = sessionCut(clock(), sessionDays) / SLOT_MS;
      const [gone] = await prisma.$queryRaw<{ sessions: number; turns: number }[]>`
        SELECT count(*)::int4 AS sessions, COALESCE(sum(turns), 0)::float8 AS turns FROM sessions
        WHERE project_id = ${projectId} AND last_slot < ${slot} AND deleted_at IS NULL`;
      return {
        sessions: gone?.sessions ?? 0,
        turns: gone?.turns ?? 0,
        rollup_days: rollupDays === null ? 0 : await rollupDaysGone(projectId, slot, rollupDays),
      };
    },
  };

  async function rollupDaysGone(projectId: number, slot: number, days: number): Promise<number> {
    const [left] = await prisma.$queryRaw<{ at: Date | null }[]>`
      SELECT min(first_at) AS at FROM sessions WHERE project_id = ${projectId} AND last_slot >= ${slot}`;
    const cut = new Date(rollupCut(clock(), days, left?.at?.getTime()));
    const [row] = await prisma.$queryRaw<{ days: number }[]>`
      SELECT count(DISTINCT date_trunc('day', bucket, 'UTC'))::int4 AS days FROM rollups
      WHERE project_id = ${projectId} AND grain = 360 AND harness = ${ALL} AND bucket < ${cut}`;
    return row?.days ?? 0;
  }
}

interface StoredRetention {
  session_days: number | null;
  rollup_days: number | null;
  horizon: Date | null;
}

function requireOrder({ session_days: sessions, rollup_days: rollups }: RetentionDays): void {
  if (rollups === null || (sessions !== null && rollups >= sessions)) return;
  throw new PlimsollError(
    "bad_request",
    sessions === null
      ? "Rollups can only be removed after their sessions. Set the days for sessions too."
      : `Rollups outlive sessions: keep them for at least ${sessions} days, or for good.`,
    { details: { path: "rollup_days" } },
  );
}

const daysText = (days: number | null): string => (days === null ? "for good" : `${days} days`);

const PARTS: Readonly<Record<string, "turns" | "sessions" | "rollups">> = {
  turn_blocks: "turns",
  segments: "turns",
  sessions: "sessions",
  agents: "sessions",
  agent_outcomes: "sessions",
  agent_contents: "sessions",
  windows: "sessions",
  boundaries: "sessions",
  crossings: "sessions",
  rollups: "rollups",
  packed_minutes: "rollups",
  boundary_rollups: "rollups",
  insight_rollups: "rollups",
  rollup_names: "rollups",
};

/** Bytes of the tables with their indexes. */
async function readDisk(prisma: PrismaClient): Promise<RetentionView["disk"]> {
  const rows = await prisma.$queryRaw<{ name: string; bytes: number }[]>`
    SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes
    FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`;
  const disk = { turns: 0, sessions: 0, rollups: 0, other: 0 };
  for (const { name, bytes } of rows) disk[PARTS[name] ?? "other"] += bytes;
  return disk;
}
