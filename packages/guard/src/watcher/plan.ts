import type { TokenBudget } from "./budget.ts";
import { limitOf, lowWaterOf } from "./budget.ts";
import type { Area, Section } from "./section.ts";
import { compactionScore } from "./section.ts";

/** A section that was summarised already is worth this much more than its score: others are summarised before it is dropped. */
const SUMMARY_RANK = 4;
/** Sections of a part over its allocation go before others of the same value. */
const OVER_ALLOCATION = 0.5;
/** What a summary is expected to leave. Fraction. */
const SUMMARY_LEAVES = 0.25;
/** What a stub is expected to leave of a summary. Fraction. */
const STUB_LEAVES = 0.1;
/** Smaller sections are not worth touching, tokens. */
const SMALLEST = 24;

/** Which sections a plan may name. */
type Skip = { has(section: Section): boolean };

/**
 * Which sections to compact now, lowest value first, until the level would reach the low-water mark; none while the
 * level is within the limit. Pure metadata: no content is read. `refused` names sections that gave nothing before.
 */
export function planCompaction(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  refused?: Skip,
): Section[] {
  return total <= limitOf(budget) ? [] : planDescent(sections, total, budget, now, refused);
}

/** The same wherever the level stands above the low-water mark. */
export function planDescent(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  refused?: Skip,
): Section[] {
  return lowest(sections, total - lowWaterOf(budget), budget, now, false, refused);
}

/**
 * Which sections to leave out when nothing can be shortened any more: small ones and stubs too, and only the critical
 * never. `room` is kept free for the word that says so, tokens.
 */
export function planLeavingOut(
  sections: readonly Section[],
  total: number,
  budget: TokenBudget,
  now: number,
  room: number,
): Section[] {
  return lowest(sections, total - lowWaterOf(budget) + room, budget, now, true, undefined);
}

function lowest(
  sections: readonly Section[],
  needed: number,
  budget: TokenBudget,
  now: number,
  whole: boolean,
  skip: Skip | undefined,
): Section[] {
  const scores = new Float64Array(sections.length);
  const heap = new Uint32Array(sections.length);
  let size = 0;
  // One pass over the sections: reading them is most of the cost.
  let system = 0;
  let observation = 0;
  let all = 0;
  for (let index = 0; index < sections.length; index++) {
    const section = sections[index]!;
    const { tokens, area, stage } = section;
    all += tokens;
    if (area === "system") system += tokens;
    else if (area === "observation") observation += tokens;
    if (section.priority === "critical" || stage === "left_out") continue;
    if (!whole && (stage === "stub" || tokens < SMALLEST || skip?.has(section) === true)) continue;
    const score = compactionScore(section, now);
    scores[index] = stage === "summary" ? score * SUMMARY_RANK : score;
    heap[size++] = index;
  }
  const over = overAllocation({ system, observation, context: all - system - observation }, budget);
  for (let place = 0; over.size > 0 && place < size; place++) {
    const index = heap[place]!;
    if (over.has(sections[index]!.area ?? "context")) scores[index]! *= OVER_ALLOCATION;
  }
  // A heap gives the few lowest without sorting all.
  for (let place = (size >> 1) - 1; place >= 0; place--) sink(heap, scores, place, size);
  const chosen: Section[] = [];
  let freed = 0;
  while (size > 0 && freed < needed) {
    const section = sections[heap[0]!]!;
    heap[0] = heap[--size]!;
    sink(heap, scores, 0, size);
    chosen.push(section);
    const leaves = whole ? 0 : section.stage === "summary" ? STUB_LEAVES : SUMMARY_LEAVES;
    freed += section.tokens * (1 - leaves);
  }
  return chosen;
}

function overAllocation(used: Readonly<Record<Area, number>>, budget: TokenBudget): Set<Area> {
  const usable = limitOf(budget);
  const areas = Object.keys(used) as Area[];
  return new Set(areas.filter((area) => used[area] > usable * budget.allocation[area]));
}

/** Equal values settle by place, the older first, so that the plan is always the same. */
function lower(a: number, b: number, scores: Float64Array): boolean {
  return scores[a]! < scores[b]! || (scores[a] === scores[b] && a < b);
}

function sink(heap: Uint32Array, scores: Float64Array, from: number, size: number): void {
  let place = from;
  for (;;) {
    const left = place * 2 + 1;
    if (left >= size) return;
    const right = left + 1;
    const child = right < size && lower(heap[right]!, heap[left]!, scores) ? right : left;
    if (!lower(heap[child]!, heap[place]!, scores)) return;
    const held = heap[place]!;
    heap[place] = heap[child]!;
    heap[child] = held;
    place = child;
  }
}
