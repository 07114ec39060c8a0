import { describe, expect, it } from "vitest";
import { foldEvents, json, levels, readAll } from "../testing/fold.ts";
import { kimiRecordings } from "./recordings.ts";

const START = Date.UTC(2026, 10, 25, 10, 4);
const PATH = "kimi-code/sessions/wd/session_287f/agents/main/wire.jsonl";

// As Kimi Code 2.1.0 writes them.
const time = (second: number) => START + second * 1_000;
const usage = (second: number, inputOther: number, usageScope = "turn") => ({
  type: "usage.record",
  agentId: "main",
  model: "scripted",
  usage: { inputOther, output: 3, inputCacheRead: 0, inputCacheCreation: 0 },
  usageScope,
  time: time(second),
});
const compaction = (second: number, source: string) => [
  { type: "full_compaction.begin", source, agentId: "main", time: time(second) },
  usage(second + 1, 90_000, "session"),
  {
    type: "context.apply_compaction",
    agentId: "main",
    tokensBefore: 90_003,
    tokensAfter: 20_693,
    time: time(second + 2),
  },
  { type: "full_compaction.complete", agentId: "main", time: time(second + 2) },
];
const appended = {
  message: {
    message: { role: "assistant", content: [{ type: "text", text: "Fine." }], toolCalls: [] },
    meta: { source: "llm", usage: { inputOther: 30_000, output: 3 } },
  },
  type: "agent.message.appended",
  time: time(2),
  kind: "event",
};
const context = { type: "context.append_message", message: { role: "user", content: [] }, time: time(1) };

const read = (...lines: object[]) =>
  readAll(kimiRecordings.reader({ harness: "kimi@host", titles: false }), [
    { path: PATH, lines: json(...lines) },
  ]);

describe("the recording of Kimi Code", () => {
  it("says who asked for each compaction", () => {
    const lines = [
      usage(1, 90_000),
      ...compaction(2, "manual"),
      usage(10, 20_000),
      ...compaction(12, "auto"),
      ...compaction(20, "manual"),
    ];
    for (const order of [lines, lines.toReversed()]) {
      const compacted = read(...order).events.filter((event) => event.type === "compacted");
      const triggers = compacted
        .sort((one, other) => Number(one.at) - Number(other.at))
        .map(({ trigger }) => trigger);
      expect(triggers).toEqual(["manual", "auto", "manual"]);
    }
  });

  it("has the levels of the turns around a compaction, not the counts of its messages", () => {
    const { events } = read(usage(1, 212_000), ...compaction(2, "auto"), usage(10, 36_023));
    const fold = foldEvents(events).get("session_287f main")!;
    expect([...fold.marks.values()]).toMatchObject([{ tokensBefore: 212_000, tokensAfter: 36_023 }]);
  });

  it("has messages without usage, which are no faulty calls", () => {
    const { events, skipped } = read(context, appended, usage(3, 30_000));
    expect(levels(foldEvents(events).get("session_287f main"))).toEqual([30_000]);
    expect(skipped).toEqual({ not_needed: 2 });
  });
});
