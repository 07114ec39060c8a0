import { countOpenAlerts, readAlertHealth } from "../alerts/alert-health.ts";
import { queriesOf } from "../db/sql.ts";
import { type FreshnessSource, freshReader, type Reader } from "../lines/reader.ts";
import { readPolicyStates } from "../policies/read-policy-states.ts";
import { readGauges } from "../read/gauges.ts";
import { readOwnLevels } from "../read/own-levels.ts";
import { readRows, readSessions } from "../read/sessions.ts";
import { readTurns } from "../read/turns.ts";
import type { MachineAppDeps } from "./app.ts";
import type { CsvDeps } from "./csv.ts";
import type { McpRoutesDeps } from "./mcp.ts";

/** What the metrics, the CSV exports and the tools of agents read, after events that were acknowledged before. */
export function openReads(options: {
  readerOf: (projectId: number) => Promise<Reader>;
  freshness: FreshnessSource;
  /** Of the key with which this server encrypts secrets. */
  keyId: string;
}): Pick<MachineAppDeps, "gauges"> &
  Pick<CsvDeps, "sessions" | "selected" | "turns"> &
  Pick<McpRoutesDeps, "ownLevels"> {
  const { readerOf, freshness, keyId } = options;
  const fresh = async (projectId: number) => freshReader(await readerOf(projectId), freshness);
  return {
    async gauges(projectId) {
      const reader = await fresh(projectId);
      const [fleet, policies, health, open] = await Promise.all([
        readGauges(reader),
        readPolicyStates(reader),
        readAlertHealth(queriesOf(reader), projectId, keyId),
        countOpenAlerts(queriesOf(reader), projectId),
      ]);
      return { fleet, policies, alerts: { ...health, open } };
    },
    ownLevels: async (projectId, stated) => readOwnLevels(await fresh(projectId), stated),
    sessions: async (projectId, query) => readSessions(await fresh(projectId), query),
    selected: async (projectId, ids) => readRows(await fresh(projectId), ids),
    // Only the first page waits: the next ones have older turns.
    turns: async (projectId, query) =>
      readTurns(await (query.cursor === undefined ? fresh(projectId) : readerOf(projectId)), query),
  };
}
