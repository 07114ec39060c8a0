import { expect, it } from "vitest";
import { readAll } from "../testing/fold.ts";
import { copilotRecordings } from "./recordings.ts";

// Found by the fuzzer: a list as a text visits each list in it.
it("reads a line whose type is a list in many lists", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const line = `{"type":${deep},"timestamp":"2026-11-20T10:00:00.000Z","data":{}}`;
  const file = { path: "copilot/session-state/c/events.jsonl", lines: [line] };
  const { skipped } = readAll(copilotRecordings.reader({ harness: "copilot@host", titles: true }), [file]);
  expect(skipped).toEqual({ not_needed: 1 });
});
