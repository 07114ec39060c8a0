import { type AgentCondition, type AgentSight, type Finding, findInAgent } from "../agent-conditions.ts";
import type { LoadedRule } from "../rule-book.ts";

/** A condition and the rules that have it. */
interface ConditionRules {
  condition: AgentCondition;
  rules: LoadedRule[];
}

/** Conditions in an order in which none holds for an agent unless the one before it holds. */
export type ConditionChain = readonly ConditionRules[];

interface Place {
  /** Conditions of one chain differ in strictness only. */
  chain: string;
  strictness: number;
}

/** Arranges rules about agents, so that the conditions that do not hold cost one comparison a chain. */
export function chainsOf(rules: readonly LoadedRule[]): readonly ConditionChain[] {
  const chains = new Map<string, Map<number, ConditionRules>>();
  for (const rule of rules) {
    const condition = rule.rule.condition as AgentCondition;
    const { chain, strictness } = placeOf(condition);
    const known = chains.get(chain) ?? new Map<number, ConditionRules>();
    chains.set(chain, known);
    const same = known.get(strictness);
    if (same === undefined) known.set(strictness, { condition, rules: [rule] });
    else same.rules.push(rule);
  }
  return [...chains.values()].map((known) =>
    [...known].sort(([one], [other]) => one - other).map(([, ofCondition]) => ofCondition),
  );
}

/**
 * The rules whose conditions hold for an agent without an alert.
 * @param now epoch ms
 */
export function* holdingRules(
  chains: readonly ConditionChain[],
  sight: AgentSight,
  now: number,
): Generator<{ rule: LoadedRule; finding: Finding }> {
  for (const chain of chains) {
    for (const { condition, rules } of chain) {
      const finding = findInAgent(condition, sight, false, now);
      if (!finding.holds) break;
      for (const rule of rules) yield { rule, finding };
    }
  }
}

function placeOf(condition: AgentCondition): Place {
  const { type } = condition;
  switch (type) {
    case "threshold":
      return { chain: `${type} ${condition.threshold}`, strictness: 0 };
    case "load":
    case "utilization":
    case "tokens":
      return { chain: `${type} ${condition.turns}`, strictness: condition.at_least };
    case "forecast": {
      const { turns_below = 0, minutes_below = 0 } = condition;
      return { chain: `${type} ${minutes_below}`, strictness: -turns_below };
    }
    case "small_reclaim":
      return { chain: type, strictness: -condition.below_tokens };
    case "thrash":
      return { chain: `${type} ${condition.boundaries}`, strictness: -condition.within_turns };
    case "boundaries_per_hour":
      return { chain: `${type} ${condition.boundary}`, strictness: condition.at_least };
    case "restart_limit":
      return { chain: type, strictness: condition.at_least };
    default:
      return { chain: type, strictness: 0 };
  }
}
