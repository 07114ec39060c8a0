import { describe, expect, it } from "vitest";
import { bindCaller, type Evidence } from "./bind-caller.ts";

const evidence: Evidence = { argument: undefined, proof: undefined, found: [], writtenLast: undefined };
const call = { kind: "call", id: "toolu_1" } as const;
const thread = { kind: "session", id: "t-1" } as const;

describe("the recording that a call is from", () => {
  it.each<[string, Partial<Evidence>, ReturnType<typeof bindCaller>]>([
    ["has the id of the call", { proof: call, found: ["a"] }, { recording: "a", by: "call" }],
    [
      "is that of the session in the call",
      { proof: thread, found: ["a"] },
      { recording: "a", by: "session" },
    ],
    ["is the one that a person named", { argument: "s", found: ["a"] }, { recording: "a", by: "argument" }],
    [
      "has the mark, if it was written last",
      { found: ["a"], writtenLast: "a" },
      { recording: "a", by: "mark" },
    ],
    ["is not the newest one", { writtenLast: "a" }, { refused: "call_again" }],
    [
      "is not one with the mark of before a /clear",
      { found: ["a"], writtenLast: "b" },
      { refused: "call_again" },
    ],
    [
      "is not one of several with the id",
      { proof: call, found: ["a", "b"] },
      { refused: "several_sessions" },
    ],
    [
      "is not one of several with the mark",
      { found: ["a", "b"], writtenLast: "a" },
      { refused: "several_sessions" },
    ],
    ["is not on this machine", { proof: thread }, { refused: "not_recorded" }],
    ["is not written yet", { proof: call, writtenLast: "a" }, { refused: "not_recorded" }],
    [
      "is not that of another session than the named one",
      { argument: "s", proof: thread, found: ["a"] },
      { refused: "other_session" },
    ],
    [
      "is that of the named session",
      { argument: "t-1", proof: thread, found: ["a"] },
      { recording: "a", by: "argument" },
    ],
  ])("%s", (_, given, expected) => {
    expect(bindCaller({ ...evidence, ...given })).toEqual(expected);
  });
});
