"use client";

import { FLEET_SORTS } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import {
  createParser,
  parseAsIsoDateTime,
  parseAsString,
  parseAsStringLiteral,
  useQueryState,
  useQueryStates,
} from "nuqs";
import { useMinute } from "./clock.tsx";
import {
  DEFAULT_RANGE,
  isAllTime,
  type Period,
  parseRange,
  type RangeChoice,
  resolveRange,
  serializeRange,
} from "./range.ts";
import { useTRPC } from "./trpc.ts";
import { parseTurnSpan, serializeTurnSpan, type TurnSpan } from "./turn-span.ts";

/** Every choice is stored in the URL, so that any view can be shared. */
const range = createParser<RangeChoice>({
  parse: parseRange,
  serialize: serializeRange,
  eq: (a, b) => serializeRange(a) === serializeRange(b),
})
  .withDefault(DEFAULT_RANGE)
  .withOptions({ history: "push" });

/** An empty parameter, such as `harness=`, selects nothing. */
const name = createParser<string>({
  parse: (text) => (text === "" ? null : text),
  serialize: (text) => text,
}).withOptions({ history: "push" });

export function useRange() {
  return useQueryState("range", range);
}

/** The start of the recorded history. The server sends it with every page that shows all time. */
function useHistoryStart(needed: boolean): string | null {
  const { data } = useQuery(
    useTRPC().extent.queryOptions({}, { enabled: needed, staleTime: Number.POSITIVE_INFINITY }),
  );
  return data?.first_at ?? null;
}

export function usePeriod(): Period {
  const [choice] = useRange();
  return resolveRange(choice, useMinute(), useHistoryStart(isAllTime(choice)));
}

export function useHarness() {
  return useQueryState("harness", name);
}

const place = { machine: name, repository: name, branch: name, person: name };

/** The machine, the repository and the branch that sessions run in, and the person whose they are. */
export function usePlace() {
  return useQueryStates(place);
}

const allAgents = createParser<true>({
  parse: (text) => (text === "all" ? true : null),
  serialize: () => "all",
}).withOptions({ history: "replace" });

/** True if the URL asks for every agent of a large fleet (`agents=all`). */
export function useAllAgents() {
  const [all, set] = useQueryState("agents", allAgents);
  return [all === true, set] as const;
}

const fleetSort = parseAsStringLiteral(FLEET_SORTS).withDefault("line").withOptions({ history: "replace" });

/** The order of live agents, stored as `sort`. */
export function useFleetSort() {
  return useQueryState("sort", fleetSort);
}

const session = {
  agent: parseAsString.withOptions({ history: "push" }),
  /** The key of a turn of that agent, as links of alerts name it. */
  turn: parseAsString.withOptions({ history: "replace" }),
  /** A time to go to; a turn takes its place. */
  at: parseAsIsoDateTime.withOptions({ history: "replace" }),
  axis: parseAsStringLiteral(["turns", "time"]).withDefault("turns").withOptions({ history: "replace" }),
  /** The turns that the chart is zoomed to. */
  zoom: createParser<TurnSpan>({
    parse: parseTurnSpan,
    serialize: serializeTurnSpan,
    eq: (a, b) => serializeTurnSpan(a) === serializeTurnSpan(b),
  }).withOptions({ history: "replace" }),
  /** The id of the boundary whose card is open. */
  fall: parseAsString.withOptions({ history: "replace" }),
};

export function useSessionView() {
  return useQueryStates(session);
}
