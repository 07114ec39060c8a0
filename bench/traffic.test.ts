import { describe, expect, it } from "vitest";
import type { FleetShape } from "./fleet.ts";
import { eventsOf, type Traffic } from "./traffic.ts";

const SHAPE: FleetShape = {
  connections: 4,
  sessions: 12,
  turns: 20_000,
  spacing: 5_000,
  sessionTurns: 0,
  end: Date.UTC(2026, 0, 2),
  seed: 7,
};

interface Sent {
  id: string;
  at: string;
  session: string;
  agent: string;
}

/** The events each connection sends, in order. */
function sent(events: number, traffic: Traffic, shape = SHAPE): Sent[][] {
  const { next } = eventsOf(shape, traffic);
  const lanes = Array.from({ length: shape.connections }, (): Sent[] => []);
  for (let index = 0; index < events; index++) {
    const lane = index % shape.connections;
    lanes[lane]!.push(JSON.parse(next(lane)));
  }
  return lanes;
}

const agentOf = ({ session, agent }: Sent) => `${session}/${agent}`;
const agentsOf = (events: readonly Sent[]) => new Set(events.map(agentOf));

/** Events that happened at least an hour before an earlier event of their agent. */
function lateOf(events: readonly Sent[]): Sent[] {
  const latest = new Map<string, number>();
  return events.filter((event) => {
    const at = Date.parse(event.at);
    const before = latest.get(agentOf(event)) ?? at;
    latest.set(agentOf(event), Math.max(before, at));
    return at <= before - 3_000_000;
  });
}

describe("traffic", () => {
  it("keeps an agent on one connection by default, in order of time", () => {
    const lanes = sent(4_000, {});
    expect(lanes.flatMap((lane) => [...agentsOf(lane)])).toHaveLength(agentsOf(lanes.flat()).size);
    expect(lanes.flatMap(lateOf)).toEqual([]);
  });

  it("spreads every agent over all connections if they are shared", () => {
    const lanes = sent(4_000, { shared: true });
    const all = agentsOf(lanes.flat());
    expect(all.size).toBe(16);
    for (const lane of lanes) expect(agentsOf(lane)).toEqual(all);
  });

  it("gives every event of shared agents a position in the order in which they happened", () => {
    const { next, position } = eventsOf(SHAPE, { shared: true });
    const { next: inOrder } = eventsOf(SHAPE);
    const happened = Array.from({ length: 8_000 }, (_, index) => inOrder(index % SHAPE.connections));
    for (let index = 0; index < 4_000; index++) {
      const lane = Math.floor(index / 1_000);
      expect(next(lane)).toBe(happened[position(lane) - 1]);
    }
  });

  it("sends late events hours after later events of their agent", () => {
    const lanes = sent(80_000, { late: 0.05 });
    const events = lanes.flat();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const share = lanes.flatMap(lateOf).length / events.length;
    expect(share).toBeGreaterThan(0.035);
    expect(share).toBeLessThan(0.06);
  });

  it("sends repeated events again unchanged", () => {
    const events = sent(80_000, { repeated: 0.05 }).flat();
    const once = new Map(events.map((event) => [event.id, event]));
    const repeats = events.length - once.size;
    expect(repeats / events.length).toBeGreaterThan(0.035);
    expect(repeats / events.length).toBeLessThan(0.06);
    const changed = events.filter((event) => JSON.stringify(event) !== JSON.stringify(once.get(event.id)));
    expect(changed).toEqual([]);
  });
});

describe("a fleet in one session", () => {
  it("has the agents of all its parts", () => {
    const shape = { ...SHAPE, sessions: 4, agents: 25, oneSession: true, spacing: 50 };
    const events = sent(4_000, {}, shape).flat();
    expect(new Set(events.map(({ session }) => session)).size).toBe(1);
    expect(agentsOf(events).size).toBe(100);
  });
});
