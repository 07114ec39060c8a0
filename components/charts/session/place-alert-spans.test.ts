import type { ChartPoint } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AlertSpan, placeAlertSpans, SEVERITY_ORDER } from "./place-alert-spans.ts";
import { type Axis, shapeSaw } from "./shape.ts";

const START = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;

/** A turn a minute, from turn 1. */
const sawOf = (turns: number, axis: Axis) =>
  shapeSaw(
    Array.from(
      { length: turns },
      (_, n) =>
        ({
          number: n + 1,
          at: new Date(START + n * MINUTE).toISOString(),
          context_tokens: 1,
          window: 0,
        }) as ChartPoint,
    ),
    [],
    axis,
  );
const span = (id: string, from: number, to: number | null, severity: AlertSpan["severity"] = "warning") => ({
  id,
  severity,
  from: START + from * MINUTE,
  to: to === null ? null : START + to * MINUTE,
  name: id,
});

describe("alert spans", () => {
  it("reach from the turn that began them to the turn that ended them", () => {
    const { spans } = placeAlertSpans([span("a", 2, 5.01)], sawOf(10, "turns"), "turns", [1, 10]);
    expect(spans).toMatchObject([{ from: 3, to: 6, lane: 0 }]);
  });

  it("reach to the end of the chart while they are open, and stay within the chart", () => {
    const domain = [START, START + 9 * MINUTE] as const;
    const early = { ...span("a", -50, null), id: "early" };
    const late = span("b", 60, 90);
    const { spans } = placeAlertSpans([early, late], sawOf(10, "time"), "time", domain);
    expect(spans.find(({ span: { id } }) => id === "early")).toMatchObject({
      from: domain[0],
      to: domain[1],
    });
    expect(spans.find(({ span: { id } }) => id === "b")).toMatchObject({ from: domain[1], to: domain[1] });
    expect(placeAlertSpans([span("c", -9, -5)], sawOf(10, "turns"), "turns", [1, 10]).spans).toMatchObject([
      { from: 1, to: 1 },
    ]);
  });

  it("that overlap are in lanes of their own, the worst at the top", () => {
    const { spans, lanes } = placeAlertSpans(
      [span("info", 0, 9, "info"), span("first", 1, 3, "critical"), span("later", 6, 8, "critical")],
      sawOf(10, "turns"),
      "turns",
      [1, 10],
    );
    expect(lanes).toBe(2);
    expect(spans.map(({ span: { id }, lane }) => `${id} ${lane}`)).toEqual(["info 1", "first 0", "later 0"]);
  });

  it("never leave out the chosen one", () => {
    const many = Array.from({ length: 30 }, (_, n) => span(String(n), 0, null, "critical"));
    const chosen = { ...span("chosen", 5, 6, "info"), isChosen: true };
    const { spans, hidden } = placeAlertSpans([...many, chosen], sawOf(10, "turns"), "turns", [1, 10]);
    expect(spans.map(({ span: { id } }) => id)).toContain("chosen");
    expect(hidden).toBe(27);
  });

  it("never overlap in a lane, keep their order in time, and count those left out", () => {
    const anySpan = fc.record({
      severity: fc.constantFrom(...SEVERITY_ORDER),
      from: fc.double({ min: -20, max: 40, noNaN: true }),
      length: fc.option(fc.double({ min: -1, max: 30, noNaN: true })),
    });
    fc.assert(
      fc.property(
        fc.array(anySpan, { maxLength: 60 }),
        fc.constantFrom<Axis>("turns", "time"),
        fc.integer({ min: 0, max: 20 }),
        (drawn, axis, turns) => {
          const domain = axis === "turns" ? ([0, 20] as const) : ([START, START + 20 * MINUTE] as const);
          const given = drawn.map(({ severity, from, length }, n) =>
            span(String(n), from, length === null ? null : from + length, severity),
          );
          const { spans, lanes, hidden } = placeAlertSpans(given, sawOf(turns, axis), axis, domain);
          expect(spans.length + hidden).toBe(given.length);
          expect(lanes).toBeLessThanOrEqual(4);
          for (const [index, { from, to, lane }] of spans.entries()) {
            expect(from).toBeLessThanOrEqual(to);
            expect(from).toBeGreaterThanOrEqual(domain[0]);
            expect(to).toBeLessThanOrEqual(domain[1]);
            expect(lane).toBeLessThan(lanes);
            const later = spans.slice(index + 1).filter((other) => other.lane === lane);
            expect(later.every((other) => other.from > to)).toBe(true);
          }
        },
      ),
    );
  });
});
