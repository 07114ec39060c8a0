import { describe, expect, it } from "vitest";
import type { AgentSight } from "../agent-sight.ts";
import { cacheReadShare } from "./cache-read-share.ts";

const SIGHT: AgentSight = {
  at: 1_000,
  receivedAt: 2_000,
  window: 0,
  contextTokens: 1_000,
  windowTokens: undefined,
  windowSource: "unknown",
  line: undefined,
  above: [],
  recent: [1_000],
  msPerTurn: undefined,
  boundaries: [],
  turnTimes: undefined,
  caches: [],
  lineKeeper: "nobody",
};
const unknown = undefined;
const cacheOf = (share: number | undefined) => ({ share, lost: 0 });

describe("less than half of the context read from the cache", () => {
  it.each([
    {
      name: "holds once as many turns after the first are low",
      turns: 2,
      shares: [0.4, 0.1, 0],
      holds: true,
    },
    { name: "does not count the first turn of a window", turns: 2, shares: [0.4, 0], holds: false },
    { name: "does not hold for the first turn alone", turns: 1, shares: [0], holds: false },
    { name: "does not hold before any turn", turns: 1, shares: [], holds: false },
    { name: "does not hold at the value", turns: 1, shares: [0.5, 0], holds: false },
    {
      name: "does not hold after one turn that reads enough",
      turns: 2,
      shares: [0.1, 0.9, 0.1, 0],
      holds: false,
    },
    { name: "ignores what was before the latest turns", turns: 2, shares: [0.1, 0.1, 0.9, 0], holds: true },
    { name: "does not take unknown for low", turns: 2, shares: [unknown, 0.1, 0.1], holds: false },
    { name: "is interrupted by an unknown turn", turns: 2, shares: [0.1, unknown, 0.1, 0], holds: false },
    { name: "needs no known first turn", turns: 1, shares: [0, unknown], holds: true },
    { name: "takes a known zero for low", turns: 3, shares: [0, 0, 0, 0], holds: true },
    { name: "bears a share above 100%", turns: 1, shares: [1.2, 0], holds: false },
  ])("$name", ({ turns, shares, holds }) => {
    const condition = { type: "cache_read_share", below: 0.5, turns } as const;
    const sight = { ...SIGHT, caches: shares.map(cacheOf) };
    const expected = { holds, at: 1_000, receivedAt: 2_000 };
    expect(cacheReadShare.find(condition, sight, false, 2_000)).toEqual(expected);
    // Without hysteresis: an open alert ends with the first turn that is not low.
    expect(cacheReadShare.find(condition, sight, true, 2_000)).toEqual(expected);
  });

  it("says how much was read", () => {
    const condition = { type: "cache_read_share", below: 0.5, turns: 2 } as const;
    expect(cacheReadShare.why(condition, { ...SIGHT, caches: [0.125, 0.1, 0].map(cacheOf) })).toBe(
      "12.5% of the context was read from the cache, below 50% for 2 turns",
    );
    expect(cacheReadShare.phrase(condition)).toBe(
      "less than 50% of the context read from the cache for 2 turns",
    );
  });
});
