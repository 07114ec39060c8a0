import { describe, expect, it } from "vitest";
import { SAMPLE_AT, type SampleAttributes, spanSample } from "../../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../../testing/otlp-dialect.ts";
import { readRecord } from "../dialects.ts";

// Samples: tables of docs.github.com "Copilot CLI command reference", monitoring with OpenTelemetry, and spans of 1.0.102.
const resource = { "service.name": "github-copilot" };
const chat: SampleAttributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.conversation.id": "c-1",
  "gen_ai.response.id": "resp_1",
  "gen_ai.request.model": "claude-sonnet-4-5",
  "gen_ai.usage.input_tokens": 90_000,
  "gen_ai.usage.cache_read.input_tokens": 80_000,
  "gen_ai.usage.output_tokens": 300,
};
const event = (name: string, attributes: SampleAttributes) => ({
  name: `github.copilot.session.${name}`,
  attributes: Object.fromEntries(Object.entries(attributes).map(([key, v]) => [`github.copilot.${key}`, v])),
});

describe("Copilot", () => {
  it("reports the call of a chat span", () => {
    expectEvents("copilot", { span: { resource, attributes: chat } }, [
      { type: "turn", id: "resp_1", harness: "copilot", session: "c-1", usage: { input_tokens: 90_000 } },
    ]);
  });

  it("names a sub-agent after the span of its run, which is the parent of its calls", () => {
    const attributes = { ...chat, "github.copilot.initiator": "sub-agent" };
    const agent = (parentSpanId: string) => eventOf({ span: { resource, attributes, parentSpanId } });
    expect(agent("34410a2bd70a87f9")).toMatchObject({
      type: "turn",
      id: "resp_1",
      session: "c-1",
      agent: "agent-34410a2bd70a87f9",
      parent_agent: "main",
    });
    expect(agent("6431e65c229b00a0")).toMatchObject({ agent: "agent-6431e65c229b00a0" });
    expectNone("copilot", { span: { resource, attributes } }, "no_agent");
  });

  it.each(["user", "agent"])("counts a call that the %s began for the main agent", (initiator) => {
    const attributes = { ...chat, "github.copilot.initiator": initiator };
    const turn = eventOf({ span: { resource, attributes, parentSpanId: "0c0e40ed4fd1c1c6" } });
    expect(turn.agent ?? "main").toBe("main");
  });

  it("gives the marks of a run to its agent", () => {
    const run = { ...chat, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "explore" };
    const events = [event("truncation", { messages_removed: 1 }), event("compaction_complete", {})];
    const spanId = "34410a2bd70a87f9";
    const marks = (parentSpanId: string) =>
      readRecord(spanSample({ resource, attributes: run, events, spanId, parentSpanId })).reading.events;
    const subAgent = { agent: "agent-34410a2bd70a87f9", parent_agent: "main" };
    expect(marks("4bbdd494fcfc5f7e")).toMatchObject([
      { type: "masked", ...subAgent },
      { type: "compacted", ...subAgent },
    ]);
    for (const mark of marks("") ?? []) expect(mark).toMatchObject({ agent: undefined });
  });

  it("takes the window of Copilot Chat in VS Code", () => {
    const attributes = { ...chat, "copilot_chat.request.max_prompt_tokens": 128_000 };
    expect(eventOf({ span: { resource: { "service.name": "copilot-chat" }, attributes } })).toMatchObject({
      context_window: 128_000,
    });
  });

  it("reports truncations and compactions of a run, but not its sums", () => {
    const attributes = { ...chat, "gen_ai.operation.name": "invoke_agent" };
    const tokens = { pre_tokens: 120_000, post_tokens: 30_000 };
    const events = [
      event("truncation", { ...tokens, token_limit: 128_000, messages_removed: 14 }),
      event("compaction_start", {}),
      event("compaction_complete", { ...tokens, success: true }),
      event("compaction_complete", { ...tokens, success: false }),
    ];
    const levels = { tokens_before: 120_000, tokens_after: 30_000, session: "c-1", at: SAMPLE_AT - 1_000 };
    expectEvents("copilot", { span: { resource, attributes, events } }, [
      { type: "masked", observations: 14, ...levels },
      { type: "compacted", trigger: "auto", ...levels },
    ]);
    expectNone("copilot", { span: { resource, attributes } }, "aggregate");
  });

  it("reads events whose attributes have no prefix, as the file exporter writes them", () => {
    const events = [
      { name: "github.copilot.session.truncation", attributes: { pre_tokens: 5, messages_removed: 1 } },
    ];
    expectEvents("copilot", { span: { resource, attributes: chat, events } }, [
      { type: "masked", observations: 1, tokens_before: 5 },
      { type: "turn" },
    ]);
  });
});
