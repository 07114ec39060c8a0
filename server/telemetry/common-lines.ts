import type { FleetStatus, ThresholdOrigin, Thresholds, ThresholdValue } from "@plimsoll/protocol";
import { THRESHOLD_NAMES } from "@plimsoll/protocol";
import { readTimelines } from "../policy/reader-timelines.ts";
import type { Reader } from "./reader.ts";

/** Sessions, heard from last, whose harnesses are compared. */
const SESSIONS = 200;

/** The thresholds that the harnesses heard from lately have in common. Where they differ, no one line is right for all. */
export async function readCommonLines(
  reader: Reader,
  harness: string | undefined,
): Promise<Pick<FleetStatus, "thresholds" | "threshold_origin">> {
  const harnesses = harness === undefined ? await recentHarnesses(reader) : [harness];
  const timelineOf = await readTimelines(reader, harnesses);
  const all = harnesses.map((one) => timelineOf(one).at(reader.now, undefined));
  const thresholds = Object.fromEntries(
    THRESHOLD_NAMES.map((name) => [name, common(all.map((one) => one.thresholds[name]))]),
  ) as Thresholds;
  const shown = THRESHOLD_NAMES.filter((name) => thresholds[name] !== null);
  const sources = new Set<ThresholdOrigin>(all.flatMap((one) => shown.map((name) => one.sources[name])));
  const [source = "default"] = sources;
  return { thresholds, threshold_origin: sources.size > 1 ? "mixed" : source };
}

async function recentHarnesses({ prisma, projectId }: Reader): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ harness: string }[]>`
    SELECT DISTINCT harness FROM (
      SELECT harness FROM sessions WHERE project_id = ${projectId} ORDER BY last_slot DESC LIMIT ${SESSIONS}) s`;
  return rows.map(({ harness }) => harness);
}

function common([first = null, ...others]: readonly ThresholdValue[]): ThresholdValue {
  const text = JSON.stringify(first);
  return others.every((other) => JSON.stringify(other) === text) ? first : null;
}
