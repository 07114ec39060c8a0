import { describe, expect, it } from "vitest";
import { SAMPLE_AT, type SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

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

  it("leaves out the call of a sub-agent, whose id only its recording has", () => {
    const attributes = { ...chat, "github.copilot.initiator": "sub-agent" };
    expectNone("copilot", { span: { resource, attributes, parentSpanId: "34410a2bd70a87f9" } }, "no_agent");
  });

  it.each(["user", "agent"])("counts a call that the %s began for the main agent", (initiator) => {
    const attributes = { ...chat, "github.copilot.initiator": initiator };
    const turn = eventOf({ span: { resource, attributes, parentSpanId: "0c0e40ed4fd1c1c6" } });
    expect(turn.agent ?? "main").toBe("main");
  });

  it("takes marks of the run of the main agent, also of one that a person chose, and not of a sub-agent", () => {
    const run = { ...chat, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "explore" };
    const events = [event("truncation", { messages_removed: 1 }), event("compaction_complete", {})];
    expectEvents("copilot", { span: { resource, attributes: run, events } }, [
      { type: "masked", agent: undefined },
      { type: "compacted", agent: undefined },
    ]);
    const ofSubAgent = { resource, attributes: run, events, parentSpanId: "4bbdd494fcfc5f7e" };
    expectNone("copilot", { span: ofSubAgent }, "aggregate");
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
    // The counts of a truncation leave out system prompt and tools, those of a compaction are estimates.
    const common = {
      session: "c-1",
      at: SAMPLE_AT - 1_000,
      tokens_before: undefined,
      tokens_after: undefined,
    };
    expectEvents("copilot", { span: { resource, attributes, events } }, [
      { type: "masked", observations: 14, ...common },
      { type: "compacted", trigger: "auto", ...common },
    ]);
    expectNone("copilot", { span: { resource, attributes } }, "aggregate");
  });

  it("reads events whose attributes have no prefix, as the file exporter writes them", () => {
    const events = [
      { name: "github.copilot.session.truncation", attributes: { pre_tokens: 5, messages_removed: 1 } },
    ];
    expectEvents("copilot", { span: { resource, attributes: chat, events } }, [
      { type: "masked", observations: 1 },
      { type: "turn" },
    ]);
  });
});
