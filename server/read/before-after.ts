import type { BeforeAfter, BeforeAfterQuery } from "@plimsoll/protocol/api";
import type { FreshReader } from "../lines/reader.ts";
import { iso, type Span, spanOf } from "../times.ts";
import { readTotals, readUtilization } from "./status.ts";

/** The longest periods of one length that end and begin at `at`, within the range and the past. */
export async function readBeforeAfter(reader: FreshReader, query: BeforeAfterQuery): Promise<BeforeAfter> {
  const { from, to } = spanOf(query);
  const at = Date.parse(query.at);
  const length = Math.max(0, Math.min(at - from, Math.min(to, reader.now) - at));
  const [before, after] = await Promise.all([
    readSample(reader, { from: at - length, to: at }, query.harness),
    readSample(reader, { from: at, to: at + length }, query.harness),
  ]);
  return { at: iso(at), length_ms: length, before, after };
}

async function readSample(
  reader: FreshReader,
  span: Span,
  harness: string | undefined,
): Promise<BeforeAfter["before"]> {
  const [totals, { p95 }] = await Promise.all([
    readTotals(reader, span, harness),
    readUtilization(reader, span, harness),
  ]);
  const { turns, sessions, restarts, masked, compacted, subticks, cleared, unexplained } = totals;
  return {
    turns,
    sessions,
    falls: masked + compacted + subticks + restarts + cleared + unexplained,
    restarts,
    p95_utilization: p95,
  };
}
