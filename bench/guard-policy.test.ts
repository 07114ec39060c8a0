import { expect, it } from "vitest";
import { codingSession, policyCost, recordedSessions } from "./guard-policy.ts";

it.each([128_000, 200_000, 400_000])(
  "the defaults act rarely in a window of %i tokens",
  async (windowTokens) => {
    const cost = await policyCost(codingSession(windowTokens, 300));
    expect(cost.maskings).toBeGreaterThan(0);
    expect(cost.actions).toBeLessThanOrEqual(4);
    expect(cost.prefixKept).toBeGreaterThanOrEqual(0.8);
    expect(cost).toMatchObject({ wordsKept: 1, overWindow: 0 });
  },
);

it.each([16_000, 32_000])("lose no word of the user in a window of %i tokens", async (windowTokens) => {
  const cost = await policyCost(codingSession(windowTokens, 300));
  expect(cost.prefixKept).toBeGreaterThanOrEqual(0.8);
  expect(cost).toMatchObject({ wordsKept: 1, overWindow: 0 });
});

it.skipIf(recordedSessions().length === 0)("and send no recorded run over its window", async () => {
  for (const session of recordedSessions())
    expect(await policyCost(session), session.name).toMatchObject({ wordsKept: 1, overWindow: 0 });
});

it.each([16_000, 32_000, 64_000, 128_000])(
  "preparing edits costs no more actions and tokens in a window of %i tokens",
  async (windowTokens) => {
    const sum = { actions: 0, sent: 0 };
    const ahead = { actions: 0, sent: 0 };
    for (const seed of [7, 11, 23])
      for (const [total, isAhead] of [[sum, false] as const, [ahead, true] as const]) {
        const cost = await policyCost(codingSession(windowTokens, 300, seed), {}, isAhead);
        expect(cost).toMatchObject({ wordsKept: 1, overWindow: 0 });
        total.actions += (cost.actions * cost.turns) / 100;
        total.sent += cost.sent;
      }
    // One action more in a hundred: edits that are ready are applied a little before the line.
    expect(ahead.actions).toBeLessThanOrEqual(sum.actions * 1.01 + 1e-6);
    expect(ahead.sent).toBeLessThanOrEqual(sum.sent);
  },
);

it("a policy that acts at once is seen to cost more", async () => {
  const session = codingSession(128_000, 150);
  const eager = {
    thresholds: { soft: "10%" },
    mask: { minGain: 0.01, headroom: 0 },
    pace: { roomTurns: 0, minTurns: 0 },
  };
  const [often, rarely] = [await policyCost(session, eager), await policyCost(session)];
  expect(often.actions).toBeGreaterThan(rarely.actions * 5);
  expect(often.prefixKept).toBeLessThan(rarely.prefixKept);
});
