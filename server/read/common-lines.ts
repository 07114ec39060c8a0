import type { ThresholdTimeline } from "@plimsoll/fold";
import type { FleetStatus, ThresholdOrigin } from "@plimsoll/protocol/api";
import { THRESHOLD_NAMES, type Thresholds, type ThresholdValue } from "@plimsoll/protocol/policy";
import type { Reader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { iso } from "../times.ts";

/** Sessions, heard from last, whose harnesses are compared. */
const SESSIONS = 200;
const MOST_CHANGES = 20;

/**
 * The thresholds that the harnesses heard from lately have in common, now and in a range (epoch ms). Where they differ, no one line
 * is right for all.
 */
export async function readCommonLines(
  reader: Reader,
  harness: string | undefined,
  range: { from: number; to: number },
): Promise<Pick<FleetStatus, "thresholds" | "threshold_origin" | "threshold_steps">> {
  const harnesses = harness === undefined ? await recentHarnesses(reader) : [harness];
  const timelineOf = await readTimelines(reader, harnesses);
  const timelines = harnesses.map(timelineOf);
  const all = timelines.map((timeline) => timeline.at(reader.now, undefined));
  const thresholds = commonAt(timelines, reader.now);
  const shown = THRESHOLD_NAMES.filter((name) => thresholds[name] !== null);
  const sources = new Set<ThresholdOrigin>(all.flatMap((one) => shown.map((name) => one.sources[name])));
  const [source = "default"] = sources;
  return {
    thresholds,
    threshold_origin: sources.size > 1 ? "mixed" : source,
    threshold_steps: commonSteps(timelines, { from: range.from, to: Math.min(range.to, reader.now) }),
  };
}

/** What some harnesses have in common from the start of a range on, and from each change on; empty without a change. */
export function commonSteps(
  timelines: readonly ThresholdTimeline[],
  { from, to }: { from: number; to: number },
): FleetStatus["threshold_steps"] {
  const changes = timelines.flatMap(({ changes }) => changes.filter((at) => at > from && at <= to));
  const times = [from, ...[...new Set(changes)].sort((one, other) => one - other)];
  const steps: FleetStatus["threshold_steps"] = [];
  for (const at of times) {
    const thresholds = commonAt(timelines, at);
    if (JSON.stringify(thresholds) !== JSON.stringify(steps.at(-1)?.thresholds))
      steps.push({ at: iso(at), thresholds });
  }
  return steps.length > 1 ? steps.slice(-MOST_CHANGES - 1) : [];
}

function commonAt(timelines: readonly ThresholdTimeline[], at: number): Thresholds {
  const all = timelines.map((timeline) => timeline.at(at, undefined).thresholds);
  return Object.fromEntries(
    THRESHOLD_NAMES.map((name) => [name, common(all.map((one) => one[name]))]),
  ) as Thresholds;
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
