import type { AlertRuleInput } from "@plimsoll/protocol/alerts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { loadRule, RuleBook, type ScopeFacts, selects } from "./rule-book.ts";

const name = fc.constantFrom("a", "b", "a@1", "b@2");
const pattern = fc.constantFrom("a", "b", "a*", "*@2", "*");
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const scopes: fc.Arbitrary<NonNullable<AlertRuleInput["scope"]>> = fc.record({
  family: optional(pattern),
  harness: optional(pattern),
  model: optional(pattern),
  agent: optional(pattern),
  kind: optional(fc.constantFrom("conversation" as const, "loop" as const)),
  match: optional(
    fc.array(
      fc.record({
        label: fc.constantFrom("harness", "family", "session", "agent", "model", "kind", "severity", "team"),
        is: pattern,
      }),
      { maxLength: 2 },
    ),
  ),
});
const facts: fc.Arbitrary<ScopeFacts> = fc.record({
  harness: name,
  session: name,
  agent: name,
  model: optional(name),
  kind: optional(fc.constantFrom("conversation", "loop")),
});

it("selects the rules about an agent by every fact that a scope reads, also for the next agent", async () => {
  const property = fc.asyncProperty(
    fc.array(scopes, { maxLength: 6 }),
    fc.array(facts, { maxLength: 12 }),
    async (all, agents) => {
      const rules = all.map((scope, n) => ({
        id: String(n),
        judgedVersion: 1,
        enabled: true,
        body: { name: String(n), scope, condition: { type: "window_suspect" }, labels: { team: "a" } },
      }));
      const query = async (text: string) => (text.includes("alert_rules") ? rules : []) as never[];
      const book = await RuleBook.read({ query }, 1, 1, 0);
      for (const agent of agents) {
        const selected = book.agentRulesFor(agent);
        const expected = rules.map(loadRule).filter((rule) => selects(rule, agent));
        expect(selected.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      }
    },
  );
  await fc.assert(property, { numRuns: 500 });
});
