import type { LiveMessage } from "@plimsoll/protocol";

/** How soon a query must follow a change: `fast` moves numbers people watch, `slow` redraws history. */
export type Urgency = "fast" | "slow";

// The fleet is followed by itself: see fleet/follow.ts.
const FAST: ReadonlySet<string> = new Set(["status", "sessions.list"]);
const SLOW: ReadonlySet<string> = new Set(["series", "harnesses", "ingest.counts"]);
const OF_A_SESSION: ReadonlySet<string> = new Set(["sessions.get", "sessions.chart", "sessions.turns"]);
/** An infinite query refetches every page it holds; beyond this many it follows slowly. */
const FEW_PAGES = 2;

export interface QueryFacts {
  /** As tRPC writes it: `[["sessions", "get"], { input: { id } }]`. */
  key: readonly unknown[];
  /** Pages an infinite query holds; undefined for an ordinary one. */
  pages: number | undefined;
}

/** Whether, and how soon, a query has to be fetched again after these messages. Null when they do not concern it. */
export function refetchUrgency({ key, pages }: QueryFacts, messages: readonly LiveMessage[]): Urgency | null {
  const path = Array.isArray(key[0]) ? key[0].join(".") : "";
  if (SLOW.has(path)) return "slow";
  const many = pages !== undefined && pages > FEW_PAGES;
  if (FAST.has(path)) return many ? "slow" : "fast";
  if (!OF_A_SESSION.has(path)) return null;
  const id = (key[1] as { input?: { id?: string } } | undefined)?.input?.id;
  const named = messages.some(
    ({ sessions }) => sessions === null || (id !== undefined && sessions.includes(id)),
  );
  if (!named) return null;
  return many ? "slow" : "fast";
}
