import { describe, expect, it } from "vitest";
import type { SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

// Sample: sse_event_completed of codex-rs/otel/src/events/session_telemetry.rs at 0136a73.
const completed: SampleAttributes = {
  "event.name": "codex.sse_event",
  "event.kind": "response.completed",
  "event.timestamp": "2026-11-20T10:00:01.250Z",
  "conversation.id": "thread-1",
  model: "gpt-5-codex",
  input_token_count: "88000",
  output_token_count: "900",
  cached_token_count: 84_000,
  reasoning_token_count: 300,
  tool_token_count: "88900",
};
const log = (attributes: SampleAttributes) => ({
  log: { resource: { "service.name": "codex_exec" }, name: "codex.sse_event", at: 0, attributes },
});

describe("Codex", () => {
  it.each(["codex.api_request", "codex.sse_event", "codex.websocket_event"])(
    "reports the window that an error in %s names",
    (name) => {
      const error = "This model's maximum context length is 128000 tokens. However, you requested more.";
      const { "event.timestamp": at, "conversation.id": session, model } = completed;
      const failed = {
        "event.name": name,
        "event.timestamp": at,
        "conversation.id": session,
        model,
        "error.message": error,
      } as SampleAttributes;
      const event = {
        type: "prompt_refused",
        session: "thread-1",
        model: "gpt-5-codex",
        context_window: 128_000,
      };
      expectEvents("codex", log(failed), [event]);
      expectNone("codex", log({ ...failed, "error.message": "overloaded" }), "not_needed");
    },
  );

  // codex-rs/otel/src/events/session_telemetry.rs, `record_api_request`.
  const compact: SampleAttributes = {
    "event.name": "codex.api_request",
    "event.timestamp": "2026-11-20T10:00:01.250Z",
    "conversation.id": "thread-1",
    model: "gpt-5-codex",
    duration_ms: "9000",
    "http.response.status_code": 200,
    attempt: 1,
    endpoint: "/responses/compact",
  };

  it("reports a compaction of the provider's own endpoint", () => {
    const at = Date.UTC(2026, 10, 20, 10, 0, 1, 250);
    expectEvents("codex", log(compact), [{ type: "compacted", at, session: "thread-1", trigger: "auto" }]);
    const texts = {
      ...compact,
      "http.response.status_code": "200",
      endpoint: "https://x/v1/responses/compact",
    };
    expectEvents("codex", log(texts), [{ type: "compacted", at }]);
  });

  it.each<SampleAttributes>([
    { endpoint: "/responses" },
    { "http.response.status_code": 500 },
    { "error.message": "timeout" },
    { "event.name": "codex.websocket_request" },
  ])("reports no compaction with %j", (more) =>
    expectNone("codex", log({ ...compact, ...more }), "not_needed"),
  );

  it("reports a completed response, at the time in its attributes", () => {
    expectEvents("codex", log(completed), [
      {
        type: "turn",
        at: Date.UTC(2026, 10, 20, 10, 0, 1, 250),
        harness: "codex",
        session: "thread-1",
        model: "gpt-5-codex",
        usage: {
          input_tokens: 88_000,
          cache_read_tokens: 84_000,
          output_tokens: 900,
          reasoning_tokens: 300,
          basis: "inclusive",
        },
      },
    ]);
    expect(eventOf(log(completed)).id).toBe(eventOf(log({ ...completed })).id);
  });

  it("counts two responses at different times as two", () => {
    const later = { ...completed, "event.timestamp": "2026-11-20T10:00:09Z" };
    expect(eventOf(log(later)).id).not.toBe(eventOf(log(completed)).id);
  });

  it("names its events in an attribute, because the exporter names records after lines of its source", () => {
    // Seen from codex 0.169.0, which sends two records of a completed response.
    const record = (attributes: SampleAttributes) => ({
      log: {
        resource: { "service.name": "codex_exec", "host.name": "laptop" },
        name: "event otel/src/events/session_telemetry.rs:1153",
        at: 0,
        attributes,
      },
    });
    expectEvents("codex", record(completed), [
      { type: "turn", harness: "codex@laptop", session: "thread-1" },
    ]);
    const { "event.name": name, "event.kind": kind, "conversation.id": id, model } = completed;
    const duration = { "event.name": name!, "event.kind": kind!, "conversation.id": id!, model: model! };
    expectNone("codex", record({ ...duration, duration_ms: "0" }), "not_needed");
  });

  it.each<[string, SampleAttributes]>([
    [
      "the answer of its tool",
      {
        "event.name": "codex.tool_result",
        tool_name: "spawn_agent",
        tool_namespace: "multi_agent_v1",
        output: '{"agent_id":"thread-2","nickname":"Kant"}',
        "conversation.id": "thread-1",
      },
    ],
    [
      "a message between threads",
      {
        "event.name": "codex.agent_communication",
        kind: "spawn",
        state: "send",
        sender_thread_id: "thread-1",
        receiver_thread_id: "thread-2",
      },
    ],
  ])("tells from %s whose sub-agent a thread is", (_, attributes) => {
    // Seen from codex 0.169.0.
    expectEvents("codex", log({ ...attributes, "event.timestamp": "2026-11-20T10:00:01Z" }), [
      {
        type: "session",
        status: "started",
        at: Date.UTC(2026, 10, 20, 10, 0, 1),
        session: "thread-1",
        agent: "agent-thread-2",
        parent_agent: "main",
        own_session: "thread-2",
      },
    ]);
  });

  it.each<SampleAttributes>([
    {
      "event.name": "codex.tool_result",
      tool_name: "spawn_agent",
      tool_namespace: "multi_agent_v1",
      output: "error",
      "conversation.id": "t",
    },
    {
      "event.name": "codex.tool_result",
      tool_name: "spawn_agent",
      tool_namespace: "mcp__team",
      output: '{"agent_id":"x"}',
      "conversation.id": "t",
    },
    {
      "event.name": "codex.tool_result",
      tool_name: "shell",
      output: '{"agent_id":"x"}',
      "conversation.id": "t",
    },
    {
      "event.name": "codex.agent_communication",
      kind: "result",
      sender_thread_id: "t",
      receiver_thread_id: "p",
    },
  ])("takes no sub-agent from %j", (attributes) => expectNone("codex", log(attributes), "not_needed"));

  it("needs only completed responses, and no span repeats them", () => {
    expectNone("codex", log({ ...completed, "event.kind": "response.created" }), "not_needed");
    expectNone("codex", log({ "event.kind": "response.completed", "conversation.id": "t" }), "no_usage");
    const span = {
      resource: { "service.name": "codex_tui" },
      attributes: { "gen_ai.usage.input_tokens": 5 },
    };
    expectNone("codex", { span }, "reported_elsewhere");
  });
});
