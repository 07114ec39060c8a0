import { limitOf, lowWaterOf, type TokenBudget } from "./budget.ts";
import { type Area, compactionScore, halfLife, type Recency, type Section } from "./section.ts";

/** Score factor of a summarised section, so that others are summarised before it becomes a stub. */
const SUMMARY_FACTOR = 4;
/** Score factor of sections in an area above its allocation, so that they are compacted first. */
const OVER_ALLOCATION_FACTOR = 0.5;
/** Expected size of a summary, as a fraction of the section. */
const SUMMARY_SIZE = 0.25;
/** Expected size of a stub, as a fraction of the summary. */
const STUB_SIZE = 0.1;
/** Smaller sections are not worth compacting. Tokens. */
const MIN_TOKENS = 24;

/** Sections that a plan must skip. */
type Skip = { has(section: Section): boolean };

/**
 * Chooses the sections to compact, lowest value first, to reach the low-water mark. Returns none while the level is
 * within the limit. Reads no content. Skips `refused` sections, which could not be shortened before.
 */
export function planCompaction(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  refused?: Skip,
): Section[] {
  return total <= limitOf(budget) ? [] : planToLowWater(sections, total, budget, now, refused);
}

/** Like {@link planCompaction}, for any level above the low-water mark. */
export function planToLowWater(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  refused?: Skip,
  recency = halfLife,
): Section[] {
  return takeLowest(sections, total - lowWaterOf(budget), budget, now, false, refused, recency);
}

/**
 * Chooses the sections to leave out when nothing can be shortened further. Includes small sections and stubs, but
 * never critical ones. `room` is the size to reserve for the note about them, in tokens.
 */
export function planLeavingOut(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  room: number,
  recency = halfLife,
): Section[] {
  return takeLowest(sections, total - lowWaterOf(budget) + room, budget, now, true, undefined, recency);
}

function takeLowest(
  sections: readonly Section[],
  needed: number,
  budget: TokenBudget,
  now: number,
  whole: boolean,
  skip: Skip | undefined,
  recency: Recency,
): Section[] {
  const scores = new Float64Array(sections.length);
  const heap = new Uint32Array(sections.length);
  let size = 0;
  // Use one pass, because reading the sections is most of the cost.
  let system = 0;
  let observation = 0;
  let all = 0;
  for (let index = 0; index < sections.length; index++) {
    const section = sections[index]!;
    const { tokens, area, stage } = section;
    all += tokens;
    if (area === "system") system += tokens;
    else if (area === "observation") observation += tokens;
    if (section.priority === "critical" || section.fixed === true || stage === "left_out") continue;
    if (!whole && (stage === "stub" || tokens < MIN_TOKENS || skip?.has(section) === true)) continue;
    const score = compactionScore(section, now, recency);
    scores[index] = stage === "summary" ? score * SUMMARY_FACTOR : score;
    heap[size++] = index;
  }
  const over = overAllocation({ system, observation, context: all - system - observation }, budget);
  for (let place = 0; over.size > 0 && place < size; place++) {
    const index = heap[place]!;
    if (over.has(sections[index]!.area ?? "context")) scores[index]! *= OVER_ALLOCATION_FACTOR;
  }
  // A heap finds the few lowest scores without sorting all sections.
  for (let place = (size >> 1) - 1; place >= 0; place--) siftDown(heap, scores, place, size);
  const chosen: Section[] = [];
  let freed = 0;
  while (size > 0 && freed < needed) {
    const section = sections[heap[0]!]!;
    heap[0] = heap[--size]!;
    siftDown(heap, scores, 0, size);
    chosen.push(section);
    const leaves = whole ? 0 : section.stage === "summary" ? STUB_SIZE : SUMMARY_SIZE;
    freed += section.tokens * (1 - leaves);
  }
  return chosen;
}

function overAllocation(used: Readonly<Record<Area, number>>, budget: TokenBudget): Set<Area> {
  const usable = limitOf(budget);
  const areas = Object.keys(used) as Area[];
  return new Set(areas.filter((area) => used[area] > usable * budget.allocation[area]));
}

/** Compares by score, then by age, so that the plan is deterministic. */
function comesBefore(a: number, b: number, scores: Float64Array): boolean {
  return scores[a]! < scores[b]! || (scores[a] === scores[b] && a < b);
}

function siftDown(heap: Uint32Array, scores: Float64Array, from: number, size: number): void {
  let place = from;
  for (;;) {
    const left = place * 2 + 1;
    if (left >= size) return;
    const right = left + 1;
    const child = right < size && comesBefore(heap[right]!, heap[left]!, scores) ? right : left;
    if (!comesBefore(heap[child]!, heap[place]!, scores)) return;
    const held = heap[place]!;
    heap[place] = heap[child]!;
    heap[child] = held;
    place = child;
  }
}
