import { PROJECT_PARAMETER } from "@plimsoll/protocol";
import { DEFAULT_RANGE, type Period, parseRange, resolveRange } from "../components/range.ts";

export type SearchParams = Promise<Record<string, string | string[] | undefined>>;

/** One value of a search parameter: the first when it is repeated. */
export function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The harness chosen, if one was: a parameter without a value chooses none. */
export function harnessOf(params: Awaited<SearchParams>): string | undefined {
  return one(params.harness) || undefined;
}

/** The project that the address names; absent for the default project. */
export function projectOf(params: Awaited<SearchParams>): string | undefined {
  return one(params[PROJECT_PARAMETER]) || undefined;
}

export function periodOf(range: string | undefined, now: number): Period {
  return resolveRange((range === undefined ? null : parseRange(range)) ?? DEFAULT_RANGE, now);
}
