import { expect, it } from "vitest";
import type { Format } from "../recordings.ts";
import { createReader } from "../recordings.ts";

/** Enough to overflow the stack as arguments of one call. */
const MANY = 130_000;
/** Enough to take minutes if the work grows with their square. */
const SOME = 30_000;
/** Milliseconds, far above what it takes on a busy machine, and far below what quadratic work would take. */
const LIMIT = 60_000;

const at = (n: number) => new Date(Date.UTC(2026, 10, 20) + n * 1_000).toISOString();
const SESSION = "11111111-1111-4111-8111-111111111111";

const claude = (n: number, more: object) => ({
  type: "assistant",
  uuid: `u-${n}`,
  parentUuid: `u-${n - 1}`,
  sessionId: SESSION,
  timestamp: at(n),
  message: { id: `m-${n}`, model: "claude-opus-5", usage: { input_tokens: 9, output_tokens: 1 } },
  ...more,
});

const cases: [lines: number, name: string, format: Format, path: string, line: (n: number) => object][] = [
  [MANY, "turns", "claude-code", `${SESSION}.jsonl`, (n) => claude(n, {})],
  [
    SOME,
    "a chain of sidechain lines",
    "claude-code",
    `${SESSION}.jsonl`,
    (n) => claude(n, { isSidechain: true }),
  ],
  [
    SOME,
    "compactions",
    "claude-code",
    `${SESSION}.jsonl`,
    (n) => claude(n, { type: "system", subtype: "compact_boundary", compactMetadata: { preTokens: n + 1 } }),
  ],
  [
    SOME,
    "models and counts",
    "codex",
    `rollout-${SESSION}.jsonl`,
    (n) =>
      n % 2 === 0
        ? { timestamp: at(n), type: "turn_context", payload: { model: `m-${n}` } }
        : {
            timestamp: at(n),
            type: "token_usage_record",
            payload: { response_id: `r-${n}`, usage: { input_tokens: n } },
          },
  ],
  [
    SOME,
    "starts and turns",
    "ouroboros",
    "session-2026.jsonl",
    (n) =>
      n % 2 === 0
        ? { timestamp: at(n), event_type: "session_start", model: `m-${n}` }
        : { timestamp: at(n), event_type: "token_usage", turn: n, prompt_tokens: n },
  ],
  [
    SOME,
    "turns and wind-downs",
    "ouroboros",
    "session-2026.jsonl",
    (n) =>
      n % 2 === 0
        ? { timestamp: at(n), event_type: "token_usage", turn: n, prompt_tokens: n + 1 }
        : { timestamp: at(n), event_type: "system_message", content: "[Context window 94% full." },
  ],
  [
    MANY,
    "inferences",
    "agentd",
    "run.jsonl",
    (n) => ({ event: { timestamp: at(n), run_id: "r", event: "InferResult", op_id: n, input_tokens: 5 } }),
  ],
];

it.each(cases)(
  "reads %i lines with %s of %s",
  (lines, _, format, path, line) => {
    const reader = createReader(format, { harness: "h", titles: true });
    for (let n = 0; n < lines; n++) reader.read(JSON.stringify(line(n)), { path });
    const { events } = reader.take(true);
    expect(events.length).toBeGreaterThan(lines / 2 - 1);
  },
  LIMIT,
);

it.each(["object", "list"])("names a line whose %s is nested too deeply, and reads on", (kind) => {
  const [open, close] = kind === "object" ? ['{"a":', "}"] : ["[", "]"];
  const deep = `${open.repeat(200_000)}0${close.repeat(200_000)}`;
  const call = claude(1, { message: { content: [{ type: "tool_use", input: "DEEP" }] } });
  const reader = createReader("claude-code", { harness: "claude-code@host", titles: false });
  const file = { path: `${SESSION}.jsonl` };
  expect(reader.read(JSON.stringify(call).replace('"DEEP"', deep), file)).toBe("too_deep");
  reader.read(JSON.stringify(claude(2, {})), file);
  const { events, skipped } = reader.take(true);
  expect(events).toContainEqual(expect.objectContaining({ type: "turn", at: Date.parse(at(2)) }));
  expect(skipped).toMatchObject({ too_deep: 1 });
});
