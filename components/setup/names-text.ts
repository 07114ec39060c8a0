import type { IngestCounts } from "@plimsoll/protocol/api";
import { exact, plural } from "../format.ts";

/** Warns of days with too many names; undefined if there are none. */
export function namesText({
  limit,
  turns_over_limit,
  boundaries_over_limit,
}: IngestCounts["names"]): string | undefined {
  if (turns_over_limit + boundaries_over_limit === 0) return undefined;
  const excess = [
    ...(turns_over_limit > 0 ? [plural(turns_over_limit, "turn")] : []),
    ...(boundaries_over_limit > 0 ? [plural(boundaries_over_limit, "boundary", "boundaries")] : []),
  ].join(" and ");
  return `A day had more than ${exact(limit)} names of harnesses and models. Charts count ${excess} as “other”. Check whether a harness puts an ID in its name, and revoke the keys of senders that you do not know.`;
}
