import type { IngestCounts } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";

const WORK = { projection: "the processing of events", alerts: "the evaluation of alert rules" } as const;

/** Warns of servers that take work from each other; undefined if none do. */
export function contestedText(contested: IngestCounts["contested"]): string | undefined {
  if (contested.length === 0) return undefined;
  const works = contested.map(({ work }) => WORK[work]).join(" and ");
  const ago = Math.round(Math.min(...contested.map(({ ago_ms }) => ago_ms)) / 1_000);
  return `Servers took over ${works} from each other, the last time ${plural(ago, "second")} ago. Check whether a server restarts again and again, or lacks processor time.`;
}
