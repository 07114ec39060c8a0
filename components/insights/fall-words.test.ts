import type { FallSums, FallView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import {
  fallTitle,
  keptCells,
  lastedText,
  lostText,
  moneyText,
  outcomeText,
  reinjectionCells,
  sumsCells,
  sumsText,
  workText,
} from "./fall-words.ts";

const FALL: FallView = {
  id: "f",
  type: "compacted",
  at: "2026-11-27T12:00:00Z",
  harness: "h",
  session_id: "s",
  session: "S",
  agent_id: "a",
  agent: null,
  model: "m",
  tokens_before: 160_000,
  tokens_after: 40_000,
  turns_before: 30,
  turns_after: 9,
  over: true,
  refill_turns: null,
  outcome: "paid_back",
  summary_usd: null,
  rewrite_usd: 0.12,
  saved_per_turn_usd: 0.06,
  break_even_turns: 2,
  thrash: false,
  survived: null,
  unseen: null,
};
const SURVIVED = {
  rule: { verbatim: 8, near: 1, absent: 3 },
  prompt: null,
  file: { verbatim: 1, near: 0, absent: 0 },
};

describe("a fall", () => {
  it.each<[Partial<FallView>, string]>([
    [{}, "paid back after 2 turns"],
    [{ break_even_turns: 1 }, "paid back after 1 turn"],
    [{ break_even_turns: 0 }, "cost nothing"],
    [{ outcome: "pending", break_even_turns: 12 }, "pays back after 12 turns, 9 so far"],
    [{ outcome: "not_paid_back", break_even_turns: 12 }, "not paid back: 12 turns needed"],
    [{ outcome: "not_paid_back", break_even_turns: null }, "freed nothing that would pay it back"],
    [{ outcome: "unknown", break_even_turns: null }, "price unknown"],
  ])("%j: %s", (more, text) => {
    expect(outcomeText({ ...FALL, ...more })).toBe(text);
  });

  it.each<[Partial<FallView>, string]>([
    [{}, "lasted 9 turns"],
    [{ over: false }, "9 turns since"],
    [{ refill_turns: 4 }, "full again after 4 turns"],
    [{ refill_turns: 1 }, "full again at once"],
  ])("%j: %s", (more, text) => {
    expect(lastedText({ ...FALL, ...more })).toBe(text);
  });

  it("is named by its kind and levels, as far as they are known", () => {
    expect(fallTitle(FALL)).toBe("compacted, 160k to 40k");
    expect(fallTitle({ ...FALL, type: "subtick", tokens_after: null })).toBe("sub-tick");
  });

  it.each<[Partial<FallView>, string | undefined]>([
    [{ survived: SURVIVED }, "lost 3 of 12 rules, 0 of 1 file"],
    [{ survived: { rule: null, prompt: null, file: null } }, "no prompt or file was there to lose"],
    [{ unseen: "not_recorded" }, "what it lost cannot be seen: its recordings do not show the summary"],
    [{ unseen: "not_imported" }, "what it lost cannot be seen: no recording with its summary was imported"],
    [{ type: "masked" }, undefined],
  ])("%j: %s", (more, text) => {
    expect(lostText({ ...FALL, ...more })).toBe(text);
  });

  it("says what it cost and saved, and how much of it a summary was", () => {
    expect(moneyText(FALL)).toBe("cost $0.1200; saved $0.5400");
    expect(moneyText({ ...FALL, summary_usd: 1 })).toBe(
      "cost $1.12, $1.00 of it for the summary; saved $0.5400",
    );
    expect(moneyText({ ...FALL, rewrite_usd: null })).toBeUndefined();
    expect(moneyText({ ...FALL, rewrite_usd: 0 })).toBe("saved $0.5400");
    expect(moneyText({ ...FALL, saved_per_turn_usd: -0.01 })).toContain("saved $0.00");
  });
});

describe("some falls", () => {
  const sums: FallSums = {
    falls: 10,
    freed: 0.75,
    lasted_turns: 21.5,
    refill_turns: 18,
    refilled: 5,
    outcomes: { paid_back: 6, pending: 1, not_paid_back: 1, unknown: 2 },
    cost_usd: 2,
    saved_usd: 5,
    seen: 4,
    survived: SURVIVED,
  };
  it("are a row of what was kept, verbatim or nearly", () => {
    expect(keptCells(sums)).toEqual(["4 of 10", "75% of 12", "—", "100% of 1"]);
  });
  it("are a sentence", () => {
    expect(sumsText(sums)).toBe(
      "10 falls. Half of them freed 75% of the level or more, and half lasted 22 turns or more. 6 of 8 with a list price have paid back: $2.00 spent, $5.00 saved so far.",
    );
    expect(sumsText({ ...sums, falls: 0 })).toBe("No level fell in this range.");
    const one = { ...sums, falls: 1, freed: null, lasted_turns: null };
    expect(sumsText({ ...one, outcomes: { paid_back: 0, pending: 0, not_paid_back: 0, unknown: 1 } })).toBe(
      "1 fall. None has a list price.",
    );
  });
  it("are a row of a table, without numbers that are not known", () => {
    expect(sumsCells(sums)).toEqual(["10", "75%", "22 turns", "18 turns (50%)", "6 of 8", "$2.00", "$5.00"]);
    const none = { ...sums, freed: null, lasted_turns: null, refill_turns: null, refilled: 0 };
    expect(
      sumsCells({ ...none, outcomes: { paid_back: 0, pending: 0, not_paid_back: 0, unknown: 10 } }),
    ).toEqual(["10", "—", "—", "never", "—", "—", "—"]);
  });
});

describe("repeated work", () => {
  const work = {
    ...{ falls: 212, sessions: 84, before: 0.041, after: 0.12, usual_change: 0.004 },
    ...{ difference: 0.075, low: 0.06, high: 0.09, verdict: "rises" as const },
  };
  it("names what is usual and what is certain", () => {
    expect(workText(work)).toBe(
      "In the 20 calls after 212 falls, 12% repeat an earlier call exactly, and 4.1% in the 20 before. Where nothing falls, the share changes by +0.4 points from one 20 to the next. So falls cost +6 to +9 points of repeated work (84 sessions).",
    );
    expect(workText({ ...work, verdict: "unclear" })).toContain(
      "It is not certain that falls cost repeated work",
    );
    expect(workText({ ...work, sessions: 1, verdict: "few_sessions" })).toContain(
      "With 1 session, that is not certain: a comparison needs 30.",
    );
  });

  it("around compactions is a row with its sample and interval", () => {
    expect(reinjectionCells(work)).toEqual(["212", "84", "4.1%", "12%", "+6 to +9"]);
    expect(reinjectionCells(null)).toEqual(["0", "—", "—", "—", "—"]);
  });
});
