import { counted } from "@plimsoll/fold";
import { HOUR_MS } from "../../times.ts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import type { RuleOf } from "../rule-book.ts";
import { judgeProject } from "./judge-project.ts";

/** How many events had been rejected at a time (epoch ms). */
export type RejectedSample = readonly [at: number, count: number];

const SAMPLE_EVERY_MS = 60_000;

const REJECTED = `
SELECT COALESCE(sum(count), 0)::float8 AS count FROM ingest_counts
WHERE project_id = $1 AND outcome <> ALL('{turn,turn_merged,turn_repeated,tool_result,mark,quota,duplicate}'::text[])`;

/** Events that the server rejected, in an hour. */
export async function judgeRejectedEvents(
  input: JudgeInput,
  rules: readonly RuleOf<"rejected_events">[],
): Promise<JudgedSubject[]> {
  const { sql, project, watch, now } = input;
  if (rules.length === 0) {
    watch.samples = [];
    return [];
  }
  const [row] = await sql.query<{ count: number }>(REJECTED, project.id);
  watch.samples = nextSamples(watch.samples, row?.count ?? 0, now);
  const count = hourlyCount(watch.samples, row?.count ?? 0, now);
  const why = `${counted(count, "event")} rejected within an hour`;
  return rules.flatMap((rule) => {
    const holds = count > rule.rule.condition.per_hour;
    return judgeProject(input, rule, { holds, why, path: "/setup" });
  });
}

/** Adds a sample once a minute, and drops those that the last hour does not need. */
export function nextSamples(
  samples: readonly RejectedSample[],
  count: number,
  now: number,
): readonly RejectedSample[] {
  // A restore or a clock that was set back makes earlier samples worthless.
  const valid = samples.filter(([at, before]) => at <= now && before <= count);
  const base = valid.findLastIndex(([at]) => at <= now - HOUR_MS);
  const kept = valid.slice(Math.max(0, base));
  const last = kept.at(-1);
  return last !== undefined && now - last[0] < SAMPLE_EVERY_MS ? kept : [...kept, [now, count]];
}

/** Events rejected in the last hour, as far as there are samples: what was rejected before the first one is not known. */
export function hourlyCount(samples: readonly RejectedSample[], count: number, now: number): number {
  const base = samples.findLast(([at]) => at <= now - HOUR_MS) ?? samples[0];
  return base === undefined ? 0 : Math.max(0, count - base[1]);
}
