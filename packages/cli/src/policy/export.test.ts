import { claudeCodeBridge } from "@plimsoll/harnesses/claude-code/bridge";
import { at } from "@plimsoll/harnesses/fields";
import { lineOf, PolicyBody, type Thresholds, type ThresholdValue } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { gatewayYaml, managedDocument } from "./export.ts";

const adapter = { family: "claude-code", ...claudeCodeBridge };
const MODEL = "claude-opus-5-5";

const documentOf = (policy: unknown, windowTokens?: number, models: readonly string[] = []) =>
  managedDocument(adapter, PolicyBody.parse(policy), { harness: "claude-code", models, windowTokens });

describe("the managed settings of a policy", () => {
  it.each<[string, unknown, unknown]>([
    ["tokens", { settings: { thresholds: { ceiling: 300_000 } } }, { autoCompactWindow: 333_000 }],
    ["a share", { settings: { thresholds: { ceiling: "30%" } } }, { autoCompactWindow: 333_000 }],
    ["a reserve", { settings: { thresholds: { reserve: 100_000 } } }, { autoCompactWindow: 933_000 }],
    [
      "a layer of the family",
      {
        settings: { thresholds: { ceiling: "90%" } },
        layers: [{ scope: { family: "claude-code" }, settings: { thresholds: { ceiling: 300_000 } } }],
      },
      { autoCompactWindow: 333_000 },
    ],
    [
      "a line below what Claude Code accepts",
      { settings: { thresholds: { ceiling: 1 } } },
      { autoCompactWindow: 100_000 },
    ],
    ["no compaction", { settings: { compaction: { mode: "off" } } }, { autoCompactEnabled: false }],
    ["compaction", { settings: { compaction: { mode: "compact" } } }, { autoCompactEnabled: true }],
    ["no line", { settings: { thresholds: { warning: "10%" } } }, {}],
    [
      "a policy that only warns",
      { settings: { enforcement: "warn_only", thresholds: { ceiling: "30%" } } },
      {},
    ],
  ])("state %s", (_, policy, settings) => {
    expect(documentOf(policy, 1_000_000).settings).toEqual(settings);
  });

  it("have a line for each model, and one switch", () => {
    const policy = {
      settings: { thresholds: { ceiling: 300_000 } },
      layers: [
        {
          scope: { model: "*opus*" },
          settings: { thresholds: { ceiling: "40%" }, compaction: { mode: "compact" } },
        },
      ],
    };
    expect(documentOf(policy, undefined, [MODEL]).settings).toEqual({
      autoCompactWindow: 333_000,
      modelSettings: { [MODEL]: { autoCompactWindow: 433_000 } },
    });
  });

  it("say what they cannot express", () => {
    expect(documentOf({ settings: { thresholds: { ceiling: "30%" } } })).toMatchObject({
      settings: {},
      differences: [{ path: "thresholds.ceiling", code: "unsupported" }],
    });
    expect(documentOf({ settings: { thresholds: { ceiling: 1 } } }, 200_000).differences).toMatchObject([
      { path: "thresholds.ceiling", code: "clamped", effective: 67_000 },
    ]);
  });

  const thresholds: fc.Arbitrary<ThresholdValue> = fc.oneof(
    fc.integer({ min: 1, max: 10_000 }).map((hundredths) => `${hundredths / 100}%`),
    fc.integer({ min: 1, max: 1_200_000 }),
    fc.integer({ min: -900_000, max: -1 }),
  );
  it("hold whole numbers that give the line of the policy when Claude Code reads them", () => {
    fc.assert(
      fc.property(thresholds, fc.constantFrom(200_000, 1_000_000), (ceiling, windowTokens) => {
        const { settings, differences } = documentOf({ settings: { thresholds: { ceiling } } }, windowTokens);
        const value = at(settings, ["autoCompactWindow"]);
        if (value !== undefined) expect(Number.isInteger(value)).toBe(true);
        const read = parse(gatewayYaml(settings, ["a"])).managed.policies[0].cli;
        expect(JSON.parse(JSON.stringify(settings))).toEqual(read);
        const personal = {
          autoCompactWindow: 150_000,
          modelSettings: { [MODEL]: { autoCompactWindow: 150_000 } },
        };
        const { line } = claudeCodeBridge.line(personal, {
          model: MODEL,
          windowTokens,
          env: {},
          layers: [{ name: "managed", settings: read, managed: "folder" }],
          commandLines: [],
        });
        const asked = lineOf({ ceiling, hard: null, reserve: null } as Thresholds, windowTokens);
        if (differences.length === 0 && value !== undefined)
          expect(line).toEqual({ kind: "tokens", tokens: Math.floor(asked!.tokens) });
      }),
      { numRuns: 500 },
    );
  });
});

describe("the policy of the apps gateway", () => {
  it.each([
    [undefined, {}],
    [["eng-contractors", "Eng: #1"], { groups: ["eng-contractors", "Eng: #1"] }],
    [["yes", "0123", "ünï\u202E"], { groups: ["yes", "0123", "ünï\u202E"] }],
  ])("is for %j", (groups, match) => {
    const cli = { autoCompactWindow: 333_000, modelSettings: { [MODEL]: { autoCompactWindow: 433_000 } } };
    expect(parse(gatewayYaml(cli, groups))).toEqual({ managed: { policies: [{ match, cli }] } });
  });

  it("reads the same by either version of YAML, whatever the groups and models are called", () => {
    const special = fc.constantFrom(
      ...[
        "yes",
        "NO",
        "on",
        "~",
        "null",
        "0123",
        "1:30",
        "1e3",
        ".inf",
        "0x1f",
        "2026-11-28",
        "=",
        "<<",
        "-",
        "?",
      ],
      ...[
        "a: b",
        "a #b",
        "*a",
        "&a",
        "!!str",
        "%TAG",
        "@a",
        "`a`",
        "'",
        '"',
        "[a]",
        "{a}",
        "|",
        ">",
        "---",
        "...",
      ],
      ...["\n", "a\nb", "\t", " a ", "\u0085", "\u2028", "\u0000", "\uFEFF", "\\", "é", "🚢"],
    );
    const name = fc.oneof(special, fc.string({ minLength: 1, unit: "binary" }));
    const named = fc.tuple(
      fc.array(name, { minLength: 1, maxLength: 4 }),
      fc.uniqueArray(name, { maxLength: 4 }),
    );
    fc.assert(
      fc.property(named, ([groups, models]) => {
        const lines = models.map((model) => [model, { autoCompactWindow: 333_000 }] as const);
        const cli = { modelSettings: Object.fromEntries(lines) };
        for (const version of ["1.1", "1.2"] as const)
          expect(parse(gatewayYaml(cli, groups), { version })).toEqual({
            managed: { policies: [{ match: { groups }, cli }] },
          });
      }),
      { numRuns: 300 },
    );
  });
});
