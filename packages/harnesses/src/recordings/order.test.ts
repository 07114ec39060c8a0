import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Format } from "../recordings.ts";
import { createReader } from "../recordings.ts";
import { foldEvents } from "../testing/fold.ts";

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, 0) + second * 1_000).toISOString();

const S = "11111111-1111-4111-8111-111111111111";
const said = (second: number, id: string, input: number, more: object = {}) => ({
  type: "assistant",
  uuid: `${id}-${second}`,
  sessionId: S,
  isSidechain: false,
  timestamp: at(second),
  message: { id, model: "claude-opus-5", usage: { input_tokens: input, output_tokens: second } },
  ...more,
});
const side = { isSidechain: true, agentId: "a1" };
const compacted = (second: number, uuid: string) => ({
  type: "system",
  subtype: "compact_boundary",
  uuid,
  sessionId: S,
  timestamp: at(second),
  compactMetadata: { trigger: "auto", preTokens: 90_100 },
});
const cleared = (second: number) => ({
  type: "user",
  uuid: `clear-${second}`,
  sessionId: S,
  timestamp: at(second),
  message: { content: "<command-name>/clear</command-name>" },
});

const A = "019a0000-0000-7000-8000-00000000000a";
const B = "019a0000-0000-7000-8000-00000000000b";
const codex = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload });
const count = (second: number, input: number, total: number) =>
  codex(second, "event_msg", {
    type: "token_count",
    info: {
      last_token_usage: { input_tokens: input, output_tokens: 5 },
      total_token_usage: { input_tokens: total, output_tokens: 5, total_tokens: total + 5 },
      model_context_window: 258_400,
    },
  });
const spawned = { source: { subagent: { thread_spawn: { parent_thread_id: A } } } };

const ouro = (second: number, event_type: string, more: object = {}) => ({
  event_type,
  timestamp: at(second),
  ...more,
});
const usage = (second: number, prompt: number) =>
  ouro(second, "token_usage", { turn: second, prompt_tokens: prompt, completion_tokens: 5 });
const start = (second: number) => ouro(second, "session_start", { model: "m", workspace: "/w" });

const recordings: [Format, Record<string, object[]>][] = [
  [
    "claude-code",
    {
      [`p/${S}.jsonl`]: [
        cleared(0),
        said(1, "m1", 40_000),
        said(2, "m1", 40_000),
        said(5, "m2", 90_000),
        compacted(6, "b1"),
        compacted(7, "b2"),
        said(8, "m3", 30_000),
        cleared(9),
        said(10, "m4", 9_000),
      ],
      [`p/${S}/subagents/agent-a1.jsonl`]: [
        said(1, "m1", 40_000, { ...side, uuid: "r1" }),
        said(3, "s1", 5_000, side),
        said(4, "s2", 6_000, side),
      ],
    },
  ],
  [
    "codex",
    {
      [`x/rollout-${A}.jsonl`]: [
        codex(0, "session_meta", { id: A }),
        codex(1, "turn_context", { model: "gpt-6" }),
        count(5, 100, 100),
        count(6, 100, 100),
        codex(7, "compacted", { window_id: "w2" }),
        count(9, 50, 150),
      ],
      [`x/rollout-${B}.jsonl`]: [
        codex(20, "session_meta", { id: B, ...spawned }),
        count(20.1, 100, 100),
        count(20.2, 50, 150),
        count(25, 30, 180),
      ],
    },
  ],
  [
    "ouroboros",
    {
      ".ouro-logs/session-2026-11-20T10-00-00.jsonl": [
        start(0),
        usage(1, 25_000),
        ouro(2, "context_mask", { observations_masked: 3, total_masked: 3 }),
        usage(3, 20_000),
        usage(4, 31_000),
        ouro(5, "system_message", { content: "[Context window 94% full. Please wrap up]" }),
        ouro(6, "session_restart", {
          session_number: 2,
          previous_turns: 3,
          carryover_messages: 2,
          reason: "r",
        }),
        ouro(7, "session_end", { reason: "context_full_restart" }),
      ],
      ".ouro-logs/session-2026-11-20T10-00-08.jsonl": [start(8), usage(9, 4_000)],
      ".ouro-logs/sub-x/session-2026-11-20T10-00-03.jsonl": [usage(3, 700)],
    },
  ],
];

describe("line order and repetition", () => {
  it.each(recordings)("does not change the fold of %s recordings", (format, files) => {
    const entries = Object.entries(files).flatMap(([path, lines]) =>
      lines.map((line) => ({ path, text: JSON.stringify(line) })),
    );
    const fold = (order: readonly number[]) => {
      const reader = createReader(format, { harness: "h", titles: true });
      for (const index of order) reader.read(entries[index]!.text, { path: entries[index]!.path });
      const folds = foldEvents(reader.take(true).events);
      return [...folds].sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const indexes = entries.map((_, index) => index);
    const straight = fold(indexes);
    expect(straight).toHaveLength(2);
    fc.assert(
      fc.property(
        fc.shuffledSubarray(indexes, { minLength: indexes.length }),
        fc.array(fc.constantFrom(...indexes)),
        (shuffled, doubled) => {
          expect(fold([...shuffled, ...doubled])).toEqual(straight);
        },
      ),
      { numRuns: 60 },
    );
  });
});
