import type { FleetAgent } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { isSilent, sortFleet } from "./fleet-order.ts";

const NOW = Date.UTC(2026, 10, 24, 9);
const agent = (id: string, load: number | null, { silentMs = 0, suspect = false } = {}) =>
  ({ id, load, window_suspect: suspect, active_at: new Date(NOW - silentMs).toISOString() }) as FleetAgent;

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
  expect(sortFleet(fleet, NOW).map(({ id }) => id)).toEqual([
    "equal 1",
    "equal 2",
    "low",
    "unknown",
    "suspect",
    "silent suspect",
    "silent",
  ]);
});
