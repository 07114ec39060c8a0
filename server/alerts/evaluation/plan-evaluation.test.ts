import type { AlertBoundary, AlertConditionType, AlertSighting } from "@plimsoll/protocol/alerts";
import { expect, it } from "vitest";
import type { OpenAlert } from "../alert-rows.ts";
import { alertKey, type JudgedSubject } from "../judged-subject.ts";
import { planAlerts } from "./plan-evaluation.ts";

const START = Date.UTC(2026, 10, 1);
const fall = (minute: number): AlertBoundary => ({
  type: "compacted",
  at: new Date(START + minute * 60_000).toISOString(),
  tokens_before: 168_000,
  tokens_after: 42_000,
});
const level = (context_tokens: number) => ({
  context_tokens,
  window_tokens: 200_000,
  line: "ceiling",
  line_tokens: 160_000,
});

/** What becomes of the facts of an alert that fired at minute 0 with one boundary before. */
function factsAfter(
  condition: AlertConditionType,
  sighting: AlertSighting,
  boundaries: AlertBoundary[],
): OpenAlert["facts"] {
  const rule = {
    id: "r",
    timing: { forMs: 0, keepFiringMs: 0 },
    rule: { name: "n", severity: "critical", condition: { type: condition } },
  };
  const alert = {
    id: "a",
    ruleId: "r",
    state: { phase: "firing", startedAt: START, pendingAt: START, firedAt: START },
    facts: {
      rule: "n",
      severity: "critical",
      condition,
      why: "then",
      level: level(168_000),
      boundaries: [fall(-30)],
      path: "/then",
    },
  } as unknown as OpenAlert;
  const report = () => ({ why: "now", level: level(50_000), boundaries, path: "/now" });
  const judged = { rule, subject: "s", sighting, report } as unknown as JudgedSubject;
  const plan = planAlerts(new Map([[alertKey("r", "s"), alert]]), [judged], () => "new", START + 60_000);
  return plan.seen.get("a") ?? plan.changed[0]?.facts;
}

const CLEAR = { verdict: "clear", reason: "below" } as const;

it("an alert that goes on tells the level and the reason of now, and keeps its link and its boundaries", () => {
  expect(factsAfter("load", { verdict: "met", at: START }, [])).toMatchObject({
    why: "now",
    level: { context_tokens: 50_000 },
    boundaries: [fall(-30)],
    path: "/then",
  });
});

it("an alert about a level that ends names the boundary after its start", () => {
  const facts = factsAfter("load", CLEAR, [fall(1), fall(-30)]);
  expect(facts).toMatchObject({
    why: "then",
    level: { context_tokens: 50_000 },
    path: "/then",
    endedBy: fall(1),
  });
  expect(factsAfter("load", CLEAR, [fall(-30)])?.endedBy).toBeUndefined();
});

it("an alert about a boundary is not ended by it", () => {
  expect(factsAfter("unexplained_fall", CLEAR, [fall(0)])?.endedBy).toBeUndefined();
});
