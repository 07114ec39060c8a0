import { MOST_CALLED } from "@plimsoll/protocol/pure";
import { DAY_MS } from "../../times.ts";
import { VarintReader, VarintWriter } from "./varints.ts";

/** Calls of one tool on one UTC day. */
export interface CalledOnDay {
  /** By `toolMark`. */
  tool: number;
  /** Start of the day. Epoch ms. */
  day: number;
  calls: number;
  failed: number;
}

const FORMAT = 1;
/** Bytes of the longest number. */
const LONGEST = 8;

/** The calls that an agent made; no bytes where its tools are not told. The latest days are kept if there are too many. */
export function packCalled(all: readonly CalledOnDay[] | undefined): Buffer {
  if (all === undefined) return Buffer.alloc(0);
  const sums = new Map<string, CalledOnDay>();
  for (const { tool, day, calls, failed } of all) {
    const key = `${day}/${tool}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { tool, day, calls, failed });
    else {
      sum.calls += calls;
      sum.failed += failed;
    }
  }
  const kept = [...sums.values()]
    .sort((a, b) => b.day - a.day || b.calls - a.calls || a.tool - b.tool)
    .slice(0, MOST_CALLED);
  const writer = new VarintWriter(LONGEST * (1 + 4 * kept.length));
  writer.number(FORMAT);
  for (const { tool, day, calls, failed } of kept)
    for (const value of [tool, day / DAY_MS, calls, failed]) writer.number(value);
  return writer.end();
}

/**
 * @returns undefined where the tools are not told
 * @throws RangeError for bytes that are no packed calls
 */
export function unpackCalled(data: Uint8Array): CalledOnDay[] | undefined {
  if (data.length === 0) return undefined;
  const reader = new VarintReader(data);
  if (reader.number() !== FORMAT) throw new RangeError("packed calls of tools have an unknown format");
  const all: CalledOnDay[] = [];
  while (!reader.ended)
    all.push({
      tool: reader.number(),
      day: reader.number() * DAY_MS,
      calls: reader.number(),
      failed: reader.number(),
    });
  return all;
}
