import { type PolicyBody, readPolicy, type ThresholdValue } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FIELD_GROUPS } from "./fields.ts";
import { policyDiff } from "./policy-diff.tsx";
import { policyText, readText, withValue } from "./policy-text.ts";
import { fieldOf, layerOf, withField, withPreset } from "./scope.ts";
import { scopeKey, scopeOf } from "./scope-key.ts";
import { changedForm, THRESHOLD_FORMS, thresholdOf, thresholdParts } from "./threshold-value.ts";

const text = `# The lines of everybody
settings:
  thresholds:
    warning: 60% # early
    ceiling: 80%
layers:
  - scope: { family: phantom }
    settings:
      thresholds: { ceiling: 20% }
`;
const bodyOf = (source: string): PolicyBody => readText(source).body!;

describe("the text of a policy", () => {
  it("is read as YAML or as JSON, and nothing at all is an empty policy", () => {
    expect(bodyOf(text).settings.thresholds).toEqual({ warning: "60%", ceiling: "80%" });
    expect(bodyOf(JSON.stringify(bodyOf(text)))).toEqual(bodyOf(text));
    expect(bodyOf("")).toEqual({ settings: {}, layers: [] });
    expect(bodyOf("# nothing yet\n")).toEqual({ settings: {}, layers: [] });
  });

  it("marks a mistake where it is", () => {
    const { body, mistakes } = readText(text.replace("ceiling: 80%", "ceiling: 50%"));
    expect(body).toBeUndefined();
    expect(mistakes).toMatchObject([{ path: "settings.thresholds.warning", line: 4 }]);
    expect(text.slice(mistakes[0]!.from, mistakes[0]!.to)).toBe("60%");
    expect(readText("settings:\n  thresholds:\n    soft: lots\n").mistakes).toMatchObject([
      { path: "settings.thresholds.soft", line: 3 },
    ]);
  });

  it.each([
    ["settings: [", "is no YAML"],
    ["a: 1\na: 2", "has a key twice"],
    ["- just\n- a list", "is a list"],
    ["just words", "is a word"],
    [
      `a: &a [${"x,".repeat(50)}x]\n${Array.from({ length: 60 }, (_, n) => `k${n}: *a`).join("\n")}`,
      "expands",
    ],
  ])("%j is refused: it %s", (source) => {
    expect(readText(source).body).toBeUndefined();
    expect(readText(source).mistakes.length).toBeGreaterThan(0);
  });

  it("keeps comments and everything else when a field changes", () => {
    const changed = withField(text, bodyOf(text), undefined, ["thresholds", "ceiling"], "85%");
    expect(changed).toBe(text.replace("ceiling: 80%", "ceiling: 85%"));
    const removed = withField(changed, bodyOf(changed), undefined, ["thresholds", "ceiling"], undefined);
    expect(removed).toBe(text.replace("    ceiling: 80%\n", ""));
  });

  it("loses a group with its last field, and never the settings of a scope", () => {
    const scope = { family: "phantom" };
    const removed = withField(text, bodyOf(text), scope, ["thresholds", "ceiling"], undefined);
    expect(bodyOf(removed).layers).toEqual([{ scope, settings: {} }]);
    expect(withField(removed, bodyOf(removed), { harness: "a@b" }, ["overflow"], undefined)).toBe(removed);
  });

  it("gets a layer with the first field of a new scope", () => {
    const scope = { harness: "phantom@vm-3", model: "claude-*" };
    const added = withField(text, bodyOf(text), scope, ["thresholds", "ceiling"], {
      percent: 15,
      floor: 40_000,
    });
    expect(bodyOf(added).layers[1]).toEqual({
      scope,
      settings: { thresholds: { ceiling: { percent: 15, floor: 40_000 } } },
    });
    expect(withField("", bodyOf(""), scope, ["overflow"], "cut")).toContain("overflow: cut");
  });

  it("stays as it is while it is no YAML", () => {
    expect(withValue("a: [", ["settings", "overflow"], "cut")).toBe("a: [");
  });

  it("says what the body says, whatever fields are set in whatever order", () => {
    const values: Record<string, unknown> = {};
    const all = FIELD_GROUPS.flatMap(({ fields }) => fields);
    for (const { path, kind } of all) {
      values[path.join(".")] =
        kind.type === "choice"
          ? kind.options[0]!.value
          : kind.type === "names"
            ? ["Read"]
            : kind.type === "number"
              ? 1
              : null;
    }
    const step = fc.record({
      field: fc.constantFrom(...all),
      scope: fc.constantFrom(undefined, { family: "phantom" }, { harness: "a@b" }),
      remove: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let written = "";
        const expected = new Map<string, unknown>();
        for (const { field, scope, remove } of steps) {
          const value = remove ? undefined : values[field.path.join(".")];
          written = withField(written, bodyOf(written), scope, field.path, value);
          expected.set(JSON.stringify([scopeKey(scope), field.path]), value);
        }
        for (const [key, value] of expected) {
          const [scope, path] = JSON.parse(key) as [string, string[]];
          expect(fieldOf(bodyOf(written), scopeOf(scope), path)).toEqual(value);
        }
        expect(readText(policyText(bodyOf(written))).body).toEqual(bodyOf(written));
      }),
    );
  });

  it("comes in the order of the form, whatever order the database gave", () => {
    const stored = {
      layers: [],
      settings: { invented: 1, thresholds: { hard: "90%", ceiling: "80%", warning: "60%" } },
    };
    expect(policyText(stored)).toBe(
      "settings:\n  thresholds:\n    warning: 60%\n    ceiling: 80%\n    hard: 90%\n  invented: 1\n",
    );
  });

  it("takes a preset for a scope", () => {
    const preset = { thresholds: { soft: "70%", hard: "90%" } };
    const scope = { family: "ouroboros" };
    expect(bodyOf(withPreset(text, bodyOf(text), scope, preset)).layers[1]).toEqual({
      scope,
      settings: preset,
    });
    expect(bodyOf(withPreset(text, bodyOf(text), undefined, preset)).settings).toEqual(preset);
    expect(layerOf(bodyOf(text), scope)).toBe(-1);
  });
});

describe("a scope in an address", () => {
  it.each([
    [undefined, ""],
    [{ family: "phantom" }, "family=phantom"],
    [{ harness: "a&b@c", model: "claude-*" }, "model=claude-*&harness=a%26b%40c"],
  ])("%j is %j", (scope, key) => {
    expect(scopeKey(scope)).toBe(key);
    expect(scopeOf(key)).toEqual(scope);
  });
});

describe("a threshold in the form", () => {
  it.each<ThresholdValue | undefined>([
    undefined,
    null,
    "15%",
    40_000,
    -20_000,
    { percent: 15, floor: 40_000 },
  ])("%j survives", (value) => {
    expect(thresholdOf(thresholdParts(value))).toEqual(value);
  });

  it("begins with a valid value in every form, whatever it was before", () => {
    for (const before of [undefined, null, "15%", 40_000, -20_000, { percent: 15, floor: 40_000 }]) {
      for (const form of THRESHOLD_FORMS) {
        const value = thresholdOf(changedForm(thresholdParts(before), form));
        expect(readPolicy({ settings: { thresholds: { ceiling: value } } }).ok, `${before} as ${form}`).toBe(
          true,
        );
      }
    }
  });
});

it("a diff names what was added and removed", () => {
  const after = bodyOf(text.replace("80%", "85%"));
  expect(policyDiff(bodyOf(text), after).filter(({ kind }) => kind !== "same")).toEqual([
    { kind: "removed", text: "    ceiling: 80%" },
    { kind: "added", text: "    ceiling: 85%" },
  ]);
});
