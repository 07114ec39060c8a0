import type { ThresholdTimeline } from "@plimsoll/fold";
import { queriesOf } from "../db/sql.ts";
import { readAcknowledgements } from "./acknowledgements.ts";
import type { Reader } from "./reader.ts";

/** How the agents of some harness instances are judged, by instance. */
export async function readTimelines(
  reader: Pick<Reader, "prisma" | "projectId" | "policy">,
  harnesses: Iterable<string>,
): Promise<(harness: string) => ThresholdTimeline> {
  const { projectId, policy } = reader;
  const acknowledged = await readAcknowledgements(queriesOf(reader), projectId, [...new Set(harnesses)]);
  return (harness) => policy.timelineOf(harness, acknowledged.get(harness)!.acks);
}
