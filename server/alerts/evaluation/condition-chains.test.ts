import { THRESHOLD_NAMES } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type AgentCondition, type AgentSight, findInAgent, type SeenBoundary } from "../agent-conditions.ts";
import { loadRule } from "../rule-book.ts";
import { chainsOf, holdingRules } from "./condition-chains.ts";

const NOW = 100_000_000;
const WINDOW = 200;

const few = (max: number) => fc.integer({ min: 1, max });
const share = fc.constantFrom(0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.5);
const turns = fc.constantFrom(1, 2, 3, 12);
const conditions: fc.Arbitrary<AgentCondition> = fc.oneof(
  fc.record({
    type: fc.constant("threshold" as const),
    threshold: fc.constantFrom("line", ...THRESHOLD_NAMES),
  }),
  fc.record({
    type: fc.constantFrom("load" as const, "utilization" as const),
    at_least: share,
    turns,
  }),
  fc.record({ type: fc.constant("tokens" as const), at_least: few(WINDOW), turns }),
  fc.record({
    type: fc.constant("forecast" as const),
    turns_below: few(20),
    minutes_below: fc.option(few(20), { nil: undefined }),
  }),
  fc.record({ type: fc.constant("forecast" as const), minutes_below: few(20) }),
  fc.record({ type: fc.constant("small_reclaim" as const), below_tokens: few(100) }),
  fc.record({
    type: fc.constant("thrash" as const),
    boundaries: fc.integer({ min: 2, max: 5 }),
    within_turns: fc.integer({ min: 2, max: 7 }),
  }),
  fc.record({
    type: fc.constant("boundaries_per_hour" as const),
    boundary: fc.constantFrom("subtick" as const, "restarted" as const),
    at_least: few(4),
  }),
  fc.record({ type: fc.constant("restart_limit" as const), at_least: few(6) }),
  fc.constantFrom(
    { type: "unexplained_fall" as const },
    { type: "truncation_suspected" as const },
    { type: "window_suspect" as const },
    { type: "window_unknown" as const },
  ),
);

const ago = fc.constantFrom(0, 1_000, 60_000, 601_000, 3_700_000).map((ms) => NOW - ms);
const boundary: fc.Arbitrary<Omit<SeenBoundary, "id">> = fc.record({
  type: fc.constantFrom("masked", "compacted", "subtick", "restarted", "unexplained"),
  at: ago,
  receivedAt: ago,
  tokensBefore: fc.option(few(WINDOW), { nil: undefined }),
  tokensAfter: fc.option(few(WINDOW), { nil: undefined }),
  hint: fc.constantFrom(undefined, "truncation_suspected" as const),
  number: fc.option(few(6), { nil: undefined }),
});
const newestFirst = <Item extends { at: number }>(items: readonly Item[]) =>
  [...items].sort((one, other) => other.at - one.at);

const sights: fc.Arbitrary<AgentSight> = fc.record({
  at: ago,
  receivedAt: ago,
  window: fc.constant(0),
  contextTokens: fc.option(few(2 * WINDOW), { nil: undefined }),
  windowTokens: fc.option(few(WINDOW), { nil: undefined }),
  windowSource: fc.constant("reported" as const),
  line: fc.option(
    fc.record({
      threshold: fc.constantFrom("ceiling" as const, "hard" as const, "reserve" as const),
      tokens: few(WINDOW),
    }),
    {
      nil: undefined,
    },
  ),
  above: fc.subarray([...THRESHOLD_NAMES]),
  recent: fc.array(few(2 * WINDOW), { maxLength: 12 }),
  msPerTurn: fc.option(fc.constantFrom(1_000, 60_000), { nil: undefined }),
  boundaries: fc
    .array(boundary, { maxLength: 6 })
    .map((all) => newestFirst(all).map((one, n) => ({ id: `b${n}`, ...one }))),
  turnTimes: fc.option(
    fc.array(ago, { maxLength: 8 }).map((times) => times.sort((one, other) => other - one)),
    { nil: undefined },
  ),
});

it("finds every rule that holds, whatever the other rules are", () => {
  const property = fc.property(fc.array(conditions, { maxLength: 40 }), sights, (all, sight) => {
    const rules = all.map((condition, n) => {
      const id = String(n);
      return loadRule({ id, judgedVersion: 1, body: { name: id, condition } });
    });
    const held = [...holdingRules(chainsOf(rules), sight, NOW)];
    const expected = rules
      .map((rule) => ({
        rule,
        finding: findInAgent(rule.rule.condition as AgentCondition, sight, false, NOW),
      }))
      .filter(({ finding }) => finding.holds);
    const byId = (found: typeof held) =>
      found.sort((one, other) => Number(one.rule.id) - Number(other.rule.id));
    expect(byId(held)).toEqual(expected);
  });
  fc.assert(property, { numRuns: 2_000 });
});
