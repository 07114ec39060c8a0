import type { IngestRefusal } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { EVENT_RULES, ruleOf } from "./event-rules.ts";
import { refusalNotice, refusalTitle } from "./refusal-text.ts";

const NOW = Date.parse("2026-11-24T12:00:00Z");
const refusal = (fields: Partial<IngestRefusal> = {}): IngestRefusal => ({
  harness: "claude-code@laptop",
  type: "turn",
  code: "invalid_field",
  path: "usage.input_tokens",
  message: "expected number, received string",
  example: "{}",
  count: 3,
  first_at: "2026-11-24T10:00:00Z",
  last_at: "2026-11-24T11:59:00Z",
  ...fields,
});

it.each<[Partial<IngestRefusal>, string]>([
  [{}, "Invalid field `usage.input_tokens` in `turn` events"],
  [{ code: "invalid_json", path: "", type: null }, "Invalid JSON"],
  [{ code: "in_the_future", path: "at" }, "Time in the future `at` in `turn` events"],
  [{ code: "something_new", path: "", type: null }, "Something new"],
])("names the fault %j", (fields, title) => {
  expect(refusalTitle(refusal(fields))).toBe(title);
});

it("gives a notice only while events are refused", () => {
  expect(refusalNotice([], NOW)).toBeUndefined();
  expect(refusalNotice([refusal({ last_at: "2026-11-24T11:57:00Z" })], NOW)).toBeUndefined();
  expect(refusalNotice([refusal()], NOW)).toBe(
    "Events from claude-code@laptop are being refused: Invalid field `usage.input_tokens` in `turn` events.",
  );
  expect(refusalNotice([refusal({ harness: null }), refusal({ path: "at" })], NOW)).toBe(
    "Events from 2 harnesses are being refused: Invalid field `usage.input_tokens` in `turn` events and 1 other fault.",
  );
});

it("finds the rule of the nearest field", () => {
  expect(ruleOf("usage.input_tokens")).toBe("usage");
  expect(ruleOf("at")).toBe("at");
  expect(ruleOf("")).toBe("");
  expect(ruleOf("toString")).toBeUndefined();
  expect(Object.keys(EVENT_RULES).length).toBeGreaterThan(10);
});
