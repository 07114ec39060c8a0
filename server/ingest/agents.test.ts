import { EMPTY_STATE } from "@plimsoll/protocol";
import { describe, expect, it } from "vitest";
import { AgentMemory, EMPTY_TALLY, type KnownAgent } from "./agents.ts";

const agent = (version: number): KnownAgent => ({ state: EMPTY_STATE, tally: EMPTY_TALLY, version });

describe("what a server remembers of agents", () => {
  it("is the latest it heard of, in whatever order it heard", () => {
    const memory = new AgentMemory();
    memory.keep("a", agent(4));
    memory.keep("a", agent(3));
    expect(memory.get("a")?.version).toBe(4);
  });

  it("is nothing of those that another server writes as well", () => {
    const memory = new AgentMemory();
    memory.keep("a", agent(4));
    memory.forget(["a", "b"]);
    memory.contest(["a", "b"]);
    memory.keep("a", agent(6));
    memory.keep("c", agent(1));
    expect(["a", "b", "c"].map((id) => memory.get(id)?.version)).toEqual([undefined, undefined, 1]);
  });

  it("moves while a batch under way writes one of them", () => {
    const memory = new AgentMemory();
    memory.begin(["a", "b"]);
    memory.begin(["b"]);
    memory.end(["a", "b"]);
    expect([memory.moving(["a"]), memory.moving(["c", "b"])]).toEqual([false, true]);
    memory.end(["b"]);
    expect(memory.moving(["b"])).toBe(false);
  });
});
