/** Parameters of the page that a saved view holds. Sorted, so that equal views have equal texts. */
const PARAMETERS = [
  "branch",
  "columns",
  "harness",
  "kind",
  "machine",
  "model",
  "order",
  "person",
  "q",
  "range",
  "reason",
  "repository",
  "sort",
  "status",
  "tag",
  "warned",
] as const;

/** What of a page's parameters a view holds, in order. */
export function viewQuery(params: Pick<URLSearchParams, "get">): string {
  const query = new URLSearchParams();
  for (const name of PARAMETERS) {
    const value = params.get(name);
    if (value !== null && value !== "") query.set(name, value);
  }
  return query.toString();
}

/** The page that shows a view. */
export function viewHref(view: { id: string; query: string }): string {
  const params = new URLSearchParams(viewQuery(new URLSearchParams(view.query)));
  params.set("view", view.id);
  return `/sessions?${params}`;
}

/** Shows all sessions, also if the project has a default view. */
export const ALL_SESSIONS_HREF = "/sessions?view=all";

/** A range between two instants belongs to the link that names it, a relative one to the person who chose it. */
const isRelative = (range: string) => !range.includes("..");

/**
 * Whether the default view opens: the address names no view and chooses no sessions.
 * @param params of the address
 */
export function opensDefault(params: URLSearchParams): boolean {
  const range = params.get("range");
  if (range !== null && !isRelative(range)) return false;
  return [...params.keys()].every((name) => name === "range" || name === "project");
}

/** The page of the default view. The range and the project of the address stay. */
export function defaultHref(view: { id: string; query: string }, params: URLSearchParams): string {
  const [path, query] = viewHref(view).split("?");
  const next = new URLSearchParams(query);
  for (const name of ["range", "project"]) {
    const value = params.get(name);
    if (value !== null) next.set(name, value);
  }
  return `${path}?${next}`;
}
