import type { FallReason, SessionSort, SessionStatus, SessionsQuery } from "@plimsoll/protocol/api";
// In the browser, `nuqs/server` would be a second copy of `nuqs`.
import { createParser, type inferParserType, parseAsString, parseAsStringLiteral } from "#nuqs";
import { placeInput } from "../place.ts";
import type { Period, RangeChoice } from "../range.ts";

// Repeated here so that pages do not bundle the Zod schemas; `satisfies` keeps them in sync.
export const KINDS = ["conversation", "loop", "phase", "agent"] as const satisfies readonly SessionKind[];
export const STATUSES = ["live", "idle", "ended"] as const satisfies readonly SessionStatus[];
export const REASONS = [
  "masked",
  "compacted",
  "subtick",
  "restarted",
  "cleared",
  "unexplained",
] as const satisfies readonly FallReason[];
export const SORTS = [
  "last_at",
  "first_at",
  "title",
  "harness",
  "machine",
  "repository",
  "person",
  "model",
  "status",
  "context_tokens",
  "load",
  "peak_utilization",
  "turns",
  "boundaries",
  "warnings",
  "cost_usd",
  "uncached_tokens",
] as const satisfies readonly SessionSort[];
export type SessionKind = NonNullable<SessionsQuery["kind"]>;

const push = { history: "push" } as const;
const replace = { history: "replace" } as const;
/** An empty parameter is no filter. */
const name = createParser<string>({ parse: (text) => text || null, serialize: (text) => text });

export const sessionFilters = {
  q: parseAsString.withDefault("").withOptions(replace),
  kind: parseAsStringLiteral(KINDS).withOptions(push),
  status: parseAsStringLiteral(STATUSES).withOptions(push),
  model: name.withOptions(push),
  machine: name.withOptions(push),
  repository: name.withOptions(push),
  branch: name.withOptions(push),
  person: name.withOptions(push),
  reason: parseAsStringLiteral(REASONS).withOptions(push),
  warned: parseAsStringLiteral(["1"]).withOptions(push),
  tag: name.withOptions(push),
  sort: parseAsStringLiteral(SORTS).withDefault("last_at").withOptions(replace),
  order: parseAsStringLiteral(["asc", "desc"]).withDefault("desc").withOptions(replace),
  /** Names of columns, separated by commas; absent for those chosen in this browser. */
  columns: parseAsString.withOptions(replace),
  /** Id of a saved view, or `all`, which keeps the default view from opening. */
  view: parseAsString.withOptions(push),
};
export type SessionFilters = inferParserType<typeof sessionFilters>;

/** Parameters that choose sessions. The harness is a parameter of all pages. */
export const CHOOSING = [
  "q",
  "kind",
  "status",
  "model",
  "machine",
  "repository",
  "branch",
  "person",
  "reason",
  "warned",
  "tag",
] as const;
export type ChoosingFilter = (typeof CHOOSING)[number];

/** Rows per page. */
const PAGE = 100;
const HOUR_MS = 3_600_000;

/** How long a list can keep its range while it is read, in ms. */
export const PINNED_FOR_MS = HOUR_MS - 120_000;

/** Which sessions a page shows. */
export function filterQuery(
  { from, to }: Pick<Period, "from" | "to">,
  choice: RangeChoice,
  { q, kind, status, model, reason, warned, tag, ...place }: Pick<SessionFilters, ChoosingFilter>,
  harness: string | null,
) {
  const text = q.trim();
  return {
    from,
    // A list that is held for a while must still see sessions that begin meanwhile.
    to: "last" in choice ? new Date(Date.parse(to) + HOUR_MS).toISOString() : to,
    ...(harness === null ? {} : { harness }),
    ...(kind === null ? {} : { kind }),
    ...(status === null ? {} : { status }),
    ...(model === null ? {} : { model }),
    ...placeInput(place),
    ...(reason === null ? {} : { reason }),
    ...(warned === null ? {} : { warned }),
    ...(tag === null ? {} : { tag }),
    ...(text === "" ? {} : { q: text }),
  };
}

/** The query for a set of filters. Server prefetch and browser share it, so that their cache keys match. */
export function listQuery(filter: ReturnType<typeof filterQuery>, { sort, order }: SessionFilters) {
  return { ...filter, sort, order, limit: PAGE };
}
