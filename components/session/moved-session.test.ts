import { describe, expect, it } from "vitest";
import { movedHref, movedSession } from "./moved-session.ts";

describe("a link to a session that is a sub-agent", () => {
  const moved = { session_id: "p", agent_id: "a" };

  it("keeps its turn, its zoom and its project, and names the agent", () => {
    const search = new URLSearchParams("turn=7&agent=old&project=2");
    expect(movedHref(moved, search)).toBe("/sessions/p?turn=7&agent=a&project=2");
    expect(movedHref(moved, new URLSearchParams())).toBe("/sessions/p?agent=a");
  });

  it.each([
    ["of another kind", { data: { error: { code: "internal", details: moved } } }, undefined],
    ["of a session that is nowhere", { data: { error: { code: "not_found" } } }, undefined],
    ["without an answer", new Error("offline"), undefined],
    ["that does not exist", null, undefined],
    ["that names the agent", { data: { error: { code: "not_found", details: moved } } }, moved],
  ])("reads an error %s", (_, error, expected) => expect(movedSession(error)).toEqual(expected));
});
