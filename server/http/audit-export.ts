import { type AuditEntryView, type AuditPage, AuditQuery } from "@plimsoll/protocol/api";
import type { Hono } from "hono";
import type { Logger } from "pino";
import type { Access, Principal } from "../tenants/access/principal.ts";
import type { Quota } from "../tenants/access/quota.ts";
import type { MachineEnv } from "./app.ts";
import { csvOf, type ExportFormat, parseQuery, sendExport } from "./csv.ts";

export interface AuditExportDeps {
  log: Logger;
  access: Pick<Access, "authorize">;
  /** Bounds the calls of each key. */
  reads: Pick<Quota, "take">;
  entries: (principal: Principal, query: AuditQuery) => Promise<AuditPage>;
}

const PAGE = 200;
const COLUMNS = [
  ...["at", "action", "actor_kind", "actor_id", "actor_name", "address", "project_id", "project"],
  ...["target", "detail", "count", "id"],
];
const FORMATS: Readonly<Record<string, ExportFormat>> = {
  csv: csvOf(COLUMNS),
  ndjson: { type: "application/x-ndjson", head: "", line: (row) => `${JSON.stringify(row)}\n` },
};

/** `/api/v1/audit.csv` and `/api/v1/audit.ndjson`: all entries of the audit log that match, newest first. */
export const auditExportRoutes =
  ({ log, access, reads, entries }: AuditExportDeps) =>
  (app: Hono<MachineEnv>): void => {
    for (const [ending, format] of Object.entries(FORMATS)) {
      app.get(`/api/v1/audit.${ending}`, async (c) => {
        const principal = await access.authorize(c.env.incoming, "administer");
        reads.take(principal.keyId, 1);
        const query = parseQuery(AuditQuery, { ...c.req.query(), limit: PAGE });
        c.header("Content-Disposition", `attachment; filename="plimsoll-audit.${ending}"`);
        return sendExport(c, { log }, format, async (cursor) => {
          const page = await entries(principal, { ...query, cursor });
          return { ...page, items: ending === "csv" ? page.items.map(flat) : page.items };
        });
      });
    }
  };

const flat = ({ actor, ...entry }: AuditEntryView) => ({
  ...entry,
  actor_kind: actor.kind,
  actor_id: actor.id,
  actor_name: actor.name,
  address: actor.address,
});
