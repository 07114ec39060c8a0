import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claudeCodeRecordings } from "../claude-code/recordings.ts";
import { codexRecordings } from "../codex/recordings.ts";
import { foldEvents, levels, readAll } from "../testing/fold.ts";

/** `example_sessions` of github.com/uw-syfi/TraceLab at 0b8a262: two sessions, and what its authors read from each call of them. */
const FOLDER = process.env.VITEST_PLIMSOLL_TRACELAB;

interface Round {
  provider: string;
  input_tokens_total: number;
}

const linesOf = (path: string) => readFileSync(join(FOLDER!, path), "utf8").split("\n");

/** The records of a session, which are indented there, as the lines that a harness writes. */
function recordingOf(path: string): string[] {
  const records = linesOf(path).filter((line) => !line.startsWith("#"));
  return records
    .join("\n")
    .split(/^=====.*$/m)
    .filter((record) => record.trim() !== "")
    .map((record) => JSON.stringify(JSON.parse(record)));
}

describe.skipIf(FOLDER === undefined)("public sessions, if VITEST_PLIMSOLL_TRACELAB is set", () => {
  it.each([
    ["claude", claudeCodeRecordings, 10],
    ["codex", codexRecordings, 9],
  ] as const)("has the levels of %s that others read from the same recording", (name, { reader }, calls) => {
    const rounds = linesOf("derived/round_trace.jsonl")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Round)
      .filter(({ provider }) => provider === name);
    const recording = { path: `${name}.jsonl`, lines: recordingOf(`${name}/trace.json`) };
    const { events } = readAll(reader({ harness: `${name}@host`, titles: false }), [recording]);
    const [result] = foldEvents(events).values();
    expect(rounds).toHaveLength(calls);
    expect(levels(result!)).toEqual(rounds.map(({ input_tokens_total: tokens }) => tokens));
  });
});
