import { type InForce, judgeLine, observedLine, type ThresholdTimeline } from "@plimsoll/fold";
import { harnessLine, lineCauses, type OwnHarnessLine } from "@plimsoll/harnesses/lines";
import type {
  HarnessLinesQuery,
  HarnessLineView,
  ObservedHarnessLine,
  ObservedHarnessLines,
} from "@plimsoll/protocol/api";
import { lineOf } from "@plimsoll/protocol/policy";
import type { FreshReader } from "../lines/reader.ts";
import { readTimelines } from "../lines/reader-timelines.ts";
import { DAY_MS, iso } from "../times.ts";
import { type FallOfAgent, readAutomaticFalls } from "./automatic-falls.ts";

/** Whole UTC days. Harnesses and their settings change, so older compactions say little. */
const DAYS = 30;
const MOST_LINES = 500;

/** Where harnesses really compact, by harness, model, window size and kind of agent. */
export async function readHarnessLines(
  reader: FreshReader,
  { harness }: HarnessLinesQuery,
): Promise<ObservedHarnessLines> {
  const since = (Math.floor(reader.now / DAY_MS) - DAYS) * DAY_MS;
  const falls = await readAutomaticFalls(reader, since, harness);
  const timelineOf = await readTimelines(
    reader,
    falls.map((fall) => fall.harness),
  );
  const groups = new Map<string, FallOfAgent[]>();
  for (const fall of falls) {
    const key = JSON.stringify([fall.harness, fall.model, fall.windowTokens ?? null, fall.isSubAgent]);
    const alike = groups.get(key);
    if (alike === undefined) groups.set(key, [fall]);
    else alike.push(fall);
  }
  const lines = [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, alike]) => observedOf(alike, timelineOf(alike[0]!.harness), reader.now) ?? []);
  return { since: iso(since), lines: lines.slice(0, MOST_LINES) };
}

/**
 * What the falls of one group say of the line that is in force now.
 * @param alike of one harness, model, window size and kind of agent
 * @returns undefined if all falls are from before the line changed
 */
export function observedOf(
  alike: readonly FallOfAgent[],
  timeline: ThresholdTimeline,
  now: number,
): ObservedHarnessLine | undefined {
  const latest = alike.reduce((one, other) => (other.at > one.at ? other : one));
  const { harness, model, windowTokens, windowSource, isSubAgent } = latest;
  const lineAt = (time: number) => harnessLine(harness, timeline.at(time, model), windowTokens);
  const line = lineAt(now);
  // A session may keep the line that it began with.
  const comparable = alike.filter(
    ({ at, sessionFrom }) => sameLine(lineAt(at), line) && sameLine(lineAt(sessionFrom), line),
  );
  const observed = observedLine(comparable);
  if (observed === undefined) return undefined;
  const { lastAt, ...range } = observed;
  const verdict = judgeLine(observed, line?.basis === "off" ? "off" : line?.tokens);
  return {
    harness,
    model,
    window_tokens: windowTokens ?? null,
    window_source: windowSource,
    sub_agents: isSubAgent,
    line: lineView(line),
    judged_by: judgedBy(timeline.at(now, model), windowTokens),
    observed: { ...range, last_at: iso(lastAt) },
    verdict,
    causes: lineCauses({ harness, verdict, line, observed, windowTokens, windowSource }),
  };
}

function judgedBy(
  { thresholds, sources }: InForce,
  windowTokens: number | undefined,
): ObservedHarnessLine["judged_by"] {
  const line = lineOf(thresholds, windowTokens);
  return line === undefined ? null : { ...line, source: sources[line.threshold] };
}

export const lineView = (line: OwnHarnessLine | undefined): HarnessLineView | null =>
  line === undefined ? null : { tokens: line.tokens ?? null, basis: line.basis };

const sameLine = (one: OwnHarnessLine | undefined, other: OwnHarnessLine | undefined) =>
  one?.tokens === other?.tokens && one?.basis === other?.basis;
