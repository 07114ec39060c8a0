"use client";

import type { SessionSort, SessionStatus, SessionsQuery } from "@plimsoll/protocol";
import { createParser, parseAsString, parseAsStringLiteral, useQueryState, useQueryStates } from "nuqs";
import { useMinute } from "./clock.tsx";
import {
  DEFAULT_RANGE,
  type Period,
  parseRange,
  type RangeChoice,
  resolveRange,
  serializeRange,
} from "./range.ts";

/** Everything a person chose lives in the URL, so that any view can be shared. */
const range = createParser<RangeChoice>({
  parse: parseRange,
  serialize: serializeRange,
  eq: (a, b) => serializeRange(a) === serializeRange(b),
})
  .withDefault(DEFAULT_RANGE)
  .withOptions({ history: "push" });

export function useRange() {
  return useQueryState("range", range);
}

export function usePeriod(): Period {
  const [choice] = useRange();
  return resolveRange(choice, useMinute());
}

export function useHarness() {
  return useQueryState("harness", parseAsString.withOptions({ history: "push" }));
}

// Written out, so that a page does not carry the schemas they come from; the types keep them true.
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

const sessions = {
  q: parseAsString.withDefault("").withOptions({ history: "replace", throttleMs: 150 }),
  kind: parseAsStringLiteral(KINDS).withOptions({ history: "push" }),
  status: parseAsStringLiteral(STATUSES).withOptions({ history: "push" }),
  sort: parseAsStringLiteral(SORTS).withDefault("last_at").withOptions({ history: "replace" }),
  order: parseAsStringLiteral(["asc", "desc"]).withDefault("desc").withOptions({ history: "replace" }),
};

export function useSessionFilters() {
  return useQueryStates(sessions);
}

const session = {
  agent: parseAsString.withOptions({ history: "push" }),
  axis: parseAsStringLiteral(["turns", "time"]).withDefault("turns").withOptions({ history: "replace" }),
};

export function useSessionView() {
  return useQueryStates(session);
}
