import type { IngestRefusal } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";
import { reasonText } from "./outcome-text.ts";

/** Milliseconds after the last refused event for which refusals count as going on. */
const GOING_ON_MS = 2 * 60_000;

/** What is wrong, as in "Invalid field `usage.input_tokens` in turn events". Code is between backticks. */
export function refusalTitle({ code, path, type }: IngestRefusal): string {
  const reason = reasonText(code);
  const field = path === "" ? "" : ` \`${path}\``;
  return `${reason[0]!.toUpperCase()}${reason.slice(1)}${field}${type === null ? "" : ` in \`${type}\` events`}`;
}

/** Faults whose events still arrive. */
export function ongoing(refusals: readonly IngestRefusal[], now: number): IngestRefusal[] {
  return refusals.filter(({ last_at }) => now - Date.parse(last_at) < GOING_ON_MS);
}

/** The notice on Fleet; undefined if no events are being refused. */
export function refusalNotice(refusals: readonly IngestRefusal[], now: number): string | undefined {
  const [first, ...rest] = ongoing(refusals, now);
  if (first === undefined) return undefined;
  const harnesses = new Set([first, ...rest].map(({ harness }) => harness));
  const who =
    harnesses.size === 1
      ? `from ${first.harness ?? "an unnamed harness"}`
      : `from ${plural(harnesses.size, "harness", "harnesses")}`;
  const more = rest.length === 0 ? "" : ` and ${plural(rest.length, "other fault")}`;
  return `Events ${who} are being refused: ${refusalTitle(first)}${more}.`;
}
