import type { ChangedMessage } from "@plimsoll/protocol/api";

/** How soon to refetch a query after a change: `fast` for live numbers, `soon` for their totals, `slow` for charts and history. */
export type Urgency = "fast" | "soon" | "slow";

// The fleet query has its own refresh: see refresh-fleet.ts.
const SOON: ReadonlySet<string> = new Set([
  "status",
  "policies.harnesses",
  "policies.rejudging",
  "policies.rollout",
  "alerts.list",
  "alerts.rules.list",
  "alerts.endpoints.list",
  "alerts.deliveries.list",
  "alerts.deliveries.get",
]);
const SLOW: ReadonlySet<string> = new Set([
  "sessions.count",
  "sessions.values",
  "series",
  "extent",
  "marks",
  "breakdown",
  "rebuilds",
  "falls",
  "quality",
  "contents",
  "quota",
  "spending.days",
  "policies.effects",
  "harnesses",
  "harnessLines",
  "machines.list",
  "ingest.counts",
  "windows.list",
  "windows.unknown",
]);
const PER_SESSION: ReadonlySet<string> = new Set(["sessions.get", "sessions.chart", "sessions.turns"]);
/** An infinite query refetches every loaded page. With more pages than this, it is refetched slowly. */
const FEW_PAGES = 2;

export interface QueryFacts {
  /** The tRPC query key, such as `[["sessions", "get"], { input: { id } }]`. */
  key: readonly unknown[];
  /** Number of loaded pages of an infinite query; undefined for other queries. */
  pages: number | undefined;
}

/** How soon to refetch a query after these messages; null if they do not affect it. */
export function refetchUrgency(
  { key, pages }: QueryFacts,
  messages: readonly ChangedMessage[],
): Urgency | null {
  const path = Array.isArray(key[0]) ? key[0].join(".") : "";
  if (SLOW.has(path)) return "slow";
  const many = pages !== undefined && pages > FEW_PAGES;
  if (SOON.has(path)) return many ? "slow" : "soon";
  if (path === "sessions.list") return many ? "slow" : "fast";
  if (!PER_SESSION.has(path)) return null;
  const id = (key[1] as { input?: { id?: string } } | undefined)?.input?.id;
  const named = messages.some(
    ({ sessions }) => sessions === null || (id !== undefined && sessions.includes(id)),
  );
  if (!named) return null;
  return many ? "slow" : "fast";
}
