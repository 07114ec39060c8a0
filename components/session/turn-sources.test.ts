import type { TurnView } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { sourcesText, windowReport } from "./turn-sources.ts";

it.each<[TurnView["sources"][], string | null]>([
  [[], null],
  [[["harness"], ["harness"]], null],
  [[["transcript"]], "a transcript"],
  [[["status_line"], ["otlp", "transcript"]], "telemetry, the status line and a transcript"],
  [[["harness", "otlp"]], "the harness and telemetry"],
])("names the sources of %j", (sources, text) => {
  expect(sourcesText(sources.map((one) => ({ sources: one })))).toBe(text);
});

const LINE = { source: "status_line", tokens: 1_000_000 } as const;
const OTLP = { source: "otlp", tokens: 200_000 } as const;
const turn = (window_claims: TurnView["window_claims"], more: Partial<TurnView> = {}) => ({
  model: "claude-opus-5",
  compaction: false,
  window_claims,
  ...more,
});
const agent = { model: "claude-opus-5", window_tokens: 1_000_000 };

it.each([
  ["nobody said it", [turn([])], { by: null, conflict: null }],
  ["one source said it", [turn([]), turn([LINE])], { by: "the status line", conflict: null }],
  [
    "two sources differ",
    [turn([LINE, OTLP])],
    { by: "the status line", conflict: "the status line says 1M, telemetry says 200k" },
  ],
  [
    "two sources agree",
    [turn([LINE, { ...OTLP, tokens: 1_000_000 }])],
    { by: "the status line", conflict: null },
  ],
  [
    "they differed before, and agree now",
    [turn([LINE]), turn([LINE, OTLP])],
    { by: "the status line", conflict: null },
  ],
  ["only another model has it", [turn([OTLP], { model: "other" })], { by: null, conflict: null }],
  ["only a compaction has it", [turn([OTLP], { compaction: true })], { by: null, conflict: null }],
  ["the size has changed since", [turn([OTLP])], { by: null, conflict: null }],
])("reports the window if %s", (_, turns, report) => {
  expect(windowReport(turns, agent)).toEqual(report);
});
