import { describe, expect, test } from "vitest";
import type { MarkFacts } from "./mark.ts";
import { mark, turn } from "./testing/agent-history.ts";
import { arrange } from "./timeline.ts";
import type { TurnFacts } from "./turn.ts";

/** `name@window`, in order. */
const order = (turns: TurnFacts[], marks: MarkFacts[] = []) =>
  arrange(turns, marks)
    .items.map((item) => `${item.turn?.key ?? item.mark?.id}@${item.window}`)
    .join(" ");

describe("turns sort", () => {
  test("by sequence before time: a late clock does not move them", () => {
    expect(order([turn("b", 10, 1, { seq: 2 }), turn("a", 20, 1, { seq: 1 })])).toBe("a@0 b@0");
  });
  test("by time where no sequence is given, and by key at the same time", () => {
    expect(order([turn("c", 5, 1), turn("b", 5, 1), turn("a", 9, 1)])).toBe("b@0 c@0 a@0");
  });
  test("by window before all else", () => {
    expect(
      order([turn("b", 1, 1, { sentWindow: 1, seq: 1 }), turn("a", 9, 1, { sentWindow: 0, seq: 9 })]),
    ).toBe("a@0 b@1");
  });
});

describe("a turn without a sequence number", () => {
  const numbered = (key: string, at: number, seq: number, sentWindow?: number) =>
    turn(key, at, 1, { seq, sentWindow });
  const plain = (key: string, at: number, sentWindow?: number) => turn(key, at, 1, { sentWindow });

  test.each<[string, TurnFacts[], string]>([
    ["precedes every number when it is the earliest", [numbered("a", 2, 1), plain("x", 1)], "x@0 a@0"],
    [
      "follows the numbers of its time",
      [numbered("a", 1, 1), numbered("b", 3, 2), plain("x", 2)],
      "a@0 x@0 b@0",
    ],
    ["follows the number of the very same time by its key", [numbered("a", 2, 1), plain("x", 2)], "a@0 x@0"],
    [
      "takes the highest number so far, not the latest",
      [numbered("a", 1, 5), numbered("b", 2, 3), plain("x", 3), numbered("c", 4, 4)],
      "b@0 c@0 a@0 x@0",
    ],
    [
      "does not look at another window",
      [numbered("a", 1, 9, 0), plain("x", 2, 1), numbered("b", 3, 1, 1)],
      "a@0 x@1 b@1",
    ],
    [
      "keeps to time among others like it",
      [plain("y", 3), plain("x", 2), numbered("a", 1, 1)],
      "a@0 x@0 y@0",
    ],
  ])("%s", (_, turns, expected) => {
    expect(order(turns)).toBe(expected);
    expect(order([...turns].reverse())).toBe(expected);
  });
  test("continues a stored window from its highest number", () => {
    const { numbering } = arrange([numbered("a", 1, 7)], []);
    expect(numbering.sequence).toEqual({ window: 0, top: 7, unnumberedAt: undefined });
    const { items } = arrange([plain("x", 2)], [], numbering);
    expect(items[0]).toMatchObject({ seq: 7, window: 0 });
  });
});

describe("a window without an index", () => {
  test.each(["restarted", "subtick", "cleared"] as const)("is opened by %s", (type) => {
    expect(order([turn("a", 1, 1), turn("b", 3, 1)], [mark("x", 2, type)])).toBe("a@0 x@0 b@1");
  });
  test.each([
    "masked",
    "compacted",
    "wind_down",
    "output_cut",
    "checkpoint",
    "reinjected",
    "prompt_refused",
    "withheld",
    "phase",
    "session",
    "harness",
  ] as const)("is not opened by %s", (type) => {
    expect(order([turn("a", 1, 1), turn("b", 3, 1)], [mark("x", 2, type)])).toBe("a@0 x@0 b@0");
  });
  test("is not opened for a turn of the very same time", () => {
    expect(order([turn("a", 2, 1)], [mark("x", 2, "restarted")])).toBe("a@0 x@0");
  });
  test("follows the index of the latest turn that gave one", () => {
    expect(
      order(
        [turn("a", 1, 1, { sentWindow: 5 }), turn("b", 3, 1), turn("c", 5, 1)],
        [mark("m", 2, "masked"), mark("r", 4, "restarted"), mark("n", 6, "masked")],
      ),
    ).toBe("a@5 m@5 b@5 r@5 c@6 n@6");
  });
  test("follows a harness that starts again at 0 after each restart it reports", () => {
    expect(
      order(
        [turn("a", 1, 1, { sentWindow: 0 }), turn("b", 3, 1, { sentWindow: 1 })],
        [mark("r", 2, "restarted"), mark("m", 4, "masked")],
      ),
    ).toBe("a@0 r@0 b@1 m@1");
  });
});

describe("a mark sorts", () => {
  test("after the turn of the very same time", () => {
    expect(order([turn("a", 2, 1), turn("b", 3, 1)], [mark("m", 2, "masked")])).toBe("a@0 m@0 b@0");
  });
  test("after the turns of its own window, however their clocks differ", () => {
    expect(order([turn("a", 9, 1, { sentWindow: 1 })], [mark("r", 10, "restarted", { sentWindow: 0 })])).toBe(
      "r@0 a@1",
    );
  });
  test("between the numbered turns of its machine, if another machine's clock is ahead", () => {
    const turns = [
      turn("a1", 100, 1, { seq: 1 }),
      turn("b2", 500, 1, { seq: 2 }),
      turn("a3", 200, 1, { seq: 3 }),
      turn("a4", 300, 1, { seq: 4 }),
    ];
    expect(order(turns, [mark("m", 250, "compacted")])).toBe("a1@0 b2@0 a3@0 m@0 a4@0");
    expect(order(turns.toReversed(), [mark("m", 250, "compacted")])).toBe("a1@0 b2@0 a3@0 m@0 a4@0");
    expect(order(turns, [mark("m", 50, "compacted")])).toBe("m@0 a1@0 b2@0 a3@0 a4@0");
  });
  test("by its id among marks of the same time", () => {
    expect(order([], [mark("b", 1, "masked"), mark("a", 1, "masked")])).toBe("a@0 b@0");
  });
});
