import { readPolicy } from "@plimsoll/protocol/policy";
import { describe, expect, it } from "vitest";
import { allClashes, clashesOf } from "./clashes.ts";

const policy = (value: unknown) => {
  const read = readPolicy(value);
  if (!read.ok) throw new Error(JSON.stringify(read.mistakes));
  return read.body;
};
const ceiling = (value: unknown) => policy({ settings: { thresholds: { ceiling: value } } });

describe("thresholds that come too late", () => {
  it("are found when only a ceiling is given, below the default warning of the family", () => {
    expect(clashesOf(ceiling("40%"), { family: "claude-code" }, 200_000)).toEqual([
      "warning (the default of claude-code) is at 140,000 tokens, and ceiling (from all agents) at 80,000: warning is crossed too late to be of use. Set warning below ceiling.",
    ]);
    expect(clashesOf(ceiling("40%"), { family: "phantom" }, 200_000)).toEqual([]);
    expect(clashesOf(ceiling("15%"), { family: "phantom" }, 200_000)).toHaveLength(1);
  });

  it("depend on the window when one is a count of tokens and the other a share", () => {
    const body = ceiling(100_000);
    expect(clashesOf(body, { family: "claude-code" }, 128_000)).toEqual([]);
    expect(clashesOf(body, { family: "claude-code" }, 1_000_000)).toHaveLength(1);
    const mixed = policy({ settings: { thresholds: { warning: "60%", ceiling: 100_000 } } });
    expect(clashesOf(mixed, undefined, 200_000)).toHaveLength(1);
  });

  it("are not found where the warning is off or given, and are listed for each scope", () => {
    expect(
      allClashes(policy({ settings: { thresholds: { warning: null, ceiling: "30%", hard: null } } })),
    ).toEqual([]);
    const body = policy({
      settings: { thresholds: { warning: "50%", ceiling: "70%", hard: null } },
      layers: [
        { scope: { harness: "phantom@vm-3" }, settings: { thresholds: { ceiling: "40%" } } },
        { scope: { model: "*opus*" }, settings: { thresholds: { warning: "20%", ceiling: "40%" } } },
      ],
    });
    expect(allClashes(body)).toEqual([
      expect.stringMatching(/^For .*phantom@vm-3.*: warning \(from all agents\)/),
    ]);
  });

  it("do not hide a ceiling that only the end of the window follows", () => {
    expect(allClashes(ceiling("100%"))[0]).toContain("hard (the default)");
  });
});
