import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EXAMPLE_ALERT, EXAMPLE_NOTIFICATION, RESOLVED_ALERT } from "../../testing/notifications.ts";
import { testNotification } from "./test-notification.ts";
import { cut, cutBytes, plain, plainLines } from "./text.ts";
import { fitAlerts, levelText, linkOf, summaryOf, textOf, titleOf } from "./words.ts";

const BASE = "http://127.0.0.1:4180";
const whole = (notification: typeof EXAMPLE_NOTIFICATION) =>
  fitAlerts(notification, 10, (list) => textOf(notification, BASE, list));

describe("the words of a notification", () => {
  it("name the agent, the level against its line, the reason, the last boundaries and the turn", () => {
    expect(summaryOf(EXAMPLE_NOTIFICATION)).toBe(
      "Ceiling crossed at phantom@vm-3, fix the build, main: 168,000 context tokens crossed the ceiling (160,000 tokens)",
    );
    expect(whole(EXAMPLE_NOTIFICATION)).toBe(
      [
        "Why: 168,000 context tokens crossed the ceiling (160,000 tokens)",
        "Next: Compact or restart the agent.",
        "Level: 168k of 200k tokens (84%), ceiling 160k (105%)",
        "Before: compacted from 171k to 12.4k at 2026-11-23 13:21:00 UTC; masked from 150k at 2026-11-23 13:08:00 UTC; cleared at 2026-11-23 12:26:00 UTC",
        "Agent: phantom@vm-3, fix the build, main",
        "Model: claude-sonnet-4-5",
        "Since: 2026-11-23 14:03:22 UTC",
        "http://127.0.0.1:4180/sessions/7?agent=3&turn=91",
      ].join("\n"),
    );
  });

  it("say how long a resolved alert lasted and what ended it", () => {
    const resolved = { ...EXAMPLE_NOTIFICATION, kind: "resolved" as const, alerts: [RESOLVED_ALERT] };
    expect(titleOf(resolved)).toBe("Resolved: Ceiling crossed at phantom@vm-3, fix the build, main");
    expect(whole(resolved)).toContain(
      "Ended: 2026-11-23 14:25:52 UTC, after 23 min: the condition no longer holds",
    );
    const [boundary] = RESOLVED_ALERT.boundaries;
    expect(whole({ ...resolved, alerts: [{ ...RESOLVED_ALERT, ended_by: boundary! }] })).toContain(
      "after 23 min: compacted from 171k to 12.4k",
    );
  });

  it("count the alerts of a group and those that are not listed", () => {
    const alerts = Array.from({ length: 12 }, (_, n) => ({ ...EXAMPLE_ALERT, id: String(n) }));
    const group = { ...EXAMPLE_NOTIFICATION, message: "Look at the runbook.", alerts, omitted: 7 };
    expect(titleOf(group)).toBe("Ceiling crossed, 19 alerts at phantom@vm-3");
    const text = whole(group);
    expect(text.startsWith("Look at the runbook.\n\nphantom@vm-3, fix the build, main\nWhy: ")).toBe(true);
    expect(text.endsWith("\n\nand 9 more")).toBe(true);
  });

  it("never round a load below the line up to 100%", () => {
    expect(
      levelText({ context_tokens: 159_900, window_tokens: null, line: "ceiling", line_tokens: 160_000 }),
    ).toBe("160k tokens, ceiling 160k (99%)");
  });

  it("say that a test is a test", () => {
    const test = testNotification({ id: 1, name: "default" }, { id: "t", now: 1_700_000_000_000 });
    expect(titleOf(test)).toBe("Test: Test of this endpoint at phantom@example, an example, main");
    expect(whole(test)).toContain("This is a test. No agent is in trouble.");
  });

  it("link to the dashboard only", () => {
    for (const path of [
      "//evil.example",
      "/\\evil.example",
      "/\t/evil.example",
      "https://evil.example/",
      "http://[",
      "/%zz",
    ])
      expect(linkOf({ path }, BASE)).toBe(`${BASE}/`);
    expect(linkOf({ path: "/?harness=a%2Fb%20%7C%3E" }, BASE)).toBe(`${BASE}/?harness=a%2Fb%20%7C%3E`);
    expect(linkOf({ path: `/?harness=${"x".repeat(3_000)}` }, BASE)).toBe(`${BASE}/`);
  });
});

describe("texts", () => {
  it("are cut at whole characters", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 60 }),
        fc.integer({ min: 3, max: 60 }),
        (text, most) => {
          const byUnits = cut(text, most);
          const byBytes = cutBytes(text, most);
          expect(byUnits.length).toBeLessThanOrEqual(most);
          expect(Buffer.byteLength(byBytes)).toBeLessThanOrEqual(most);
          expect([byUnits, byBytes].every((cutText) => cutText.isWellFormed())).toBe(true);
        },
      ),
    );
  });

  it("from outside have one line and hide nothing", () => {
    expect(plain("a\r\nBcc: x\u2028b\u202E\u200Bc\uD83D ")).toBe("a Bcc: x bc");
    expect(plainLines(" a\r\nb\u0007\u001bc\u2029d\u202E ")).toBe("a\nb c\nd");
  });
});
