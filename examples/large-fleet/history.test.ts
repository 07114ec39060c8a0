import { parseEvent } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { largeFleet } from "./history.ts";

const NOW = Date.parse("2026-11-24T12:00:00Z");
const fleet = largeFleet({ run: "test", now: NOW });
const sessionsOf = (prefix: string) =>
  new Set(fleet.history.flatMap((event) => (event.session?.startsWith(prefix) ? [event.session] : [])));

describe("largeFleet", () => {
  it("has 300 ended sessions, 30 live agents and some silent ones, from six harnesses and more", () => {
    expect(sessionsOf("past-").size).toBe(300);
    expect(fleet.live).toHaveLength(30);
    expect(sessionsOf("silent-").size).toBe(4);
    expect(new Set(fleet.history.map(({ harness }) => harness)).size).toBeGreaterThan(6);
    expect(fleet.live.filter(({ plan }) => plan.agent !== undefined).length).toBeGreaterThan(3);
  });

  it("has one session of 1,000 turns", () => {
    const turns = new Map<string, number>();
    for (const { type, session = "" } of fleet.history) {
      if (type === "turn") turns.set(session, (turns.get(session) ?? 0) + 1);
    }
    expect(Math.max(...turns.values())).toBeGreaterThanOrEqual(1_000);
  });

  it("holds every kind of fall, unexplained ones, and a level above the stated window", () => {
    const types = new Set(fleet.history.map(({ type }) => type));
    for (const type of ["masked", "compacted", "subtick", "restarted", "cleared"])
      expect(types).toContain(type);
    const levels = fleet.history.flatMap((event) => {
      if (event.type !== "turn") return [];
      const { input_tokens = 0, cache_read_tokens = 0 } = event.usage as Record<string, number>;
      return [
        { harness: event.harness, tokens: input_tokens + cache_read_tokens, window: event.context_window },
      ];
    });
    expect(levels.some(({ tokens, window }) => window !== undefined && tokens > window)).toBe(true);
    const local = levels.filter(({ harness }) => harness === "homelab@nas");
    expect(local.some(({ tokens }, at) => at > 0 && tokens < local[at - 1]!.tokens * 0.8)).toBe(true);
  });

  it("makes valid events with distinct ids, none of them in the future", () => {
    const seen = new Set<string>();
    for (const event of fleet.history) {
      expect(parseEvent(event)).toMatchObject({ ok: true });
      expect(event.at).toBeLessThanOrEqual(NOW);
      seen.add(`${event.harness}/${event.session}/${event.id}`);
    }
    expect(seen.size).toBe(fleet.history.length);
  });

  it("is the same for the same seed", () => {
    expect(largeFleet({ run: "test", now: NOW }).history).toEqual(fleet.history);
  });

  it("goes on where the history ends", () => {
    const agent = fleet.live[3]!;
    const before = agent.level;
    const events = agent.step(NOW + 1_000);
    expect(events.at(-1)).toMatchObject({ type: "turn", at: NOW + 1_000 });
    expect(agent.level).not.toBe(before);
  });
});
