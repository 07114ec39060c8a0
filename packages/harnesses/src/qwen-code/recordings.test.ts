import { expect, it } from "vitest";
import { foldEvents, json, readAll } from "../testing/fold.ts";
import { qwenCodeRecordings } from "./recordings.ts";

// As Qwen Code 0.21 writes them.
const line = (second: number, type: string, more: object) => ({
  ...{ uuid: `q-${second}`, parentUuid: null, sessionId: "qwen-1", type, cwd: "/w", version: "0.21.0" },
  timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  ...more,
});
const answer = (second: number, promptTokenCount: number) =>
  line(second, "assistant", {
    model: "qwen3-coder-plus",
    message: { role: "model", parts: [] },
    usageMetadata: { promptTokenCount },
  });

it("explains a fall after a person took prompts back", () => {
  const rewind = line(3, "system", { subtype: "rewind", systemPayload: { truncatedCount: 4 } });
  const lines = [answer(1, 20_000), answer(2, 90_000), rewind, answer(5, 22_000)];
  for (const order of [lines, lines.toReversed()]) {
    const files = [{ path: "qwen/chats/qwen-1.jsonl", lines: json(...order) }];
    const { events } = readAll(
      qwenCodeRecordings.reader({ harness: "qwen-code@host", titles: false }),
      files,
    );
    const fold = foldEvents(events).get("qwen-1 main")!;
    expect([...fold.marks.values()]).toMatchObject([
      { type: "masked", tokensBefore: 90_000, tokensAfter: 22_000 },
    ]);
    expect(fold.inferred.size).toBe(0);
    expect(events.find(({ type }) => type === "masked")).toMatchObject({ observations: 4 });
  }
});
