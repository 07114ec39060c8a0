import type { Steps } from "@plimsoll/fold";

/** Milliseconds of work after which other work gets a turn. */
const SLICE_MS = 4;

/** Gives other work a turn when it is time. */
export type Slice = () => Promise<void>;

/** @param pause called every few milliseconds; resolves when the work may go on */
export function slicer(pause: () => Promise<unknown> = () => new Promise(setImmediate)): Slice {
  let ends = performance.now() + SLICE_MS;
  return async () => {
    if (performance.now() < ends) return;
    await pause();
    ends = performance.now() + SLICE_MS;
  };
}

/** Runs all steps, with a chance of other work between two of them. */
export async function inSlices<Result>(steps: Steps<Result>, slice: Slice = slicer()): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await slice();
  }
}
