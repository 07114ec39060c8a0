import type { DeletionView } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";

/** Such as `1 harness with 3 sessions and 120 turns`. Turns are left out where they are unknown. */
export function amountText({
  harnesses,
  sessions,
  turns,
}: Pick<DeletionView, "harnesses" | "sessions"> & { turns?: number }): string {
  const of = harnesses === 0 ? "" : `${plural(harnesses, "harness", "harnesses")} with `;
  return `${of}${plural(sessions, "session")}${turns === undefined ? "" : ` and ${plural(turns, "turn")}`}`;
}
