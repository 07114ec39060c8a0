import { describe, expect, it } from "vitest";
import { ResultTotals } from "./result-totals.ts";

const result = (cost: number, turns: number) => ({
  type: "result",
  total_cost_usd: cost,
  num_turns: turns,
  usage: { input_tokens: turns * 10, service_tier: "standard" },
  modelUsage: { m: { inputTokens: turns * 10, contextWindow: 200_000 } },
  permission_denials: [{ tool_name: `t${turns}` }],
  model_usage_since_last_result: { m: { costUSD: cost } },
});

describe("the totals of several sessions", () => {
  it("leave the result of a single session as it is", () => {
    const totals = new ResultTotals();
    const only = result(1, 2);
    totals.add(only);
    expect(totals.whole(only)).toBe(only);
  });

  it("add up for a prompt that continued, and the cost never falls afterwards", () => {
    const totals = new ResultTotals();
    totals.begin();
    const part = result(1, 2);
    totals.add(part);
    totals.retire();
    totals.hide(part);
    const rest = result(0.5, 3);
    totals.add(rest);
    expect(totals.whole(rest)).toMatchObject({
      total_cost_usd: 1.5,
      num_turns: 5,
      usage: { input_tokens: 50, service_tier: "standard" },
      modelUsage: { m: { inputTokens: 50, contextWindow: 200_000 } },
      permission_denials: [{ tool_name: "t2" }, { tool_name: "t3" }],
    });
    expect(totals.spentUsd).toBe(1.5);
    const next = result(0.7, 1);
    totals.add(next);
    expect(totals.whole(next)).toMatchObject({ total_cost_usd: 1.7, num_turns: 1 });
    expect(rest.num_turns).toBe(3);
  });
});
