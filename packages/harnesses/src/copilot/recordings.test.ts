import { expect, it } from "vitest";
import { foldEvents, json, readAll } from "../testing/fold.ts";
import { copilotRecordings } from "./recordings.ts";

// Found by the fuzzer: a list as a text visits each list in it.
it("reads a line whose type is a list in many lists", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const line = `{"type":${deep},"timestamp":"2026-11-20T10:00:00.000Z","data":{}}`;
  const file = { path: "copilot/session-state/c/events.jsonl", lines: [line] };
  const { skipped } = readAll(copilotRecordings.reader({ harness: "copilot@host", titles: true }), [file]);
  expect(skipped).toEqual({ not_needed: 1 });
});

// Seen from 1.0.102: it estimates the context for itself, whatever the provider counts.
it.each([
  ["calls that are counted give a compaction its levels", true, "117000 -> 24000"],
  ["without counted calls, a compaction has the estimates of the harness", false, "10624 -> 10574"],
])("%s", (_, isCounted, levels) => {
  const event = (second: number, type: string, data: object) => ({
    ...{ type, data, id: `e${second}`, parentId: null },
    timestamp: new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString(),
  });
  const call = (second: number, inputTokens: number) =>
    isCounted
      ? event(second, "session.usage_record", {
          usage: { inputTokens, outputTokens: 20, apiCallId: `c${second}` },
        })
      : event(second, "assistant.message", { messageId: `m${second}`, outputTokens: 20 });
  const lines = json(
    call(1, 60_000),
    call(2, 117_000),
    event(3, "session.compaction_complete", {
      success: true,
      preCompactionTokens: 10_624,
      postCompactionTokens: 10_574,
      tokenAccountingBasis: "local_full_context_estimate",
    }),
    call(4, 24_000),
  );
  const file = { path: "copilot/session-state/c/events.jsonl", lines };
  const { events } = readAll(copilotRecordings.reader({ harness: "copilot@host", titles: true }), [file]);
  const [fold] = foldEvents(events).values();
  expect([...fold!.marks.values()].map((one) => `${one.tokensBefore} -> ${one.tokensAfter}`)).toEqual([
    levels,
  ]);
});
