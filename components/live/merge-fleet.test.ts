import type { FleetAgent, FleetPart, FleetView } from "@plimsoll/protocol";
import { describe, expect, it } from "vitest";
import { mergeFleetPart, namedSessions } from "./merge-fleet.ts";

const agent = (id: string, load: number | null, session = id) =>
  ({ id, session_id: session, load }) as FleetAgent;
const view = (agents: FleetAgent[], more = 0): FleetView => ({ generated_at: "before", agents, more });
const part = (agents: FleetAgent[], live: number): FleetPart => ({ generated_at: "now", agents, live });
const ids = (merged: FleetView | null) => merged?.agents.map(({ id }) => id);

describe("the sessions named", () => {
  it("are each named once", () => {
    const messages = [["a", "b"], ["b"]].map((sessions) => ({ type: "changed" as const, sessions }));
    expect(namedSessions(messages, 2)).toEqual(["a", "b"]);
    expect(namedSessions(messages, 1)).toBeNull();
  });

  it("are none when a message does not say, or there is no message", () => {
    expect(namedSessions([{ type: "changed", sessions: null }], 20)).toBeNull();
    expect(namedSessions([], 20)).toBeNull();
  });
});

describe("a part of the fleet", () => {
  const before = view([agent("a", 0.9), agent("b", 0.5), agent("b2", 0.4, "b"), agent("c", null)]);

  it("takes the place of its sessions' rows, in order of load", () => {
    const merged = mergeFleetPart(before, part([agent("b", 1.2), agent("b2", 0.4, "b")], 4), ["b"], 200);
    expect(ids(merged)).toEqual(["b", "a", "b2", "c"]);
    expect(merged).toMatchObject({ generated_at: "now", more: 0 });
  });

  it("brings new agents and takes those away that are gone", () => {
    expect(ids(mergeFleetPart(before, part([agent("d", 0.7)], 5), ["d"], 200))).toEqual([
      "a",
      "d",
      "b",
      "b2",
      "c",
    ]);
    expect(ids(mergeFleetPart(before, part([], 2), ["b"], 200))).toEqual(["a", "c"]);
  });

  it("keeps the row objects of other sessions, so that they are not drawn again", () => {
    const merged = mergeFleetPart(before, part([agent("a", 0.1)], 4), ["a"], 200);
    expect(merged?.agents.find(({ id }) => id === "c")).toBe(before.agents[3]);
  });

  it("does not do when more changed than was asked for", () => {
    // Somebody fell silent meanwhile.
    expect(mergeFleetPart(before, part([agent("b", 0.6), agent("b2", 0.4, "b")], 3), ["b"], 200)).toBeNull();
    expect(mergeFleetPart({ ...before, more: 3 }, part([], 5), ["b"], 200)).toBeNull();
    expect(mergeFleetPart(before, part([agent("d", 0.7)], 5), ["d"], 4)).toBeNull();
  });
});
