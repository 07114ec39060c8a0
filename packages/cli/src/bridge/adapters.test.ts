import type { Fields, HarnessAdapter, Known } from "@plimsoll/harnesses/bridge";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { at, withChanges } from "@plimsoll/harnesses/fields";
import { OWN_LINE_FAMILIES, ownLine } from "@plimsoll/harnesses/lines";
import { lineOf, type PolicySettings, type Thresholds, type ThresholdValue } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planFor } from "./plan.ts";

/** Where each harness compacts, written down once more from its documentation and source. In tokens; undefined: never. */
const FORMULAS: Record<string, (settings: Fields, window: number) => number | undefined> = {
  "claude-code": (settings, window) => {
    const own = at(settings, ["autoCompactWindow"]) as number | undefined;
    if (at(settings, ["autoCompactEnabled"]) === false) return undefined;
    return (
      Math.min(window, own === undefined ? window : Math.max(100_000, Math.min(1_000_000, own))) - 33_000
    );
  },
  codex: (settings, window) => {
    const own = at(settings, ["model_auto_compact_token_limit"]) as number | undefined;
    return Math.min(own ?? Number.POSITIVE_INFINITY, Math.floor(window * 0.9));
  },
  "gemini-cli": (settings, window) =>
    ((at(settings, ["model", "compressionThreshold"]) as number | undefined) ?? 0.5) * window,
  "qwen-code": (settings, window) => {
    const share = (at(settings, ["context", "autoCompactThreshold"]) as number | undefined) ?? 0.85;
    const ceiling = window - 20_000 - 13_000;
    return ceiling > 0 ? Math.min(share * window, ceiling) : share * window;
  },
  kilo: (settings, window) => {
    const percent = at(settings, ["compaction", "threshold_percent"]) as number | undefined;
    const buffer = window - 16_000;
    return percent === undefined ? buffer : Math.min(buffer, (percent / 100) * window);
  },
  opencode: (settings, window) => {
    const limit = at(settings, ["provider", "openai", "models", "gpt-x", "limit"]) as { input?: number };
    const reserved =
      (at(settings, ["compaction", "reserved"]) as number | undefined) ?? Math.min(20_000, 16_000);
    return limit.input === undefined ? window - 16_000 : limit.input - reserved;
  },
  kimi: (settings, window) => {
    const loop = (settings.loop_control ?? {}) as Record<string, number | undefined>;
    const ratio = loop.compaction_trigger_ratio ?? 0.85;
    return Math.min(ratio * window, window - (loop.reserved_context_size ?? 50_000));
  },
  "kimi-code": (settings, window) => {
    const reserved = at(settings, ["loop_control", "reserved_context_size"]) as number | undefined;
    return reserved === undefined ? undefined : window - reserved;
  },
  pi: (settings, window) => {
    const reserve = at(settings, ["compaction", "reserveTokens"]) as number | undefined;
    return at(settings, ["compaction", "enabled"]) === false ? undefined : window - (reserve ?? 16_384);
  },
  goose: (settings, window) =>
    Math.min(1, (at(settings, ["GOOSE_AUTO_COMPACT_THRESHOLD"]) as number | undefined) ?? 0.8) * window,
};

const WINDOWS = [128_000, 200_000, 262_144, 400_000, 1_000_000, 1_048_576];

const knownOf = (windowTokens: number, model?: string): Known => ({
  windowTokens,
  ...(model !== undefined && { model }),
  env: {},
  layers: [],
  commandLines: [],
});

const ownSettings = (family: string, window: number) => limitsOf(family, window, 16_000);

function limitsOf(family: string, context: number, output: number): Fields {
  const limit = { context, output };
  return family === "opencode" || family === "kilo"
    ? { provider: { openai: { models: { "gpt-x": { limit } } } } }
    : {};
}

it.each(ADAPTERS.filter(({ family, control }) => control !== "none" && OWN_LINE_FAMILIES.includes(family)))(
  "the line of $family without settings is the one that the server computes",
  (adapter) => {
    for (const window of [64_000, ...WINDOWS]) {
      const { line } = adapter.line(
        limitsOf(adapter.family, window, 32_000),
        knownOf(window, "openai/gpt-x"),
      );
      // Codex reports 95 % of the window that its settings name.
      const computed = ownLine(adapter.family, adapter.family === "codex" ? window * 0.95 : window)!;
      const tokens = line.kind === "tokens" ? line.tokens : Number.NaN;
      expect(Math.abs(tokens - computed) / computed).toBeLessThan(0.001);
    }
  },
);

const threshold: fc.Arbitrary<ThresholdValue> = fc.oneof(
  fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
  fc.integer({ min: 1, max: 10_000 }).map((hundredths) => `${Number((hundredths / 100).toFixed(2))}%`),
  fc.integer({ min: 1, max: 1_200_000 }),
  fc.integer({ min: -200_000, max: -1 }),
  fc.record({ percent: fc.integer({ min: 1, max: 100 }), floor: fc.integer({ min: 1, max: 300_000 }) }),
  fc.constant(null),
);
const policies: fc.Arbitrary<PolicySettings> = fc.record({
  thresholds: fc.record({ ceiling: threshold, hard: threshold, reserve: threshold }, { requiredKeys: [] }),
});

const settable = ADAPTERS.filter(({ family }) => Object.hasOwn(FORMULAS, family));

function planWith(adapter: HarnessAdapter, policy: PolicySettings, window: number) {
  const own = ownSettings(adapter.family, window);
  const known = knownOf(window, own.provider === undefined ? undefined : "openai/gpt-x");
  return { own, known, plan: planFor(adapter, policy, own, known) };
}

describe.each(settable.map((adapter) => [adapter.family, adapter] as const))("%s", (family, adapter) => {
  it("promises the line that the harness' own formula gives", () => {
    fc.assert(
      fc.property(policies, fc.constantFrom(...WINDOWS), (policy, window) => {
        const { own, plan } = planWith(adapter, policy, window);
        const real = FORMULAS[family]!(withChanges(own, plan.changes), window);
        if (plan.line.kind === "tokens")
          expect(Math.abs(plan.line.tokens - Math.max(0, real!))).toBeLessThan(1.001);
        else expect(real).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it("never compacts above what the policy asks for, unless it says so", () => {
    fc.assert(
      fc.property(policies, fc.constantFrom(...WINDOWS), (policy, window) => {
        const { plan } = planWith(adapter, policy, window);
        const asked = lineOf(
          { ceiling: null, hard: null, reserve: null, ...policy.thresholds } as Thresholds,
          window,
        );
        if (asked === undefined) return;
        const said = plan.differences.some(
          ({ code, path }) => code !== "unsupported" && path.startsWith("thresholds."),
        );
        if (plan.line.kind === "tokens" && !said) expect(plan.line.tokens).toBeLessThanOrEqual(asked.tokens);
        if (plan.line.kind === "off") expect(said).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("changes nothing when it is applied twice", () => {
    fc.assert(
      fc.property(policies, fc.constantFrom(...WINDOWS), (policy, window) => {
        const { own, known, plan } = planWith(adapter, policy, window);
        const patched = withChanges(own, plan.changes);
        expect(planFor(adapter, policy, patched, known).line).toEqual(plan.line);
        expect(withChanges(patched, plan.changes)).toEqual(patched);
      }),
    );
  });

  it("leaves the settings alone for a policy that only warns", () => {
    const policy: PolicySettings = { enforcement: "warn_only", thresholds: { ceiling: "20%" } };
    expect(planWith(adapter, policy, 200_000).plan).toMatchObject({ changes: [], differences: [] });
  });
});

const claude = ADAPTERS[0]!;
const ceiling = (value: ThresholdValue): PolicySettings => ({ thresholds: { ceiling: value } });

describe("Claude Code", () => {
  const plan = (policy: PolicySettings, settings: Fields = {}, more: Partial<Known> = {}) =>
    planFor(claude, policy, settings, { ...knownOf(200_000), ...more });

  it("adds what Claude Code keeps free to the line", () => {
    expect(plan(ceiling(120_000))).toMatchObject({
      changes: [{ path: ["autoCompactWindow"], value: 153_000 }],
      line: { kind: "tokens", tokens: 120_000 },
      differences: [],
    });
    expect(plan(ceiling("50%")).changes[0]!.value).toBe(133_000);
  });

  it("names both numbers when the line is below what Claude Code accepts", () => {
    const { changes, differences, effective } = plan(ceiling("20%"));
    expect(changes[0]!.value).toBe(100_000);
    expect(differences).toEqual([
      { path: "thresholds.ceiling", code: "clamped", wanted: "20%", effective: 67_000, by: "Claude Code" },
    ]);
    expect(effective).toEqual({ thresholds: { ceiling: 67_000 } });
  });

  it("writes the settings of a model that is named", () => {
    expect(plan(ceiling(120_000), {}, { model: "claude-opus-5" }).changes).toEqual([
      { path: ["modelSettings", "claude-opus-5", "autoCompactWindow"], value: 153_000 },
    ]);
  });

  it.each<[string, Fields, Partial<Known>, unknown]>([
    ["CLAUDE_CODE_AUTO_COMPACT_WINDOW", {}, { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "180000" } }, 147_000],
    [
      "CLAUDE_CODE_AUTO_COMPACT_WINDOW in env",
      { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "500k" } },
      {},
      67_000,
    ],
    ["--autocompact", {}, { commandLines: [["claude", "--autocompact", "150000"]] }, 117_000],
    ["--autocompact", {}, { commandLines: [["claude", "--autocompact=180k"]] }, 147_000],
    ["--autocompact", {}, { commandLines: [["claude", "--autocompact", "110"]] }, 77_000],
    [
      "--autocompact",
      { autoCompactWindow: 150_000 },
      { commandLines: [["claude", "--autocompact=auto"]] },
      167_000,
    ],
    [
      "CLAUDE_CODE_AUTO_COMPACT_WINDOW in env",
      { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "180000" } },
      { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "190000" } },
      147_000,
    ],
    ["DISABLE_AUTO_COMPACT", {}, { env: { DISABLE_AUTO_COMPACT: "1" } }, null],
    ["DISABLE_COMPACT", {}, { env: { DISABLE_COMPACT: "true" } }, null],
    ["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", {}, { env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" } }, 66_500],
    ["autoCompactEnabled", { autoCompactEnabled: false }, {}, null],
    [
      "autoCompactWindow in /etc/managed.json",
      {},
      { layers: [{ name: "/etc/managed.json", settings: { autoCompactWindow: 110_000 } }] },
      77_000,
    ],
    [
      "autoCompactEnabled in .claude/settings.json",
      {},
      { layers: [{ name: ".claude/settings.json", settings: { autoCompactEnabled: false } }] },
      null,
    ],
  ])("names %s when it wins over the policy", (by, settings, known, effective) => {
    expect(plan(ceiling(120_000), settings, known).differences).toEqual([
      { path: "thresholds.ceiling", code: "local_override", wanted: 120_000, effective, by },
    ]);
  });

  it("writes no share of a window that nobody named", () => {
    const { changes, differences } = plan(ceiling("50%"), {}, { windowTokens: undefined });
    expect(changes).toEqual([]);
    expect(differences[0]).toMatchObject({ code: "unsupported", by: expect.stringContaining("--window") });
  });

  it("switches compaction off and on again as the policy says", () => {
    const off = plan({ ...ceiling("50%"), compaction: { mode: "off" } });
    expect(off.changes).toEqual([{ path: ["autoCompactEnabled"], value: false }]);
    expect(off.effective).toEqual({ thresholds: { ceiling: null, hard: "100%" } });
    const on = plan({ compaction: { mode: "compact" } }, { autoCompactEnabled: false });
    expect(on.changes).toEqual([{ path: ["autoCompactEnabled"], value: true }]);
  });

  it("keeps its own line when the policy says nothing of one", () => {
    expect(plan({ thresholds: { warning: "10%" } })).toMatchObject({ changes: [], differences: [] });
  });

  it("states a hard threshold as the ceiling that it really has", () => {
    expect(plan({ thresholds: { hard: 120_000 } }).effective).toEqual({ thresholds: { ceiling: 120_000 } });
  });

  it("says that only a guard can mask and restart", () => {
    const { differences } = plan({ masking: { enabled: true }, restart: { mode: "auto" } });
    expect(differences.map(({ path, code }) => [path, code])).toEqual([
      ["masking.enabled", "unsupported"],
      ["restart.mode", "unsupported"],
    ]);
  });
});

describe("rules after a compaction", () => {
  it.each(ADAPTERS.map(({ family }) => family))("come back in %s only if a hook puts them back", (family) => {
    const adapter = ADAPTERS.find((one) => one.family === family)!;
    const { differences } = planFor(adapter, { compaction: { reinject: true } }, {}, knownOf(200_000));
    const isUnsupported = differences.some(({ path }) => path === "compaction.reinject");
    expect(isUnsupported).toBe(family !== "claude-code");
  });
});

describe("harnesses without a line", () => {
  it.each(["cline", "crush"])("%s switches compaction off, and says that it has no line", (family) => {
    const adapter = ADAPTERS.find((one) => one.family === family)!;
    const off = planFor(adapter, { compaction: { mode: "off" } }, {}, knownOf(200_000));
    expect(off.changes).toHaveLength(1);
    expect(off.line).toEqual({ kind: "off" });
    const line = planFor(adapter, ceiling("20%"), {}, knownOf(200_000));
    expect(line.changes).toEqual([]);
    expect(line.differences[0]).toMatchObject({ code: "unsupported", wanted: "20%" });
  });
});

describe("Codex", () => {
  const codex = ADAPTERS.find(({ family }) => family === "codex")!;

  it("only lowers the line", () => {
    const { changes, differences } = planFor(codex, ceiling(380_000), {}, knownOf(400_000));
    expect(changes[0]!.value).toBe(360_000);
    expect(differences[0]).toMatchObject({ code: "clamped", wanted: 380_000, effective: 360_000 });
  });

  it("names the profile that wins", () => {
    const settings = { profile: "work", profiles: { work: { model_auto_compact_token_limit: 100_000 } } };
    expect(planFor(codex, ceiling(200_000), settings, knownOf(400_000)).differences[0]).toMatchObject({
      code: "local_override",
      by: "profiles.work.model_auto_compact_token_limit",
    });
  });
});
