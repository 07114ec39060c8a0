import { parseEvent, type TurnEvent } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { provenanceOf } from "../witnesses/witness.ts";
import { anyReport, turn } from "./testing/agent-history.ts";
import { mergeTurns, type TurnFacts, turnFacts } from "./turn.ts";
import { contextTokens } from "./usage.ts";

/** Facts as storage gives them back. */
const plain = (facts: TurnFacts) => JSON.parse(JSON.stringify(facts));

describe("merging reports of one turn", () => {
  test("does not depend on their order", () => {
    fc.assert(
      fc.property(anyReport, anyReport, (a, b) => {
        expect(plain(mergeTurns(a, b))).toEqual(plain(mergeTurns(b, a)));
      }),
    );
  });
  test("does not depend on how three are grouped", () => {
    fc.assert(
      fc.property(anyReport, anyReport, anyReport, (a, b, c) => {
        expect(plain(mergeTurns(mergeTurns(a, b), c))).toEqual(plain(mergeTurns(a, mergeTurns(b, c))));
      }),
      { numRuns: 1_000 },
    );
  });
  test("changes nothing when a report is repeated", () => {
    fc.assert(
      fc.property(anyReport, anyReport, (a, b) => {
        expect(plain(mergeTurns(a, a))).toEqual(plain(a));
        expect(plain(mergeTurns(mergeTurns(a, b), b))).toEqual(plain(mergeTurns(a, b)));
      }),
    );
  });

  test("keeps the first time, the largest counts and the growing output", () => {
    const started = turn("t", 100, 9_000, { usage: { ...turn("t", 0, 9_000).usage, output_tokens: 5 } });
    const ended = turn("t", 160, 9_000, { usage: { ...turn("t", 0, 9_000).usage, output_tokens: 90 } });
    expect(mergeTurns(ended, started)).toMatchObject({
      at: 100,
      usage: { input_tokens: 9_000, output_tokens: 90 },
    });
  });
  test("a prompt that a recording shows twice is one of both, and never fields of two", () => {
    const usage = { ...turn("t", 0, 0).usage, basis: "exclusive" as const };
    const report = (witness: "transcript" | "harness", input: number, read: number, write: number) =>
      turn("t", 1, 0, {
        usage: { ...usage, input_tokens: input, cache_read_tokens: read, cache_write_tokens: write },
        provenance: provenanceOf(witness),
      });
    const context = (witness: "transcript" | "harness") =>
      contextTokens(mergeTurns(report(witness, 3, 150_000, 2_000), report(witness, 5, 0, 152_500)).usage);
    expect(context("transcript")).toBe(152_505);
    // A harness may send a prompt in parts.
    expect(context("harness")).toBe(302_505);
  });
  test("a measured prompt replaces an estimate, even a larger one, and stays", () => {
    const estimate = turn("t", 1, 1_300, { estimated: true });
    const measured = turn("t", 2, 900);
    for (const merged of [mergeTurns(estimate, measured), mergeTurns(measured, estimate)]) {
      expect(merged).toMatchObject({ estimated: false, usage: { input_tokens: 900 } });
      expect(mergeTurns(merged, estimate)).toMatchObject({ estimated: false, usage: { input_tokens: 900 } });
    }
  });
  test("a report that counts only the output does not wipe an estimated prompt", () => {
    const estimate = turn("t", 1, 1_300, { estimated: true });
    const output = turn("t", 2, undefined, {
      usage: { ...turn("t", 0, undefined).usage, output_tokens: 90 },
    });
    const merged = mergeTurns(estimate, output);
    expect(merged).toMatchObject({ estimated: true, usage: { input_tokens: 1_300, output_tokens: 90 } });
    expect(mergeTurns(merged, turn("t", 3, 900))).toMatchObject({
      estimated: false,
      usage: { input_tokens: 900, output_tokens: 90 },
    });
  });
  test("a missing count does not become zero", () => {
    const merged = mergeTurns(turn("t", 1, undefined), turn("t", 2, undefined));
    expect(merged.usage.input_tokens).toBeUndefined();
  });
  test("composition merges part by part", () => {
    const parts = (fields: object) => ({ composition: fields as TurnFacts["composition"] });
    expect(
      mergeTurns(
        turn("t", 1, 1, parts({ system: 10, tools: 3 })),
        turn("t", 1, 1, parts({ tools: 5, memory: 2 })),
      ).composition,
    ).toEqual({
      system: 10,
      tools: 5,
      memory: 2,
      history: undefined,
      tool_output: undefined,
      other: undefined,
    });
  });
});

test("a turn event becomes facts under the protocol's meaning", () => {
  const parsed = parseEvent({
    id: "msg_1",
    type: "turn",
    at: "2026-11-20T10:00:00Z",
    harness: "h",
    session: "s",
    model: "m",
    seq: 4,
    window: 2,
    usage: { input_tokens: 7 },
    context_window: 1_000,
    purpose: "compaction",
    duration_ms: 12.4,
    cost_usd: 0.25,
  });
  if (!parsed.ok) throw new Error(parsed.rejection.message);
  expect(turnFacts(parsed.event as TurnEvent, "k")).toMatchObject({
    key: "k",
    at: Date.UTC(2026, 10, 20, 10),
    seq: 4,
    sentWindow: 2,
    sentLimit: 1_000,
    compaction: true,
    estimated: false,
    durationMs: 12,
    costUsd: 0.25,
  });
});
