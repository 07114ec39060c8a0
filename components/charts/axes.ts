import { axisTime } from "../format.ts";
import { timeTicks } from "./ticks.ts";

/** Props of an axis of numbers that is drawn as labels only. */
export const BARE_AXIS = { type: "number", axisLine: false, tickLine: false } as const;

/** Props of a horizontal axis of times from `from` to `to`, in epoch ms, with at most `most` labels. */
export function timeAxis(from: number, to: number, most?: number) {
  return {
    ...BARE_AXIS,
    ticks: timeTicks(from, to, most),
    tickFormatter: (at: number) => axisTime(at, to - from),
    height: 22,
    interval: "preserveStartEnd",
  } as const;
}
