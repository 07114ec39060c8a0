import type { BeforeAfter } from "@plimsoll/protocol/api";
import { duration, exact, plural, signed } from "../format.ts";

/** Fewer turns in one of the periods say little. */
const FEW_TURNS = 50;

/** What changed, and by which turns that is known. */
export interface BeforeAfterText {
  change: string;
  sample: string;
}

/** `falls −31% per turn, restarts −2, p95 −8 points`, with the sample. */
export function beforeAfterText({ before, after, length_ms }: BeforeAfter): BeforeAfterText {
  const sample = `${duration(length_ms)} before and after: ${plural(before.turns, "turn")} and ${plural(after.turns, "turn")}`;
  if (before.turns === 0 || after.turns === 0)
    return { change: `nothing to compare: no turns ${before.turns === 0 ? "before" : "after"}`, sample };
  const parts = [fallsText(before, after), `restarts ${signed(after.restarts - before.restarts)}`];
  if (before.p95_utilization !== null && after.p95_utilization !== null)
    parts.push(`p95 ${pointsText(after.p95_utilization - before.p95_utilization)}`);
  const few = Math.min(before.turns, after.turns) < FEW_TURNS ? ", few turns" : "";
  return { change: parts.join(", "), sample: `${sample}${few}` };
}

/** By turn, because the periods may have different numbers of them. */
function fallsText(before: BeforeAfter["before"], after: BeforeAfter["after"]): string {
  if (before.falls === 0) return after.falls === 0 ? "no falls" : `falls from none to ${after.falls}`;
  const share = after.falls / after.turns / (before.falls / before.turns) - 1;
  return `falls ${signed(Math.round(share * 100), (percent) => `${exact(percent)}%`)} per turn`;
}

function pointsText(difference: number): string {
  const points = Math.round(difference * 100);
  return `${signed(points)} ${Math.abs(points) === 1 ? "point" : "points"}`;
}
