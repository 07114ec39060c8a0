import { describe, expect, it } from "vitest";
import { importedEnds } from "./session-ends.ts";

const base = { harness: "h", session: "s" } as const;
const turn = (at: number) =>
  ({ ...base, id: `t${at}`, type: "turn", at, model: "m", usage: { input_tokens: 1 } }) as const;
const ended = (at: number) => ({ ...base, id: "done", type: "session", status: "ended", at }) as const;

describe("importedEnds", () => {
  it("is later than all other events, also in a session with a single time", () => {
    const started = { ...base, id: "started", type: "session", status: "started", at: 5 } as const;
    expect(importedEnds([started, turn(5)])).toEqual([
      { ...base, id: "imported/5", type: "session", status: "ended", reason: "imported", at: 6 },
    ]);
  });

  it("does not end a session that its recording ends, unless the session continued", () => {
    expect(importedEnds([turn(5), ended(6)])).toEqual([]);
    expect(importedEnds([turn(5), ended(6), turn(9)])).toMatchObject([{ at: 10 }]);
  });

  it("leaves a session with recent events open", () => {
    expect(importedEnds([turn(50)], 40)).toEqual([]);
    expect(importedEnds([turn(30)], 40)).toHaveLength(1);
  });
});
