import fc from "fast-check";
import { expect, it } from "vitest";
import { limitOf, lowWaterOf, resolveBudget } from "./budget.ts";
import type { Section, TokenBudget } from "./index.ts";
import { planCompaction } from "./plan.ts";
import { compactionScore } from "./section.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;

/** Reference implementation: score and sort all sections, then take from the front. */
function referencePlan(sections: readonly Section[], total: number, budget: TokenBudget): Section[] {
  if (total <= limitOf(budget)) return [];
  const used = { system: 0, context: 0, observation: 0 };
  for (const { area = "context", tokens } of sections) used[area] += tokens;
  const scored = sections
    .filter(({ priority, stage, tokens }) => priority !== "critical" && stage !== "stub" && tokens >= 24)
    .map((section) => {
      const area = section.area ?? "context";
      const over = used[area] > limitOf(budget) * budget.allocation[area];
      return {
        section,
        score: compactionScore(section, NOW) * (section.stage === "summary" ? 4 : 1) * (over ? 0.5 : 1),
      };
    })
    .sort((a, b) => a.score - b.score);
  const plan: Section[] = [];
  let freed = 0;
  for (const { section } of scored) {
    if (freed >= total - lowWaterOf(budget)) break;
    plan.push(section);
    freed += section.tokens * (section.stage === "summary" ? 0.9 : 0.75);
  }
  return plan;
}

it("gives the same plan as sorting all sections by score [W11 W13]", () => {
  const section = fc.record(
    {
      tokens: fc.integer({ min: 1, max: 300 }),
      priority: fc.constantFrom<Section["priority"]>("critical", "high", "medium", "low"),
      // Few distinct values, so that many scores are equal and the position decides.
      relevance: fc.constantFrom(0, 0.25, 0.5, 1),
      recency: fc.integer({ min: 0, max: 6 }).map((days) => NOW - days * 24 * HOUR),
      area: fc.constantFrom<NonNullable<Section["area"]>>("system", "context", "observation"),
      stage: fc.constantFrom<NonNullable<Section["stage"]>>("full", "summary", "stub"),
    },
    { requiredKeys: ["tokens", "priority"] },
  );
  fc.assert(
    fc.property(
      fc.array(section, { maxLength: 120 }),
      fc.integer({ min: 100, max: 20_000 }),
      (made, size) => {
        const sections = made.map(
          (one, at): Section => ({ id: `s${at}`, label: "", content: "", ...one }) as Section,
        );
        const total = sections.reduce((sum, { tokens }) => sum + tokens, 0);
        const budget = resolveBudget({ total: size });
        const plan = planCompaction(sections, total, budget, NOW);
        expect(plan.map(({ id }) => id)).toEqual(referencePlan(sections, total, budget).map(({ id }) => id));
      },
    ),
    { numRuns: 300 },
  );
});
