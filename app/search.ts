import { PROJECT_PARAMETER } from "@plimsoll/protocol/pure";
import { DEFAULT_RANGE, type Period, parseRange, resolveRange } from "../components/range.ts";

export type SearchParams = Promise<Record<string, string | string[] | undefined>>;

/** The first value of a search parameter. */
export function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** The selected harness. An empty parameter selects none. */
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
