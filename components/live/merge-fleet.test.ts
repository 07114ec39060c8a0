import type { FleetAgent, FleetPart, FleetView } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeFleetPart, namedSessions, shareAgents } from "./merge-fleet.ts";

const NOW = "2026-11-24T09:00:00Z";
const agent = (id: string, load: number | null, session = id) =>
  ({ id, session_id: session, load, active_at: NOW }) as FleetAgent;
const view = (agents: FleetAgent[], more = 0): FleetView => ({
  generated_at: "2026-11-24T08:59:00Z",
  agents,
  more,
});
const part = (agents: FleetAgent[], live: number): FleetPart => ({ generated_at: NOW, agents, live });
const ids = (merged: FleetView | null) => merged?.agents.map(({ id }) => id);

describe("namedSessions", () => {
  it("lists each session once", () => {
    const messages = [["a", "b"], ["b"]].map((sessions) => ({ type: "changed" as const, sessions }));
    expect(namedSessions(messages, 2)).toEqual(["a", "b"]);
    expect(namedSessions(messages, 1)).toBeNull();
  });

  it("returns null without messages, or if a message names no sessions", () => {
    expect(namedSessions([{ type: "changed", sessions: null }], 20)).toBeNull();
    expect(namedSessions([], 20)).toBeNull();
  });
});

describe("mergeFleetPart", () => {
  const before = view([agent("a", 0.9), agent("b", 0.5), agent("b2", 0.4, "b"), agent("c", null)]);

  it("replaces the rows of its sessions and sorts by load", () => {
    const merged = mergeFleetPart(before, part([agent("b", 1.2), agent("b2", 0.4, "b")], 4), ["b"], 200);
    expect(ids(merged)).toEqual(["b", "a", "b2", "c"]);
    expect(merged).toMatchObject({ generated_at: NOW, more: 0 });
  });

  it("adds new agents and removes ended ones", () => {
    expect(ids(mergeFleetPart(before, part([agent("d", 0.7)], 5), ["d"], 200))).toEqual([
      "a",
      "d",
      "b",
      "b2",
      "c",
    ]);
    expect(ids(mergeFleetPart(before, part([], 2), ["b"], 200))).toEqual(["a", "c"]);
  });

  it("keeps the row objects of other sessions, so that React skips them", () => {
    const merged = mergeFleetPart(before, part([agent("a", 0.1)], 4), ["a"], 200);
    expect(merged?.agents.find(({ id }) => id === "c")).toBe(before.agents[3]);
  });

  it("returns null if more changed than the queried sessions", () => {
    // Another agent ended meanwhile.
    expect(mergeFleetPart(before, part([agent("b", 0.6), agent("b2", 0.4, "b")], 3), ["b"], 200)).toBeNull();
    expect(mergeFleetPart({ ...before, more: 3 }, part([], 5), ["b"], 200)).toBeNull();
    expect(mergeFleetPart(before, part([agent("d", 0.7)], 5), ["d"], 4)).toBeNull();
  });
});

describe("shareAgents", () => {
  const shared = (older: FleetView | undefined, newer: FleetView) => shareAgents(older, newer) as FleetView;
  const before = view([agent("a", 0.9), agent("b", 0.5), agent("c", null)]);

  it("keeps the objects of unchanged agents when the order changes", () => {
    const after = shared(before, view([agent("b", 0.95), agent("a", 0.9), agent("c", null)]));
    expect(after.agents[1]).toBe(before.agents[0]);
    expect(after.agents[2]).toBe(before.agents[2]);
    expect(after.agents[0]).toEqual(agent("b", 0.95));
  });

  it("says what the newer fleet says, whatever the older one was", () => {
    const anyAgents = fc.uniqueArray(
      fc.record({ id: fc.constantFrom("a", "b", "c", "__proto__"), load: fc.constantFrom(null, 0.5, 1) }),
      { selector: ({ id }) => id },
    );
    const fleetOf = (agents: { id: string; load: number | null }[]) =>
      view(agents.map(({ id, load }) => agent(id, load)));
    fc.assert(
      fc.property(fc.option(anyAgents, { nil: undefined }), anyAgents, (older, newer) => {
        const before = older && fleetOf(older);
        const after = shareAgents(before, fleetOf(newer));
        expect(after).toEqual(fleetOf(newer));
        expect(shareAgents(after, fleetOf(newer))).toBe(after);
      }),
    );
  });

  it("takes what a select made of a fleet as it is", () => {
    expect(shareAgents(undefined, false)).toBe(false);
    expect(shareAgents(true, null)).toBeNull();
    const ids = ["a", "b"];
    expect(shareAgents(ids, ["a", "b"])).toBe(ids);
    expect(shared(false as never, before)).toEqual(before);
  });

  it("takes two rows of one id from the newer fleet", () => {
    const twice = view([agent("a", 0.9), agent("a", 0.1)]);
    expect(shareAgents(twice, twice)).toEqual(twice);
  });
});
