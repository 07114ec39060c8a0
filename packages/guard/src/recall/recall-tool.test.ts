import { expect, it } from "vitest";
import { OUROBOROS, readingFiles, testGuard } from "../testing/test-guard.ts";
import { recallTool } from "./recall-tool.ts";

it("returns the whole text of every masked result by the key in its placeholder", () => {
  const store = new Map<string, string>();
  const { guard } = testGuard({
    policy: { ...OUROBOROS, restart: null },
    store: { put: (key, text) => void store.set(key, text), get: (key) => store.get(key) },
  });
  const history = readingFiles(8, 950);
  const { messages } = guard.prepare(history);
  const recall = recallTool(guard);
  const keys = messages.flatMap(({ content }, index) => {
    const key = /; recall key (\S+)\]$/.exec(content)?.[1];
    return key === undefined ? [] : [{ key, whole: history[index]!.content }];
  });
  expect(keys.length).toBeGreaterThan(1);
  for (const { key, whole } of keys) expect(recall.execute({ key })).toBe(whole);
});

it("says what to do for a key that nothing is stored under", () => {
  const recall = recallTool(testGuard().guard);
  expect(recall.execute({ key: "call_9" })).toContain("Run the tool again");
});

it("is not offered in placeholders without a store", () => {
  const { guard } = testGuard({ policy: { ...OUROBOROS, restart: null } });
  const { messages } = guard.prepare(readingFiles(8, 950));
  expect(JSON.stringify(messages)).not.toContain("recall key");
});
