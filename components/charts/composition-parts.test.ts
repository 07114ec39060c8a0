import type { ChartPoint } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { compositionRows } from "./composition-parts.ts";

function point(
  number: number,
  tokens: number,
  parts: Partial<NonNullable<ChartPoint["composition"]>> | null,
): ChartPoint {
  const none = { system: null, tools: null, memory: null, history: null, tool_output: null, other: null };
  return {
    key: String(number),
    number,
    at: "2026-11-20T10:00:00Z",
    window: 0,
    context_tokens: tokens,
    window_tokens: null,
    estimated: false,
    composition_estimated: false,
    composition: parts === null ? null : { ...none, ...parts },
  };
}

test("tokens outside the reported parts are unattributed, and unreported parts are left out", () => {
  const { rows, parts } = compositionRows([
    point(1, 100, { history: 60 }),
    point(2, 50, null),
    point(3, 80, { history: 60 }),
  ]);
  expect(rows).toEqual([
    { number: 1, history: 60, rest: 40 },
    { number: 3, history: 60, rest: 20 },
  ]);
  expect(parts.map(({ name, tokens, share }) => [name, tokens, share])).toEqual([
    ["history", 60, 0.75],
    ["rest", 20, 0.25],
  ]);
});

test("no reported composition gives no rows", () => {
  expect(compositionRows([point(1, 100, null)])).toEqual({ rows: [], parts: [] });
});
