import { describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import { DEFAULT_POLICY, type PolicyInput, resolvePolicy } from "./policy.ts";

const create = (options: object) => () => createGuard({ identity: { harness: "h" }, ...options });

describe("options of a guard", () => {
  it.each<[policy: object, message: string]>([
    [
      { thresholds: { ceiling: 0.2 } },
      'policy.thresholds.ceiling: 0.2 would be 0.2 tokens. Write "20%" for a share of the window.',
    ],
    [{ thresholds: { hard: -0.125 } }, 'Write "12.5%" for a share of the window.'],
    [
      { thresholds: { soft: "0.7" } },
      'policy.thresholds.soft: "0.7" must be a share of the window such as "20%"',
    ],
    [{ thresholds: { soft: "120%" } }, "policy.thresholds.soft"],
    [
      { thresholds: { ceiling: { percent: 20 } } },
      'policy.thresholds.ceiling: {"percent":20} must have a percent above 0 and at most 100 and a floor in tokens',
    ],
    [{ thresholds: { ceiling: { percent: 0.2, floor: -1 } } }, "such as { percent: 20, floor: 40_000 }"],
    [{ pace: { minTurns: -1 } }, "policy.pace.minTurns: -1 must be a whole number of 0 or more"],
    [{ overflow: "drop" }, 'policy.overflow: "drop" must be "cut" or "refuse" or "send_anyway".'],
    [{ pace: null }, "policy.pace: must be an object."],
    [{ thresholds: { warning: 0 } }, "policy.thresholds.warning: 0 must be a number of tokens"],
    [
      { thresholds: { ceilling: "20%" } },
      "policy.thresholds.ceilling: is no option. Options: warning, ceiling",
    ],
    [
      { treshold: {} },
      "policy.treshold: is no option. Options: thresholds, mode, mask, compact, pace, restart, overflow.",
    ],
    [{ thresholds: null }, "policy.thresholds: must be an object."],
    [{ mode: "warn" }, 'policy.mode: "warn" must be "enforce" or "warn_only".'],
    [{ mask: { minGain: 3 } }, "policy.mask.minGain: 3 must be a fraction from 0 to 1"],
    [{ compact: { how: "fresh" } }, 'policy.compact.how: "fresh" must be "compact" or "fresh_session".'],
    [
      { restart: { max: 1.5 } },
      "policy.restart.max: 1.5 must be a whole number of 0 or more, or null for no limit.",
    ],
  ])("%j are refused with the field and the fix", (policy, message) => {
    expect(create({ policy })).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(create({ policy })).toThrow(message);
  });

  it.each([0, -1, 0.5, "128k", Number.NaN])("the window %j is refused", (window) => {
    expect(create({ window })).toThrow("window:");
  });

  it("a window may be the id of a model, if the catalog has it", () => {
    expect(create({ window: "anthropic/claude-haiku-4-5" })).not.toThrow();
    expect(create({ window: "gpt-99" })).toThrow(
      'window: "gpt-99" is not in the catalog of models. Pass the size in tokens, such as 128_000.',
    );
  });

  it("take the default policy, and what is left out or switched off", () => {
    const policies: PolicyInput[] = [
      DEFAULT_POLICY,
      {},
      { mask: null, compact: null, restart: null },
      { thresholds: { ceiling: "20%", reserve: -16_000, hard: null, soft: 50_000 } },
      { thresholds: { ceiling: { percent: 20, floor: 40_000 } }, pace: { minTurns: 0 } },
      { mask: { longTexts: null, keepTurns: undefined as never } },
    ];
    for (const policy of policies) expect(create({ policy })).not.toThrow();
  });

  it("that are undefined take their default", () => {
    const policy = { mask: { keepTurns: undefined as never }, thresholds: { soft: undefined as never } };
    expect(resolvePolicy(policy)).toEqual(DEFAULT_POLICY);
  });
});
