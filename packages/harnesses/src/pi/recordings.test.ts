import { describe, expect, it } from "vitest";
import { foldEvents, json, readAll } from "../testing/fold.ts";
import { piRecordings } from "./recordings.ts";

const entry = (second: number, id: string, parentId: string | null, more: object) => ({
  ...{ id, parentId, timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString() },
  ...more,
});
const prompt = (second: number, id: string, parent: string | null) =>
  entry(second, id, parent, { type: "message", message: { role: "user", content: "Go on" } });
const answer = (second: number, id: string, parent: string, input: number) =>
  entry(second, id, parent, {
    type: "message",
    message: { role: "assistant", model: "gpt-5.5", content: [], usage: { input, output: 5 } },
  });
const start = { ...entry(0, "pi-1", null, { type: "session" }), parentId: undefined };
const begin = [
  start,
  prompt(1, "u1", null),
  answer(2, "a1", "u1", 20_000),
  prompt(3, "u2", "a1"),
  answer(4, "a2", "u2", 90_000),
];

function foldOf(lines: readonly object[]) {
  const files = [{ path: "sessions/pi-1.jsonl", lines: json(...lines) }];
  const { events } = readAll(piRecordings.reader({ harness: "pi@host", titles: false }), files);
  return foldEvents(events).get("pi-1 main")!;
}

describe("a person who goes on from an earlier entry of pi", () => {
  it("leaves what came after it", () => {
    const lines = [...begin, prompt(8, "u3", "a1"), answer(9, "a3", "u3", 21_000)];
    for (const order of [lines, lines.toReversed()]) {
      const fold = foldOf(order);
      expect([...fold.marks.values()]).toMatchObject([
        { type: "masked", tokensBefore: 90_000, tokensAfter: 21_000 },
      ]);
      expect(fold.inferred.size).toBe(0);
    }
  });

  it("leaves nothing twice if a summary has what came after it", () => {
    const summary = entry(7, "s1", "a1", { type: "branch_summary", fromId: "a2", summary: "Tried it." });
    const fold = foldOf([...begin, summary, prompt(8, "u3", "s1"), answer(9, "a3", "u3", 22_000)]);
    expect([...fold.marks.values()]).toMatchObject([{ type: "compacted" }]);
  });

  it.each([
    ["went on from the latest call", [prompt(8, "u3", "a2"), answer(9, "a3", "u3", 95_000)]],
    ["has entries without a parent", [prompt(8, "u3", null), answer(9, "a3", "u3", 95_000)]],
    ["has an entry whose parent is missing", [prompt(8, "u3", "gone"), answer(9, "a3", "u3", 95_000)]],
  ])("is not assumed of a session that %s", (_, more) => {
    expect(foldOf([...begin, ...more]).marks.size).toBe(0);
  });
});
