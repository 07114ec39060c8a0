import { expect, it } from "vitest";
import { json, readAll } from "../testing/fold.ts";
import { qwenCodeRecordings } from "./recordings.ts";

const call = (second: number, tokens: number, more: object) => ({
  uuid: `u-${second}`,
  sessionId: "s-1",
  timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  type: "assistant",
  contextWindowSize: 131_072,
  message: { role: "model", parts: [{ text: "done" }] },
  usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 5, totalTokenCount: tokens + 5 },
  ...more,
});
const side = { isSidechain: true, agentId: "a1" };

it("gives a sub-agent the model of the main agent at the time, if both have the same window", () => {
  const { events } = readAll(qwenCodeRecordings.reader({ harness: "qwen-code@h", titles: true }), [
    {
      path: "chats/s-1.jsonl",
      lines: json(call(1, 100, side), call(2, 200, { model: "one" }), call(4, 400, { model: "two" })),
    },
    {
      path: "subagents/s-1/agent-a1.jsonl",
      lines: json(
        call(3, 300, side),
        call(5, 500, { ...side, model: "own" }),
        call(6, 600, side),
        call(7, 700, { ...side, contextWindowSize: 1_000_000 }),
        call(8, 800, { ...side, contextWindowSize: undefined }),
      ),
    },
  ]);
  const models = events.flatMap((event) =>
    event.type === "turn" && event.agent !== undefined ? [[event.usage?.input_tokens, event.model]] : [],
  );
  expect(models.sort()).toEqual([
    [100, "one"],
    [300, "one"],
    [500, "own"],
    [600, "two"],
    [700, "unknown"],
    [800, "unknown"],
  ]);
});
