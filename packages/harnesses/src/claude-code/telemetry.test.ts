import { describe, expect, it } from "vitest";
import { SAMPLE_AT, type SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

// Sample: an event of 2.1.220, shaped as in code.claude.com/docs/en/monitoring-usage.
const resource = { "service.name": "claude-code", "host.name": "laptop" };
const request: SampleAttributes = {
  "event.name": "api_request",
  "session.id": "7b1c",
  "event.sequence": 41,
  model: "claude-opus-5",
  input_tokens: 3,
  cache_read_tokens: 118_240,
  cache_creation_tokens: 2_310,
  output_tokens: 640,
  cost_usd: 0.12,
  duration_ms: 8_100,
  query_source: "repl_main_thread",
  request_id: "req_011",
};
const log = (attributes: SampleAttributes, name = "claude_code.api_request") => ({
  log: { resource, name, attributes },
});
const span = (attributes: SampleAttributes, name = "claude_code.llm_request") => ({
  span: { resource, name, attributes },
});
const turn = {
  type: "turn",
  id: "req_011",
  at: SAMPLE_AT,
  harness: "claude-code@laptop",
  session: "7b1c",
  model: "claude-opus-5",
  usage: {
    input_tokens: 3,
    cache_read_tokens: 118_240,
    cache_write_tokens: 2_310,
    output_tokens: 640,
    basis: "exclusive",
  },
};

describe("Claude Code", () => {
  it("reports a call of the main thread as a log event", () => {
    expectEvents("claude-code", log(request), [{ ...turn, cost_usd: 0.12, duration_ms: 8_100 }]);
    expect(eventOf(log(request))).toMatchObject({ agent: undefined });
  });

  it("of older versions, with texts for numbers, short names and no source, is read alike", () => {
    const { query_source: _, ...old } = request;
    const texts = Object.fromEntries(Object.entries(old).map(([name, value]) => [name, String(value)]));
    expectEvents("claude-code", log(texts, "api_request"), [turn]);
  });

  it.each([
    ["tool_use", "sdk", "tool_use"],
    ["tool_use", "repl_main_thread", "tool_approval"],
    ["end_turn", "repl_main_thread", "end_turn"],
    ["", "sdk", undefined],
  ])("of a span that ended with %j, asked for by %s, tells %s", (stop_reason, query_source, stop) => {
    expect(eventOf(span({ ...request, query_source, stop_reason }))).toMatchObject({ stop_reason: stop });
  });

  it("gives a call one id in logs and spans", () => {
    const { request_id, ...rest } = request;
    expectEvents("claude-code", span({ ...rest, "gen_ai.response.id": String(request_id) }), [turn]);
  });

  // 2.1.331 behind a gateway that answers without the header request-id. The two last differently long.
  it("gives a call without a request id one id in logs and spans", () => {
    const { request_id: _, duration_ms: __, ...rest } = request;
    const idOf = (sample: Parameters<typeof eventOf>[0]) => eventOf(sample)?.id;
    const logged = log({ ...rest, ttft_ms: 149, duration_ms: 161 });
    const id = idOf(logged);
    expect(id).toBeDefined();
    expect(idOf(span({ ...rest, ttft_ms: 149, duration_ms: 190 }))).toBe(id);
    expect(idOf(log({ ...rest, ttft_ms: 150 }))).not.toBe(id);
    expect(idOf(log({ ...rest, ttft_ms: 149, output_tokens: 641 }))).not.toBe(id);
    expect(idOf(log(rest))).not.toBe(idOf(span(rest)));
  });

  it("tells sub-agents apart by the ids that spans have", () => {
    const child = { ...request, query_source: "Explore", agent_id: "a1" };
    expectEvents("claude-code", span(child), [{ ...turn, agent: "agent-a1", parent_agent: "main" }]);
    expectEvents("claude-code", span({ ...child, agent_id: "b2", parent_agent_id: "a1" }), [
      { ...turn, agent: "agent-b2", parent_agent: "agent-a1" },
    ]);
  });

  it.each([
    ["a sub-agent without id", { query_source: "agent:builtin:Explore" }, "no_agent"],
    ["a named sub-agent without id", { query_source: "x", "agent.name": "Explore" }, "no_agent"],
    ["a title", { query_source: "generate_session_title" }, "auxiliary"],
    ["a call without counts", { input_tokens: "" }, "no_usage"],
    ["a call without session", { "session.id": "" }, "no_session"],
  ])("does not count %s", (_, attributes, reason) => {
    expectNone("claude-code", log({ ...request, ...attributes }), reason);
  });

  it("does not let the call that compacts move the level", () => {
    expect(eventOf(log({ ...request, query_source: "compact" }))).toMatchObject({ purpose: "compaction" });
  });

  // Spans of 2.1.331 in a terminal.
  it.each([
    ["repl_main_thread", {}, { type: "turn", id: "req_011" }],
    ["compact", {}, { purpose: "compaction" }],
    ["agent.builtin.general-purpose", { agent_id: "ae2e" }, { agent: "agent-ae2e", parent_agent: "main" }],
  ])("reads the source %s of a span", (source, more, event) => {
    const { query_source: _, ...rest } = request;
    expect(eventOf(span({ ...rest, query_source_safe: source, ...more }))).toMatchObject(event);
  });

  it.each([
    ["generate_session_title", "auxiliary"],
    ["agent.builtin.general-purpose", "no_agent"],
  ])("does not take the call of a span with the source %s for one of the main thread", (source, reason) => {
    const { query_source: _, ...rest } = request;
    expectNone("claude-code", span({ ...rest, query_source_safe: source }), reason);
  });

  it("reports compactions without the level after, which leaves out the system prompt", () => {
    const compaction = {
      "session.id": "7b1c",
      "event.sequence": 50,
      trigger: "auto",
      success: "true",
      pre_tokens: 160_000,
      post_tokens: 9_000,
    };
    expectEvents("claude-code", log(compaction, "claude_code.compaction"), [
      { type: "compacted", trigger: "auto", tokens_before: 160_000, session: "7b1c" },
    ]);
    expect(eventOf(log(compaction, "compaction"))).not.toHaveProperty("tokens_after");
    expectNone("claude-code", log({ ...compaction, success: "false" }, "compaction"), "not_needed");
  });

  // 2.1.331 after a call of 95,000 tokens.
  it("takes no level from /compact, which counts the messages alone", () => {
    const compaction = {
      "session.id": "7b1c",
      "event.sequence": 25,
      trigger: "manual",
      success: "true",
      duration_ms: "409",
      pre_tokens: "2912",
      post_tokens: "2871",
      precompute_reuse: "miss_not_ready",
    };
    expectEvents("claude-code", log(compaction, "compaction"), [{ type: "compacted", trigger: "manual" }]);
    expect(eventOf(log(compaction, "compaction"))).not.toHaveProperty("tokens_before");
  });

  it("learns the window from an error that names it", () => {
    const error = "400 prompt is too long: 205,000 tokens > 200,000 maximum";
    const attributes = { ...request, "event.name": "api_error", error };
    expectEvents("claude-code", log(attributes, "claude_code.api_error"), [
      { type: "prompt_refused", context_window: 200_000, prompt_tokens: 205_000, witness: "otlp" },
    ]);
  });

  it.each(["claude_code.tool_result", "claude_code.user_prompt", "claude_code.api_error"])(
    "needs nothing of %s",
    (name) => expectNone("claude-code", log({ ...request, "event.name": name }, name), "not_needed"),
  );
});
