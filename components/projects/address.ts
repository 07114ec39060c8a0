import type { ProjectView } from "@plimsoll/protocol/api";
import { DEFAULT_PROJECT_ID, PROJECT_PARAMETER } from "@plimsoll/protocol/pure";

/** Pages that exist in every project. Other pages show one thing of one project. */
const SHARED_PAGES: ReadonlySet<string> = new Set(["/", "/sessions", "/insights", "/setup", "/device"]);

/** The project that a URL names, by id or name; null for the default project. */
export function projectOf(params: Pick<URLSearchParams, "get">): string | null {
  const named = params.get(PROJECT_PARAMETER);
  return named === null || named === "" || named === String(DEFAULT_PROJECT_ID) ? null : named;
}

/** The same URL in a project. The default project adds nothing to it. */
export function withProject(href: string, project: string | null): string {
  if (project === null) return href;
  const [, path = "", query = "", hash = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/.exec(href) ?? [];
  const params = new URLSearchParams(query);
  params.set(PROJECT_PARAMETER, project);
  return `${path}?${params}${hash}`;
}

/** Where to go to see another project: the page one is on with its range, or the list a single session belongs to. */
export function switchHref(path: string, params: URLSearchParams, id: number): string {
  const page = SHARED_PAGES.has(path) ? path : "/sessions";
  const range = params.get("range");
  const href = range === null ? page : `${page}?${new URLSearchParams({ range })}`;
  return withProject(href, id === DEFAULT_PROJECT_ID ? null : String(id));
}

/**
 * The project that a URL means, among those that the person may see. A URL that names none means the default project; without a
 * role there, the oldest one, as on the server.
 */
export function currentProject(
  projects: readonly ProjectView[],
  named: string | null,
): ProjectView | undefined {
  if (named === null)
    return projects.find(({ is_default }) => is_default) ?? projects.toSorted((a, b) => a.id - b.id)[0];
  return projects.find(({ id, name }) => String(id) === named || name === named);
}
