import type { Format } from "@plimsoll/harnesses/recordings";
import { SAMPLES } from "../packages/harnesses/src/testing/recordings.ts";
import { CONVERSATIONS } from "../packages/harnesses/src/testing/texts.ts";

/** A recording file as values, one a line. */
export interface SeedFile {
  path: string;
  lines: unknown[];
}

export interface Seed {
  format: Format;
  files: SeedFile[];
}

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10) + second * 1_000).toISOString();

const SESSION = "11111111-1111-4111-8111-111111111111";
const FORK = "22222222-2222-4222-8222-222222222222";
const claude = (second: number, type: string, more: object) => ({
  type,
  uuid: `u-${second}`,
  parentUuid: second === 0 ? null : `u-${second - 1}`,
  sessionId: SESSION,
  isSidechain: false,
  timestamp: at(second),
  ...more,
});
const said = (second: number, id: string, input: number, more: object = {}) =>
  claude(second, "assistant", {
    requestId: `req-${id}`,
    message: {
      id,
      model: "claude-opus-5",
      usage: {
        input_tokens: input,
        cache_read_input_tokens: 900,
        cache_creation_input_tokens: 50,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 40 },
        output_tokens: second,
        iterations: [{ type: "message", input_tokens: input, cache_read_input_tokens: 900 }],
      },
    },
    ...more,
  });
const side = { isSidechain: true, agentId: "a1" };

const claudeCode: Seed = {
  format: "claude-code",
  files: [
    {
      path: `p/${SESSION}.jsonl`,
      lines: [
        { type: "summary", leafUuid: "u-9", summary: "a summary" },
        claude(0, "user", { message: { role: "user", content: "Fix the billing webhooks" } }),
        said(1, "m1", 40_000),
        said(2, "m1", 40_000),
        claude(3, "user", {
          message: { content: [{ type: "text", text: "<command-name>/clear</command-name>" }] },
        }),
        said(4, "m2", 90_000),
        claude(5, "system", {
          subtype: "compact_boundary",
          compactMetadata: { trigger: "auto", preTokens: 90_100 },
        }),
        claude(6, "system", {
          subtype: "microcompact_boundary",
          microcompactMetadata: { preTokens: 50_000, tokensSaved: 9_000, compactedToolIds: ["t1", "t2"] },
        }),
        said(7, "m3", 30_000),
        claude(8, "user", { isCompactSummary: true, message: { role: "user", content: "a summary" } }),
        claude(9, "assistant", {
          message: {
            id: "m4",
            model: "claude-fable-5-1",
            stop_reason: "end_turn",
            content: [{ type: "tool_use", id: "t1", name: "Agent", input: {} }],
            usage: {
              input_tokens: 20_000,
              output_tokens: 3,
              iterations: [
                { type: "message", input_tokens: 30_000 },
                { type: "compaction", input_tokens: 31_000 },
                { type: "message", input_tokens: 20_000 },
              ],
            },
            context_management: { applied_edits: [{ cleared_tool_uses: 8, cleared_thinking_turns: 2 }] },
          },
        }),
        claude(10, "user", { message: { content: [] }, toolUseResult: { agentId: "a1" } }),
        claude(10.1, "attachment", {
          attachment: {
            type: "deferred_tools_delta",
            addedNames: ["WebFetch", "mcp__a__b"],
            removedNames: [],
          },
        }),
        claude(10.2, "attachment", {
          attachment: {
            type: "file",
            filename: "a.ts",
            content: { type: "text", file: { content: "a file" } },
          },
        }),
        claude(10.3, "attachment", { attachment: { type: "nested_memory", content: { content: "a rule" } } }),
        claude(8, "custom-title", { customTitle: "a title" }),
        claude(9, "ai-title", { aiTitle: "another title" }),
      ],
    },
    {
      path: `p/${SESSION}/subagents/agent-a1.jsonl`,
      lines: [
        said(1, "m1", 40_000, side),
        said(10, "s1", 5_000, side),
        said(11, "s2", 6_000, { ...side, agentId: undefined }),
      ],
    },
    {
      path: `p/${FORK}.jsonl`,
      lines: [
        said(1, "m1", 40_000, { sessionId: FORK, forkedFrom: { sessionId: SESSION } }),
        said(12, "f1", 3_000, { sessionId: FORK }),
      ],
    },
  ],
};

const THREAD = "019a0000-0000-7000-8000-00000000000a";
const SPAWNED = "019a0000-0000-7000-8000-00000000000b";
const codexLine = (second: number, type: string, payload: object) => ({
  timestamp: at(second),
  type,
  payload,
});
const tokenCount = (second: number, input: number, total: number) =>
  codexLine(second, "event_msg", {
    type: "token_count",
    info: {
      last_token_usage: {
        input_tokens: input,
        cached_input_tokens: 10,
        output_tokens: 5,
        reasoning_output_tokens: 2,
      },
      total_token_usage: { input_tokens: total, output_tokens: 5, total_tokens: total + 5 },
      model_context_window: 258_400,
    },
  });
const codex: Seed = {
  format: "codex",
  files: [
    {
      path: `x/rollout-${THREAD}.jsonl`,
      lines: [
        codexLine(0, "session_meta", { id: THREAD, timestamp: at(0) }),
        codexLine(1, "turn_context", { model: "gpt-6" }),
        codexLine(2, "event_msg", { type: "user_message", message: "Explain this" }),
        codexLine(3, "event_msg", {
          type: "task_started",
          turn_id: "t1",
          started_at: Math.floor(Date.parse(at(3)) / 1_000),
          model_context_window: 258_400,
        }),
        tokenCount(5, 100, 100),
        tokenCount(6, 100, 100),
        codexLine(7, "compacted", { window_id: "w2", message: "a summary", compaction_response_id: "r9" }),
        codexLine(8, "event_msg", { type: "thread_rolled_back", num_turns: 2 }),
        tokenCount(9, 50, 150),
        codexLine(10, "token_usage_record", {
          response_id: "r1",
          thread_id: THREAD,
          session_id: THREAD,
          usage: { input_tokens: 60, output_tokens: 4 },
        }),
      ],
    },
    {
      path: `x/rollout-${SPAWNED}.jsonl`,
      lines: [
        codexLine(20, "session_meta", {
          id: SPAWNED,
          forked_from_id: THREAD,
          source: { subagent: { thread_spawn: { parent_thread_id: THREAD } } },
        }),
        tokenCount(20, 100, 100),
        tokenCount(25, 30, 180),
      ],
    },
  ],
};

const ouro = (second: number, event_type: string, more: object = {}) => ({
  event_type,
  timestamp: at(second),
  ...more,
});
const ouroboros: Seed = {
  format: "ouroboros",
  files: [
    {
      path: ".ouro-logs/session-2026-11-20T10-00-00.jsonl",
      lines: [
        ouro(0, "session_start", { model: "m", workspace: "/w" }),
        ouro(1, "token_usage", {
          turn: 1,
          prompt_tokens: 25_000,
          completion_tokens: 5,
          context_used_pct: 0.78125,
        }),
        ouro(2, "context_mask", { observations_masked: 3, total_masked: 3 }),
        ouro(3, "token_usage", { turn: 2, prompt_tokens: 31_000, completion_tokens: 5 }),
        ouro(4, "system_message", { content: "[Context window 94% full. Please wrap up]" }),
        ouro(5, "session_restart", {
          session_number: 2,
          previous_turns: 3,
          carryover_messages: 2,
          reason: "r",
        }),
        ouro(6, "session_end", { reason: "context_full_restart" }),
      ],
    },
    {
      path: ".ouro-logs/session-2026-11-20T10-00-08.jsonl",
      lines: [
        ouro(8, "session_start", { model: "m", workspace: "/w" }),
        ouro(9, "token_usage", { turn: 1, prompt_tokens: 4_000, completion_tokens: 3 }),
        ouro(10, "session_end", { reason: "done" }),
      ],
    },
    {
      path: ".ouro-logs/sub-x/session-2026-11-20T10-00-03.jsonl",
      lines: [ouro(3, "token_usage", { turn: 1, prompt_tokens: 700, completion_tokens: 1 })],
    },
  ],
};

const trace = (second: number, event: string, more: object) => ({
  event: { timestamp: at(second), run_id: "run-1", event, ...more },
});
const agentd: Seed = {
  format: "agentd",
  files: [
    {
      path: "agentd/early-needle.jsonl",
      lines: [
        {
          meta: {
            fixture: "early-needle",
            arm: "none",
            context_budget: 2_000,
            model: "m",
            child_model: "small",
          },
        },
        trace(1, "InferCall", { op_id: 1, model: "m" }),
        trace(2, "InferResult", {
          op_id: 1,
          input_tokens: 1_430,
          output_tokens: 20,
          duration_ms: 9,
          cost_micro_usd: 12,
        }),
        trace(3, "InferResult", {
          op_id: 2,
          parent_op_id: 1,
          input_tokens: 208,
          cached_input_tokens: 8,
          output_tokens: 3,
        }),
        trace(4, "Custom", { name: "gc_collect", data: { strategy: "stack", dropped_count: 2 } }),
        trace(5, "Custom", { name: "gc_collect", data: { strategy: "summary" } }),
        trace(6, "InferResult", { op_id: 3, input_tokens: 2_096, output_tokens: 20 }),
        { event: "AgentDone", timestamp: at(7), run_id: "run-1" },
      ],
    },
  ],
};

const conversations = CONVERSATIONS.map(({ format, files }): Seed => ({ format, files: files(true) }));

export const SEEDS: readonly Seed[] = [claudeCode, codex, ouroboros, agentd, ...SAMPLES, ...conversations];
