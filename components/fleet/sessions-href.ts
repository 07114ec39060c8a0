import type { BoundaryType } from "@plimsoll/protocol/events";

/** Which sessions a list shows; the names are those of the URL of the Sessions page. */
export interface SessionsFilter {
  reason?: BoundaryType;
  warned?: "1";
  status?: "live";
  sort?: "load" | "peak_utilization" | "cost_usd" | "uncached_tokens";
  harness?: string;
  model?: string;
  q?: string;
}

/** The range and the harness of the page, as its URL has them. */
export interface PageParams {
  range: string;
  harness: string | null;
}

/** The Sessions page with a filter, in the range and the harness of the page unless the filter names another one. */
export function sessionsHref(filter: SessionsFilter, { range, harness }: PageParams): string {
  const params = new URLSearchParams({ range });
  if (harness !== null) params.set("harness", harness);
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) params.set(name, value);
  return `/sessions?${params}`;
}
