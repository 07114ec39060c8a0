import { describe, expect, it } from "vitest";
import { ALERT_PRESETS, type AlertPreset } from "./alert-presets.ts";
import { readAlertRule } from "./alert-rule.ts";

const mistakesOf = (value: unknown) => {
  const read = readAlertRule(value);
  return read.ok ? [] : read.mistakes.map(({ path, message }) => `${path}: ${message}`);
};

describe("readAlertRule", () => {
  it("fills in the defaults", () => {
    const read = readAlertRule({ name: "Full", condition: { type: "load", at_least: 0.9 } });
    expect(read).toMatchObject({
      ok: true,
      rule: {
        condition: { type: "load", at_least: 0.9, turns: 1 },
        scope: {},
        for: "0s",
        severity: "warning",
        group_by: ["harness"],
        repeat_every: "4h",
      },
    });
  });

  it.each(Object.keys(ALERT_PRESETS) as AlertPreset[])("accepts the preset %s", (preset) => {
    expect(mistakesOf(ALERT_PRESETS[preset])).toEqual([]);
  });

  it("names every mistake with its field and the fix", () => {
    const condition = { type: "load", at_least: 90 };
    expect(mistakesOf({ name: "x", condition, for: "5 minutes" })).toEqual([
      "condition.at_least: write a fraction: 0.9 means 90 %",
      "for: write a duration of at most 30 days, such as 90s, 5m or 4h",
    ]);
    expect(mistakesOf({ name: "x", condition: { type: "forecast" } })).toEqual([
      "condition.turns_below: write a number of turns, a number of minutes, or both",
    ]);
    expect(mistakesOf({ name: "x", condition: { type: "silence", longer_than: "0s" } })).toEqual([
      "condition.longer_than: write a duration longer than 0s, such as 5m",
    ]);
    const fleet = { type: "fleet", load_at_least: 0.8 };
    expect(mistakesOf({ name: "x", condition: fleet })).toEqual([
      "condition.agents: write a number of agents or a share of them, not both",
    ]);
    expect(mistakesOf({ name: "x", condition: { type: "load", at_least: 1 }, endpoint: [] })[0]).toContain(
      "endpoint",
    );
  });

  it("refuses a scope that could never match", () => {
    const rule = { name: "x", condition: { type: "harness_silence", longer_than: "5m" } };
    expect(mistakesOf({ ...rule, scope: { model: "claude-*" } })).toEqual([
      "scope.model: a harness_silence rule is about a harness, which has no model. Remove the field",
    ]);
    expect(mistakesOf({ ...rule, scope: { family: "phantom" } })).toEqual([]);
  });

  it("refuses hostile input with a mistake", () => {
    for (const value of [null, 1, [], "rule", {}, { name: "", condition: { type: "__proto__" } }])
      expect(mistakesOf(value).length).toBeGreaterThan(0);
  });
});
