import { ALERT_END_REASONS } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { backtestText, endText, firedText, importedText, subjectText } from "./alert-text.ts";
import { matcherLines, readMatcherLines } from "./matchers-field.tsx";

const clockOf = (step: number) =>
  `${String(Math.floor(step / 2)).padStart(2, "0")}:${step % 2 ? "30" : "00"}`;
const steps = (...firing: number[]) =>
  Array.from({ length: 48 }, (_, step) => (firing.includes(step) ? 1 : 0));

describe("when a rule fired", () => {
  it.each([
    { firing: [], text: "Did not fire in the last 24 hours" },
    { firing: [28, 29, 30], text: "Fired from 14:00 to 15:30 in the last 24 hours" },
    { firing: [47], text: "Fired since 23:30 in the last 24 hours" },
    { firing: [0, 46, 47], text: "Fired from 00:00 to 00:30 and since 23:00 in the last 24 hours" },
    {
      firing: [2, 4, 6, 8],
      text: "Fired 4 times, lately from 02:00 to 02:30 and from 03:00 to 03:30 and from 04:00 to 04:30 in the last 24 hours",
    },
  ])("is $text", ({ firing, text }) => expect(firedText(steps(...firing), clockOf)).toBe(text));
});

describe("the texts of an alert", () => {
  it("name its end for every reason", () => {
    for (const end_reason of ALERT_END_REASONS) {
      const alert = {
        fired_at: "2026-11-24T10:00:00Z",
        resolved_at: "2026-11-24T10:22:05Z",
        end_reason,
        ended_by: null,
      };
      expect(endText(alert as Parameters<typeof endText>[0])).toMatch(/^ended after 22 min 5 s: \w/);
    }
  });

  it("name the parts that its subject has", () => {
    const nobody = { harness: null, session: null, agent: null, model: null };
    expect(subjectText({ subject: nobody })).toBe("this project");
    expect(subjectText({ subject: { ...nobody, harness: "phantom@a", session: "s", agent: "main" } })).toBe(
      "phantom@a · s · main",
    );
  });

  it("say what an import did", () => {
    expect(importedText({ created: 2, changed: 1, deleted: 0, unchanged: 0 })).toBe(
      "2 rules created, 1 rule changed.",
    );
    expect(importedText({ created: 0, changed: 0, deleted: 0, unchanged: 0 })).toBe("The text has no rules.");
  });
});

describe("matchers as lines", () => {
  it("are read as they are written", () => {
    const matchers = [
      { label: "harness", is: "phantom@*" },
      { label: "session", is_not: "a = b, c" },
      { label: "agent", is: "" },
    ];
    expect(readMatcherLines(matcherLines(matchers))).toEqual({ matchers, mistake: undefined });
  });

  it("name the first line that is no matcher", () => {
    expect(readMatcherLines("harness=a\n\nnonsense\nalso").mistake).toBe("nonsense");
    expect(readMatcherLines("=a").mistake).toBe("=a");
  });

  it("say what ended by itself in the singular", () => {
    const result = { count: 8, longest_ms: 60_000, brief: 1, complete: true } as AlertBacktest;
    expect(backtestText(result, 1)).toContain("1 of 8 ended by itself within a minute.");
  });

  it("say how often a rule would have fired, and how often for less than a minute", () => {
    const result = { count: 3, longest_ms: 22 * 60_000, brief: 2, complete: true } as AlertBacktest;
    expect(backtestText(result, 7)).toBe(
      "Would have fired 3 times in 7 days (0.4 a day), longest 22 min 0 s. 2 of 3 ended by themselves within a minute.",
    );
  });
});
