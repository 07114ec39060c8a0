import { type Acknowledgement, thresholdTimeline } from "@plimsoll/fold";
import type { PolicyAckEvent } from "@plimsoll/protocol/events";
import type { PolicySettings, PolicyVersion } from "@plimsoll/protocol/pure";
import { expect, test } from "vitest";
import { familyDefaults } from "./family-defaults.ts";
import { harnessLine } from "./harness-line.ts";

const asks = (settings: PolicySettings): PolicyVersion => ({
  generation: 1,
  body: { settings, layers: [] },
  steps: [{ at: 0, share: 1, harnesses: [] }],
});
const says = (effective?: PolicySettings, status: PolicyAckEvent["status"] = "applied"): Acknowledgement => ({
  id: "ack",
  at: 0,
  generation: 1,
  status: status as Acknowledgement["status"],
  ...(effective && { effective }),
});
const lineOf = (
  harness: string,
  windowTokens: number | undefined,
  versions: PolicyVersion[] = [],
  acknowledgements: Acknowledgement[] = [],
) =>
  harnessLine(
    harness,
    thresholdTimeline(harness, versions, acknowledgements, familyDefaults(harness)).at(1, "m"),
    windowTokens,
  );

const policy = [asks({ thresholds: { ceiling: 120_000 } })];

test("without a policy, the line is computed", () => {
  expect(lineOf("claude-code@mac", 200_000)).toEqual({ tokens: 167_000, basis: "computed" });
});

test("a policy that the harness has not acknowledged does not move it", () => {
  expect(lineOf("claude-code@mac", 200_000, policy)).toEqual({ tokens: 167_000, basis: "computed" });
  expect(lineOf("claude-code@mac", 200_000, policy, [says(undefined, "received")])).toEqual({
    tokens: 167_000,
    basis: "computed",
  });
});

test("an acknowledged policy moves it, and the real line counts where it differs", () => {
  expect(lineOf("claude-code@mac", 200_000, policy, [says()])).toEqual({
    tokens: 120_000,
    basis: "acknowledged",
  });
  expect(lineOf("claude-code@mac", undefined, policy, [says({ thresholds: { ceiling: 67_000 } })])).toEqual({
    tokens: 67_000,
    basis: "acknowledged",
  });
});

test("a harness that switched compaction off has no line", () => {
  const off = says({ thresholds: { ceiling: null, hard: "100%" } });
  for (const windowTokens of [200_000, undefined])
    expect(lineOf("claude-code@mac", windowTokens, policy, [off])).toEqual({
      tokens: undefined,
      basis: "off",
    });
});

test("a share of an unknown window is unknown, not off", () => {
  const share = [asks({ thresholds: { ceiling: "60%" } })];
  expect(lineOf("claude-code@mac", undefined, share, [says()])).toEqual({
    tokens: undefined,
    basis: "unknown",
  });
  expect(lineOf("claude-code@mac", undefined)).toEqual({ tokens: undefined, basis: "unknown" });
});

test("a harness of unknown kind has only the line that it acknowledged", () => {
  expect(lineOf("my-bot@lab", 200_000)).toBeUndefined();
  expect(lineOf("my-bot@lab", 200_000, policy)).toBeUndefined();
  expect(lineOf("my-bot@lab", 200_000, policy, [says()])).toEqual({
    tokens: 120_000,
    basis: "acknowledged",
  });
});
