import { HOUR_MS } from "../../times.ts";
/** How many events had been rejected at a time (epoch ms). */
export type RejectedSample = readonly [at: number, count: number];

const SAMPLE_EVERY_MS = 60_000;

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
