import type { SessionSort, SessionStatus, SessionsQuery } from "@plimsoll/protocol";
import { type inferParserType, parseAsString, parseAsStringLiteral } from "nuqs/server";
import type { Period } from "../range.ts";

// Repeated here so that pages do not bundle the Zod schemas; `satisfies` keeps them in sync.
export const KINDS = ["conversation", "loop", "phase", "agent"] as const satisfies readonly SessionKind[];
export const STATUSES = ["live", "idle", "ended"] as const satisfies readonly SessionStatus[];
const SORTS = [
  "last_at",
  "first_at",
  "load",
  "peak_utilization",
  "turns",
] as const satisfies readonly SessionSort[];
export type SessionKind = NonNullable<SessionsQuery["kind"]>;
export type StatusChoice = SessionStatus;

export const sessionFilters = {
  q: parseAsString.withDefault("").withOptions({ history: "replace", throttleMs: 150 }),
  kind: parseAsStringLiteral(KINDS).withOptions({ history: "push" }),
  status: parseAsStringLiteral(STATUSES).withOptions({ history: "push" }),
  sort: parseAsStringLiteral(SORTS).withDefault("last_at").withOptions({ history: "replace" }),
  order: parseAsStringLiteral(["asc", "desc"]).withDefault("desc").withOptions({ history: "replace" }),
};

/** Rows per page. */
const PAGE = 100;

/** The query for a set of filters. Server prefetch and browser share it, so that their cache keys match. */
export function listQuery(
  { from, to }: Period,
  { q, kind, status, sort, order }: inferParserType<typeof sessionFilters>,
  harness: string | null,
) {
  const text = q.trim();
  return {
    from,
    to,
    sort,
    order,
    limit: PAGE,
    ...(harness === null ? {} : { harness }),
    ...(kind === null ? {} : { kind }),
    ...(status === null ? {} : { status }),
    ...(text === "" ? {} : { q: text }),
  };
}
