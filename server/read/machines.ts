import type { MachineList } from "@plimsoll/protocol/api";
import { STOP_REASONS } from "@plimsoll/protocol/pure";
import { slotOf } from "../db/tables/buckets.ts";
import type { FreshReader } from "../lines/reader.ts";
import { DAY_MS, iso } from "../times.ts";
import { LIVE_FOR, SILENT_AFTER } from "./liveness.ts";

/** Machines in one answer. */
const MOST_MACHINES = 500;
/** Milliseconds for which it is said that a machine stopped. */
const STOPPED_FOR = DAY_MS;
/** The agent waits for its person, so nothing is to be expected of its machine. */
const WAITS = STOP_REASONS.indexOf("end_turn");

/** The machines heard from last, the latest first, and which of them stopped reporting while sessions were at work. */
export async function readMachines({ prisma, projectId, now }: FreshReader): Promise<MachineList> {
  const [rows, total, stopped] = await Promise.all([
    prisma.machine.findMany({
      where: { projectId },
      orderBy: [{ lastReceivedAt: "desc" }, { name: "asc" }],
      take: MOST_MACHINES,
    }),
    prisma.machine.count({ where: { projectId } }),
    // A session that was live when its machine was last heard, not ended, and whose agent did not wait for its next prompt.
    prisma.$queryRaw<{ name: string; sessions: number }[]>`
      SELECT m.name, count(*)::int4 AS sessions
      FROM machines m
        JOIN sessions s ON s.project_id = m.project_id AND s.machine = m.name
        LEFT JOIN agents a ON a.project_id = s.project_id AND a.id = s.main_agent
      WHERE m.project_id = ${projectId}
        AND m.last_received_at <= ${new Date(now - SILENT_AFTER)} AND m.last_received_at > ${new Date(now - STOPPED_FOR)}
        AND s.open_slot >= ${slotOf(now - STOPPED_FOR - LIVE_FOR)} AND s.deleted_at IS NULL
        AND NOT (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at)
        AND s.last_received_at <= m.last_received_at
        AND s.last_received_at > m.last_received_at - ${LIVE_FOR} * interval '1 ms'
        AND s.last_at > s.last_received_at - ${LIVE_FOR} * interval '1 ms'
        AND NOT COALESCE(a.stop_reason = ${WAITS} AND a.stopped_at >= a.last_at, false)
      GROUP BY m.name`,
  ]);
  const sessionsOf = new Map(stopped.map(({ name, sessions }) => [name, sessions]));
  return {
    machines: rows.map(({ name, firstReceivedAt, lastReceivedAt }) => {
      const sessions = sessionsOf.get(name);
      return {
        name,
        first_at: iso(firstReceivedAt),
        last_at: iso(lastReceivedAt),
        stopped: sessions === undefined ? null : { sessions },
      };
    }),
    more: Math.max(0, total - rows.length),
  };
}
