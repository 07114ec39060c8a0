import { UNMAPPED_REASONS, type UnmappedTelemetry } from "@plimsoll/protocol/api";
import { describe, expect, it, test } from "vitest";
import { recordsText, unmappedReason, unmappedTitle } from "./unmapped-text.ts";

const source = (given: Partial<UnmappedTelemetry>): UnmappedTelemetry => ({
  signal: "traces",
  service: "my-agent",
  scope: "my.tracer",
  name: "",
  reason: "unknown_dialect",
  dialect: null,
  attributes: [],
  counts_tokens: true,
  mapped_by: null,
  count: 1,
  first_at: "2026-11-20T10:00:00.000Z",
  last_at: "2026-11-20T10:00:00.000Z",
  ...given,
});

describe("the title of data that became no event", () => {
  it.each([
    [{}, "Spans of `my-agent`"],
    [{ service: "" }, "Spans of `my.tracer`"],
    [{ service: "", scope: "" }, "Spans of an unnamed service"],
    [{ signal: "logs", name: "api_call" }, "Log records `api_call` of `my-agent`"],
    [{ signal: "metrics", name: "tokens" }, "Data points `tokens` of `my-agent`"],
  ] as const)("%o is %s", (given, title) => {
    expect(unmappedTitle(source(given))).toBe(title);
  });
});

test("each reason says what to change", () => {
  const texts = UNMAPPED_REASONS.map((reason) => unmappedReason(source({ reason })));
  expect(new Set(texts).size).toBe(UNMAPPED_REASONS.length);
  for (const text of texts) expect(text).toMatch(/(Export|Send|Switch|Set) .+\.$/);
});

test("attributes without a count of tokens are said to have none", () => {
  expect(unmappedReason(source({ counts_tokens: false }))).toContain("No attribute");
  expect(unmappedReason(source({ counts_tokens: false, reason: "metric" }))).not.toContain("No attribute");
});

test.each(["no_usage", "no_session", "no_time"] as const)("a mapping that gives %s is named", (reason) => {
  const text = unmappedReason(source({ reason, dialect: "mapping:house" }));
  expect(text).toMatch(/^The mapping `house` finds no .+\. Set .+\.$/);
});

test("records that a mapping reads need nothing", () => {
  expect(unmappedReason(source({ mapped_by: "house", counts_tokens: false }))).toBe(
    "The mapping `house` reads such records from now on.",
  );
});

test("records have a singular", () => {
  expect(recordsText("traces", 1)).toBe("span");
  expect(recordsText("traces", 2)).toBe("spans");
  expect(recordsText("metrics", 0)).toBe("data points");
});
