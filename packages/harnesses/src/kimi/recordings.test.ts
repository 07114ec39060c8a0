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
    const beside = usage(12, 900, "session");
    const { events } = read(usage(1, 212_000), ...compaction(2, "auto"), usage(10, 36_023), beside);
    const fold = foldEvents(events).get("session_287f main")!;
    expect([...fold.marks.values()]).toMatchObject([{ tokensBefore: 212_000, tokensAfter: 36_023 }]);
    // The request of the summary is a call without a level, and one that belongs to nothing is left out.
    const calls = fold.turns.map(({ contextTokens, turn }) => [contextTokens, turn.compaction]);
    expect(calls).toEqual([
      [212_000, false],
      [90_000, true],
      [36_023, false],
    ]);
  });

  it.each<[string, object, object]>([
    ["/clear", { type: "context.clear" }, { type: "cleared" }],
    ["/undo", { type: "context.undo", count: 2 }, { type: "masked" }],
    [
      "old results of tools were left out",
      { type: "micro_compaction.apply", cutoff: 40 },
      { type: "masked" },
    ],
  ])("explains a fall after %s", (_, record, mark) => {
    const { events } = read(usage(1, 90_000), { ...record, time: time(5) }, usage(10, 20_000));
    const fold = foldEvents(events).get("session_287f main")!;
    expect([...fold.marks.values()]).toMatchObject([{ ...mark, tokensBefore: 90_000, tokensAfter: 20_000 }]);
    expect(fold.inferred.size).toBe(0);
  });

  it("leaves what a fork copied without the falls of its parent", () => {
    const undone = { type: "context.undo", count: 1, time: time(5) };
    const forked = { type: "forked", time: time(20) };
    const { events } = read(usage(1, 90_000), undone, usage(10, 20_000), forked, usage(30, 21_000));
    const fold = foldEvents(events).get("session_287f main")!;
    expect(levels(fold)).toEqual([21_000]);
    expect(fold.marks.size).toBe(0);
  });

  it("has messages without usage, which are no faulty calls", () => {
    const { events, skipped } = read(context, appended, usage(3, 30_000));
    expect(levels(foldEvents(events).get("session_287f main"))).toEqual([30_000]);
    expect(skipped).toEqual({ not_needed: 2 });
  });
});

describe("a fork, which begins with the lines of its parent", () => {
  // As Kimi CLI 1.49 writes them.
  const status = (second: number, tokens: number) => ({
    timestamp: time(second) / 1_000,
    message: {
      type: "StatusUpdate",
      payload: {
        token_usage: { input_other: tokens, output: 3, input_cache_read: 0, input_cache_creation: 0 },
        message_id: `chatcmpl-${second}`,
      },
    },
  });
  const levelsIn = (files: Record<string, object[]>) => {
    const recordings = Object.entries(files).map(([path, lines]) => ({ path, lines: json(...lines) }));
    const folds = [recordings, recordings.toReversed()].map((order) =>
      foldEvents(readAll(kimiRecordings.reader({ harness: "kimi@host", titles: false }), order).events),
    );
    const [found, other] = folds.map((all) =>
      Object.fromEntries([...all].map(([agent, fold]) => [agent, levels(fold)])),
    );
    expect(other).toEqual(found);
    return found;
  };

  it("has only its own calls in Kimi CLI, also after several forks and an undo", () => {
    const common = [status(1, 10_000), status(2, 20_000)];
    const files = {
      "kimi/sessions/0a/parent/wire.jsonl": [...common, status(3, 30_000)],
      "kimi/sessions/0a/fork/wire.jsonl": [...common, status(10, 22_000)],
      "kimi/sessions/0a/second/wire.jsonl": [...common, status(10, 22_000), status(20, 24_000)],
      "kimi/sessions/0a/unused/wire.jsonl": [...common, status(3, 30_000)],
    };
    expect(levelsIn(files)).toEqual({
      "parent main": [10_000, 20_000, 30_000],
      "fork main": [22_000],
      "second main": [24_000],
    });
  });

  it("has only its own calls in Kimi Code, of every agent, also if its parent went on", () => {
    const first = usage(1, 10_000);
    const forked = (second: number) => ({ type: "forked", time: time(second) });
    const agent = (second: number) => usage(second, 5_000);
    const files = {
      "s/parent/agents/main/wire.jsonl": [first, usage(2, 20_000), usage(30, 40_000)],
      "s/parent/agents/agent-0/wire.jsonl": [agent(1)],
      "s/fork/agents/main/wire.jsonl": [first, usage(2, 20_000), forked(10), usage(11, 21_000)],
      "s/fork/agents/agent-0/wire.jsonl": [agent(1), forked(10), agent(12)],
      "s/second/agents/main/wire.jsonl": [
        first,
        forked(10),
        usage(11, 21_000),
        forked(20),
        usage(21, 23_000),
      ],
    };
    expect(levelsIn(files)).toEqual({
      "parent main": [10_000, 20_000, 40_000],
      "parent agent-agent-0": [5_000],
      "fork main": [21_000],
      "fork agent-agent-0": [5_000],
      "second main": [23_000],
    });
  });

  it("is followed without a call of its parent, which was read before", () => {
    const reader = kimiRecordings.reader({ harness: "kimi@host", titles: false });
    const parent = { path: "kimi/sessions/0a/parent/wire.jsonl" };
    const fork = { path: "kimi/sessions/0a/fork/wire.jsonl" };
    const turns = () => reader.take(false).events.filter(({ type }) => type === "turn");
    for (const line of json(status(1, 10_000), status(5, 30_000))) reader.read(line, parent);
    expect(turns()).toHaveLength(2);
    for (const line of json(status(1, 10_000))) reader.read(line, fork);
    expect(turns()).toEqual([]);
    for (const line of json(status(9, 12_000))) reader.read(line, fork);
    expect(turns()).toMatchObject([{ session: "fork", usage: { input_tokens: 12_000 } }]);
  });
});
