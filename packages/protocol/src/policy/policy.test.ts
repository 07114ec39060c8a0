import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";
import { readPolicy } from "./policy-rules.ts";
import { PolicyBody, type PolicySettings } from "./policy-schema.ts";
import { POLICY_PRESETS } from "./presets.ts";
import { resolveForHarness } from "./resolve-policy.ts";

describe("a policy that somebody wrote", () => {
  test.each(Object.entries(POLICY_PRESETS))("the preset %s has no mistake", (_, settings) => {
    expect(readPolicy({ settings })).toEqual({ ok: true, body: { settings, layers: [] } });
  });

  test.each<[string, unknown, string, string]>([
    [
      "a soft line above the hard one",
      { settings: { thresholds: { soft: "95%", hard: "90%" } } },
      "settings.thresholds.soft",
      "95% must be below hard, which is 90%. Lower soft or raise hard",
    ],
    [
      "counts in the wrong order, in a layer",
      {
        layers: [
          { scope: { family: "phantom" }, settings: { thresholds: { warning: 50_000, ceiling: 40_000 } } },
        ],
      },
      "layers.0.settings.thresholds.warning",
      "50000 must be below ceiling, which is 40000",
    ],
    [
      "tokens to keep free in the wrong order",
      { settings: { thresholds: { soft: -10_000, hard: -20_000 } } },
      "settings.thresholds.soft",
      "-10000 must be below hard",
    ],
    [
      "a line at 0",
      { settings: { thresholds: { soft: "0%" } } },
      "settings.thresholds.soft",
      "Write null to switch it off",
    ],
    [
      "a share without its sign",
      { settings: { thresholds: { soft: "70" } } },
      "settings.thresholds.soft",
      'must look like "15%"',
    ],
    [
      "a switch for a line",
      { settings: { thresholds: { soft: true } } },
      "settings.thresholds.soft",
      'must be a share up to 100% such as "15%"',
    ],
    [
      "a share above 100%",
      { settings: { thresholds: { soft: { percent: 101, floor: 1 } } } },
      "settings.thresholds.soft.percent",
      "must be at most 100",
    ],
    [
      "a word for a switch",
      { settings: { compaction: { reinject: "on" } } },
      "settings.compaction.reinject",
      "must be true or false",
    ],
    [
      "half a turn",
      { settings: { compaction: { keep_turns: 1.5 } } },
      "settings.compaction.keep_turns",
      "must be a whole number",
    ],
    [
      "a layer for everybody",
      { layers: [{ scope: {}, settings: {} }] },
      "layers.0.scope",
      "must name a family",
    ],
    ["an unknown scope", { layers: [{ scope: { kind: "loop" }, settings: {} }] }, "layers.0.scope", "kind"],
    ["no object", "soft: 70%", "", ""],
  ])("%s is refused with the field and the fix", (_, value, path, message) => {
    const read = readPolicy(value);
    expect(read).toMatchObject({ ok: false, mistakes: [{ path }] });
    if (!read.ok) expect(read.mistakes[0]!.message).toContain(message);
  });

  test("what cannot be compared without a window is no mistake", () => {
    const thresholds = {
      warning: "15%",
      ceiling: 40_000,
      soft: -20_000,
      hard: { percent: 90, floor: 30_000 },
    };
    expect(readPolicy({ settings: { thresholds } })).toMatchObject({ ok: true });
  });

  test("fields of a newer version are kept", () => {
    const value = {
      settings: { masking: { keep_turns: 2, by_relevance: true }, dreams: { every: 3 } },
      layers: [{ scope: { model: "gpt-*" }, settings: { pace: { jitter: 1 } }, note: "why" }],
      schedule: [1],
    };
    expect(readPolicy(value)).toEqual({ ok: true, body: value });
  });
});

describe("the policy of one harness", () => {
  const body = PolicyBody.parse({
    settings: { thresholds: { ceiling: "50%", hard: "90%" }, masking: { keep_turns: 2, exclude: ["skill"] } },
    layers: [
      {
        scope: { harness: "phantom@vm-3" },
        settings: { thresholds: { ceiling: { percent: 10, floor: 9_000 } } },
      },
      { scope: { family: "phantom" }, settings: { thresholds: { ceiling: "20%", warning: "15%" } } },
      {
        scope: { model: "claude-*" },
        settings: { thresholds: { ceiling: "40%" }, masking: { exclude: [] } },
      },
      { scope: { model: "claude-opus-*" }, settings: { thresholds: { ceiling: "30%" } } },
    ],
  });
  const defaults: PolicySettings = { thresholds: { hard: "100%", soft: null }, overflow: "cut" };
  const ceiling = (harness: string, model?: string) =>
    resolveForHarness(body, { harness, model }, defaults).settings.thresholds!.ceiling;

  test("comes from the most specific layer, field by field", () => {
    expect(ceiling("my-bot")).toBe("50%");
    expect(ceiling("Phantom@vm-1")).toBe("20%");
    expect(ceiling("my-bot", "gpt-5.1")).toBe("50%");
    expect(ceiling("my-bot", "claude-haiku-4-5")).toBe("40%");
    expect(ceiling("my-bot", "claude-opus-5")).toBe("30%");
    expect(ceiling("phantom@vm-1", "claude-opus-5")).toBe("30%");
    expect(ceiling("phantom@vm-3", "claude-opus-5")).toEqual({ percent: 10, floor: 9_000 });
  });

  test("says where each field comes from", () => {
    const { settings, origins } = resolveForHarness(
      body,
      { harness: "phantom@vm-3", model: "claude-opus-5" },
      defaults,
    );
    expect(settings).toEqual({
      thresholds: { hard: "90%", soft: null, ceiling: { percent: 10, floor: 9_000 }, warning: "15%" },
      masking: { keep_turns: 2, exclude: [] },
      overflow: "cut",
    });
    expect(origins).toEqual({
      "thresholds.hard": { from: "project" },
      "thresholds.soft": { from: "default" },
      "thresholds.ceiling": { from: "layer", layer: 0, scope: { harness: "phantom@vm-3" } },
      "thresholds.warning": { from: "layer", layer: 1, scope: { family: "phantom" } },
      "masking.keep_turns": { from: "project" },
      "masking.exclude": { from: "layer", layer: 2, scope: { model: "claude-*" } },
      overflow: { from: "default" },
    });
  });

  test.each([
    ["*", "anything", true],
    ["gpt-5*", "gpt-5.1", true],
    ["GPT-5*", "gpt-5.1", true],
    ["*opus*", "anthropic/claude-opus-5", true],
    ["a*a", "a", false],
    ["a*b*c", "aXbYc", true],
    ["a*b*c", "acb", false],
    ["gpt-5", "gpt-5.1", false],
    ["gpt.5*", "gpt-5", false],
  ])("the model %s matches %s: %s", (model, name, matches) => {
    const one = PolicyBody.parse({ layers: [{ scope: { model }, settings: { overflow: "refuse" } }] });
    const { settings } = resolveForHarness(one, { harness: "h", model: name }, {});
    expect(settings.overflow === "refuse").toBe(matches);
  });

  test("every field has exactly one origin, and no layer changes the policy itself", () => {
    const settings = fc.record(
      {
        thresholds: fc.record(
          { soft: fc.constantFrom("10%", "20%", null), hard: fc.constant("90%") },
          { requiredKeys: [] },
        ),
        overflow: fc.constantFrom("cut" as const, "refuse" as const),
        newer: fc.record({ field: fc.integer() }),
      },
      { requiredKeys: [] },
    );
    const scope = fc.record(
      {
        family: fc.constantFrom("a", "b"),
        model: fc.constantFrom("m*", "n*"),
        harness: fc.constantFrom("a@1", "b@1"),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(settings, fc.array(fc.record({ scope, settings }), { maxLength: 6 }), (project, layers) => {
        const whole = PolicyBody.parse({ settings: project, layers });
        const before = canonicalJson(whole);
        const resolved = resolveForHarness(whole, { harness: "a@1", model: "m1" }, {});
        const paths = Object.entries(resolved.settings).flatMap(([name, value]) =>
          typeof value === "object" && value !== null
            ? Object.keys(value).map((field) => `${name}.${field}`)
            : [name],
        );
        expect(Object.keys(resolved.origins).sort()).toEqual(paths.sort());
        expect(canonicalJson(whole)).toBe(before);
      }),
    );
  });

  test("a field named like a prototype changes no prototype", () => {
    const hostile = JSON.parse(
      '{"settings": {"__proto__": {"polluted": true}, "masking": {"__proto__": {"polluted": true}}}}',
    );
    const read = readPolicy(hostile);
    if (read.ok) resolveForHarness(read.body, { harness: "h" }, {});
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("canonical JSON", () => {
  test("is the same for the same value in any order", () => {
    expect(canonicalJson({ b: [1, { d: null, c: "é\n" }], a: undefined, A: 1e21 })).toBe(
      '{"A":1e+21,"b":[1,{"c":"é\\n","d":null}]}',
    );
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = JSON.parse(text) as unknown;
        const canonical = canonicalJson(value);
        expect(JSON.parse(canonical)).toEqual(value);
        expect(canonicalJson(JSON.parse(canonical))).toBe(canonical);
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, () => 1, 1n])("refuses %s", (value) => {
    expect(() => canonicalJson({ value })).toThrow(TypeError);
  });
});
