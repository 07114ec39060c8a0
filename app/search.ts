import { PROJECT_PARAMETER } from "@plimsoll/protocol/pure";
import { PLACE_PARAMETERS, placeInput } from "../components/place.ts";
import { DEFAULT_RANGE, isAllTime, type Period, parseRange, resolveRange } from "../components/range.ts";
import type { PageQueries } from "./prefetch.ts";

export type SearchParams = Promise<Record<string, string | string[] | undefined>>;

/** The first value of a search parameter. */
export function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The first value of each search parameter. */
export function searchOf(params: Awaited<SearchParams>): URLSearchParams {
  return new URLSearchParams(
    Object.keys(params).flatMap((name) => {
      const value = one(params[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The selected harness. An empty parameter selects none. */
export function harnessOf(params: Awaited<SearchParams>): string | undefined {
  return one(params.harness) || undefined;
}

/** The machine, repository and branch that are selected. */
export function placeOf(params: Awaited<SearchParams>) {
  return placeInput(Object.fromEntries(PLACE_PARAMETERS.map((name) => [name, one(params[name]) ?? null])));
}

/** The project that the address names; absent for the default project. */
export function projectOf(params: Awaited<SearchParams>): string | undefined {
  return one(params[PROJECT_PARAMETER]) || undefined;
}

/** The range that the address names. All time begins with the recorded history, which is read for it. */
export async function periodOf(
  range: string | undefined,
  now: number,
  { trpc, client }: Pick<PageQueries, "trpc" | "client">,
): Promise<Period> {
  const choice = (range === undefined ? null : parseRange(range)) ?? DEFAULT_RANGE;
  const begin = isAllTime(choice) ? (await client.fetchQuery(trpc.extent.queryOptions({}))).first_at : null;
  return resolveRange(choice, now, begin);
}
