import { POLICY_PRESETS, PolicySettings } from "@plimsoll/protocol/policy";
import { describe, expect, it } from "vitest";
import { checkPolicy } from "./check-options.ts";
import { resolvePolicy } from "./policy.ts";
import { flatSettings, GUARD_SETTINGS, policyInputOf, settingsOf } from "./policy-settings.ts";

describe("the settings of a policy in a guard", () => {
  it("become the guard's policy, and its own fields stay where the settings say nothing", () => {
    const own = { thresholds: { hard: "95%" }, mask: { minTokens: 10 } };
    const settings = {
      enforcement: "warn_only" as const,
      thresholds: { ceiling: "50%", soft: null },
      masking: { keep_turns: 7, exclude: ["read"] },
      restart: { mode: "ask" as const, max: null },
    };
    expect(policyInputOf(settings, own)).toEqual({
      policy: {
        mode: "warn_only",
        thresholds: { hard: "95%", ceiling: "50%", soft: null },
        mask: { minTokens: 10, keepTurns: 7, exclude: ["read"] },
        restart: { how: "ask", max: null },
      },
      unsupported: [],
      disabled: [],
    });
  });

  it("switch responses off and on", () => {
    const off = policyInputOf({ masking: { enabled: false, keep_turns: 3 }, compaction: { mode: "off" } });
    expect(off).toMatchObject({ policy: { mask: null, compact: null }, disabled: [] });
    const on = policyInputOf(
      { masking: { enabled: true }, restart: { mode: "auto" } },
      { mask: null, restart: null },
    );
    expect(on.policy).toEqual({ mask: {}, restart: { how: "auto" } });
  });

  it("do not enable a response that the harness disables, and say so", () => {
    expect(policyInputOf({ masking: { keep_turns: 3 } }, { mask: null })).toEqual({
      policy: { mask: null },
      unsupported: [],
      disabled: ["masking.keep_turns"],
    });
  });

  it("name those that the guard does not have, also of a newer version", () => {
    const settings = {
      split: { files: 4 },
      thresholds: { dawn: "5%" },
      tone: "kind",
      loop: { max_context_pct: 15 },
    };
    expect(policyInputOf(settings).unsupported).toEqual([
      "split.files",
      "thresholds.dawn",
      "tone",
      "loop.max_context_pct",
    ]);
  });

  it.each(Object.entries(POLICY_PRESETS))(
    "of the preset %s give a policy that the guard takes",
    (_, preset) => {
      const { policy } = policyInputOf(preset);
      expect(() => checkPolicy(policy)).not.toThrow();
      expect(policyInputOf(settingsOf(policy), policy)).toMatchObject({ unsupported: [], disabled: [] });
      expect(resolvePolicy(policyInputOf(settingsOf(policy)).policy)).toEqual(resolvePolicy(policy));
    },
  );

  it("come back as settings of the protocol, all of them", () => {
    const settings = settingsOf({});
    expect(PolicySettings.safeParse(settings).success).toBe(true);
    expect([...flatSettings(settings).keys()].sort()).toEqual([...GUARD_SETTINGS].sort());
  });
});
