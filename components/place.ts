import type { FleetQuery } from "@plimsoll/protocol/api";

/** Where sessions run and whose they are, as parameters of the address name it. */
export const PLACE_PARAMETERS = ["machine", "repository", "branch", "person"] as const;
type PlaceParameter = (typeof PLACE_PARAMETERS)[number];

/** The filters that are set, as the queries take them. Server prefetch and browser share it, so that their cache keys match. */
export function placeInput(
  place: Partial<Record<PlaceParameter, string | null>>,
): Pick<FleetQuery, PlaceParameter> {
  return Object.fromEntries(PLACE_PARAMETERS.flatMap((name) => (place[name] ? [[name, place[name]]] : [])));
}

/** A repository with its branch, such as `github.com/acme/billing, main`; null if neither is known. */
export function repositoryText({
  repository,
  branch,
}: {
  repository: string | null;
  branch: string | null;
}): string | null {
  return [repository, branch].filter((part) => part !== null).join(", ") || null;
}
