import { quotaName } from "@plimsoll/fold";
import type { QuotaView } from "@plimsoll/protocol/api";
import type { QuotaForecastReason } from "@plimsoll/protocol/pure";
import { describe, expect, it } from "vitest";
import { elapsedShare, quotaOwner, quotaSentence, quotaText } from "./quota-words.ts";

const NOW = Date.UTC(2026, 10, 24, 9);
const MINUTE = 60_000;
const inMinutes = (minutes: number) => new Date(NOW + minutes * MINUTE).toISOString();

function quota(
  reason: QuotaForecastReason,
  ends: number | null = null,
  more: Partial<QuotaView> = {},
): QuotaView {
  return {
    ...{ provider: "anthropic", limit: "five_hour", window_minutes: 300, used_percent: 60 },
    owner: { kind: "machine", id: "laptop" },
    resets_at: inMinutes(120),
    read_at: inMinutes(-1),
    forecast: { reason, ends_at: ends === null ? null : inMinutes(ends) },
    ...more,
  };
}
const week = { limit: "seven_day", window_minutes: 10_080 };
const sentence = (...quotas: QuotaView[]) =>
  quotaSentence(quotas, NOW)
    .map(({ text }) => text)
    .join("");

describe("a quota", () => {
  it.each<[Partial<QuotaView>, string]>([
    [{}, "Anthropic 5-hour"],
    [week, "Anthropic 7-day"],
    [{ ...week, limit: "seven_day_opus" }, "Anthropic 7-day opus"],
    [{ provider: "openai", limit: "codex", window_minutes: 10_080 }, "OpenAI 7-day"],
    [
      { provider: "openai", limit: "codex_bengalfox", window_minutes: 90 },
      "OpenAI 90-minute codex bengalfox",
    ],
    [{ provider: "acme", limit: "premium_requests", window_minutes: null }, "acme premium requests"],
  ])("of %j is called %s", (more, name) => {
    expect(quotaName(quota("rising", 41, more))).toBe(name);
  });

  it.each<[QuotaView, string]>([
    [quota("rising", 41), "used up in 41 min, resets in 2 h"],
    [quota("used_up"), "used up, resets in 2 h"],
    [quota("not_before_reset"), "resets in 2 h"],
    [quota("too_few_readings"), "resets in 2 h"],
    [quota("reset", null, { resets_at: inMinutes(-5) }), "reset at 08:55, not read since"],
    [quota("reset", null, { resets_at: inMinutes(-3 * 1440) }), "reset at 21 Nov 09:00, not read since"],
    // The answer is older than the reset.
    [quota("used_up", null, { resets_at: inMinutes(0) }), "reset at 09:00, not read since"],
  ])("%j: %s", (view, text) => {
    expect(quotaText(view, NOW, "UTC")).toBe(text);
  });

  it("names its owner where another one is called the same", () => {
    const owners: QuotaView["owner"][] = [
      { kind: "account", id: "0a1b2c3d4e5f60718293a4b5c6d7e8f9" },
      { kind: "person", id: "p-1" },
      { kind: "person", id: "p-2" },
      { kind: "machine", id: "laptop" },
    ];
    const all = [...owners.map((owner) => quota("reset", null, { owner })), quota("reset", null, week)];
    expect(all.map((view) => quotaOwner(view, all, new Map([["p-1", "Ann"]])))).toEqual([
      "account 0a1b2c",
      "Ann",
      "somebody",
      "laptop",
      undefined,
    ]);
  });

  it.each([
    [quota("rising"), 0.6],
    [quota("rising", null, { resets_at: inMinutes(301) }), 0],
    [quota("rising", null, { resets_at: inMinutes(-1) }), undefined],
    [quota("rising", null, { window_minutes: null }), undefined],
  ])("has a window of which a share has passed", (view, share) => {
    expect(elapsedShare(view, NOW)).toEqual(share === undefined ? undefined : expect.closeTo(share));
  });
});

describe("the sentence about the next agent", () => {
  it.each<[QuotaView[], string]>([
    [[], ""],
    [[quota("not_before_reset"), quota("too_few_readings")], ""],
    [[quota("rising", 41)], "; the Anthropic 5-hour quota is used up in about 41 minutes"],
    [
      [quota("rising", 50), quota("rising", 41, week)],
      "; the Anthropic 7-day quota is used up in about 41 minutes, and 1 more soon",
    ],
    // Days ahead, it is nothing to act on now.
    [[quota("rising", 600, week)], ""],
    [
      [quota("used_up"), quota("rising", 41, week)],
      "; the Anthropic 5-hour quota is used up, and 1 more soon",
    ],
    [[quota("used_up"), quota("used_up", null, week)], "; 2 quotas are used up"],
    [[quota("used_up", null, { resets_at: inMinutes(-1) })], ""],
  ])("adds of %j: %s", (quotas, text) => {
    expect(sentence(...quotas)).toBe(text);
  });
});
