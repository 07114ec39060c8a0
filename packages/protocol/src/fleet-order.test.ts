import { expect, test } from "vitest";
import type { FleetAgent } from "./api/read.ts";
import { type FleetSort, isSilent, minutesToLine, sortFleet } from "./fleet-order.ts";

const NOW = Date.UTC(2026, 10, 24, 9);
const NO_FORECAST: FleetAgent["forecast"] = {
  reason: "no_trend",
  turns: null,
  growth: null,
  minutes: null,
  end_turns: null,
  end_minutes: null,
};

interface Shape {
  silentMs?: number;
  suspect?: boolean;
  tokens?: number;
  forecast?: Partial<FleetAgent["forecast"]>;
}

/** An agent with its line at 1,000 tokens. */
function agent(id: string, load: number | null, shape: Shape = {}): FleetAgent {
  return {
    id,
    load,
    line: load === null ? null : { threshold: "hard", tokens: 1000, kind: "hard", source: "policy" },
    context_tokens: shape.tokens ?? (load === null ? null : load * 1000),
    window_suspect: shape.suspect ?? false,
    active_at: new Date(NOW - (shape.silentMs ?? 0)).toISOString(),
    forecast: { ...NO_FORECAST, ...shape.forecast },
  } as FleetAgent;
}
const order = (fleet: readonly FleetAgent[], sort: FleetSort) =>
  sortFleet(fleet, sort, NOW).map(({ id }) => id);

test("an agent is silent after 10 minutes", () => {
  expect(isSilent(agent("a", 1, { silentMs: 599_999 }), NOW)).toBe(false);
  expect(isSilent(agent("a", 1, { silentMs: 600_000 }), NOW)).toBe(true);
  expect(isSilent(agent("a", 1, { silentMs: -60_000 }), NOW)).toBe(false);
});

test("silent agents sink below suspect ones, and those below the others", () => {
  const fleet = [
    agent("silent", 2, { silentMs: 700_000 }),
    agent("suspect", 5, { suspect: true }),
    agent("silent suspect", 9, { silentMs: 700_000, suspect: true }),
    agent("unknown", null),
    agent("low", 0.1),
    agent("equal 1", 0.5),
    agent("equal 2", 0.5),
  ];
  expect(order(fleet, "load")).toEqual([
    "equal 1",
    "equal 2",
    "low",
    "unknown",
    "suspect",
    "silent suspect",
    "silent",
  ]);
});

const rising = (turns: number, minutes: number | null = null) => ({
  forecast: { reason: "rising" as const, turns, minutes },
});

test.each([
  ["past its line", agent("a", 1.2), 0],
  ["at its line", agent("a", 1), 0],
  ["rising at a known pace", agent("a", 0.5, rising(9, 3)), 3],
  ["rising at no known pace", agent("a", 0.5, rising(9)), 9],
  ["steady", agent("a", 0.99), Number.POSITIVE_INFINITY],
  ["without a line", agent("a", null), Number.POSITIVE_INFINITY],
])("%s: %#", (_, one, minutes) => {
  expect(minutesToLine(one)).toBe(minutes);
});

test("each order has the first reason to look on top", () => {
  const fleet = [
    agent("high", 0.9, { silentMs: 4_000 }),
    agent("soon", 0.4, { ...rising(3, 1), silentMs: 3_000 }),
    agent("later", 0.8, { ...rising(30, 20), silentMs: 2_000 }),
    agent("past", 1.1, { silentMs: 5_000 }),
    agent("further past", 1.3, { silentMs: 6_000 }),
    agent("no line", null, { tokens: 900_000, silentMs: 1_000 }),
  ];
  expect(order(fleet, "line")).toEqual(["further past", "past", "soon", "later", "high", "no line"]);
  expect(order(fleet, "load")).toEqual(["further past", "past", "high", "later", "soon", "no line"]);
  expect(order(fleet, "tokens")[0]).toBe("no line");
  expect(order(fleet, "last")[0]).toBe("no line");
  expect(order(fleet, "last").at(-1)).toBe("further past");
});
