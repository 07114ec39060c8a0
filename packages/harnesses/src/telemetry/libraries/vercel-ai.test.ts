import { describe, expect, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Samples: spans of ai 6.0.326 and @ai-sdk/otel 1.0.173 (AI SDK 7).
const call: SampleAttributes = {
  "ai.operationId": "ai.generateText.doGenerate",
  "ai.telemetry.metadata.sessionId": "chat-1",
  "gen_ai.system": "openai.responses",
  "gen_ai.request.model": "gpt-5",
  "gen_ai.response.id": "resp_abc",
  "gen_ai.usage.input_tokens": 9_000,
  "gen_ai.usage.output_tokens": 50,
  "ai.usage.inputTokenDetails.cacheReadTokens": 8_000,
  "ai.usage.inputTokenDetails.cacheWriteTokens": 500,
  "ai.usage.reasoningTokens": 20,
};
const span = (attributes: SampleAttributes) => ({ span: { attributes } });

describe("the Vercel AI SDK", () => {
  it("6 reports a call of the provider with its caches", () => {
    expectEvents("vercel-ai", span(call), [
      {
        type: "turn",
        id: "resp_abc",
        harness: "vercel-ai",
        session: "chat-1",
        usage: {
          input_tokens: 9_000,
          cache_read_tokens: 8_000,
          cache_write_tokens: 500,
          output_tokens: 50,
          reasoning_tokens: 20,
        },
      },
    ]);
  });

  it("7 with legacy spans says the session in its runtime context", () => {
    const { "ai.telemetry.metadata.sessionId": _, ...rest } = call;
    const said = { "ai.settings.context.sessionId": "chat-7", "ai.settings.context.agent": "researcher" };
    expect(eventOf(span({ ...rest, ...said }))).toMatchObject({ session: "chat-7", agent: "researcher" });
  });

  it("names the agent by its function, and the session by its trace, without metadata", () => {
    const { "ai.telemetry.metadata.sessionId": _, ...rest } = call;
    expect(eventOf(span({ ...rest, "ai.telemetry.functionId": "researcher" }))).toMatchObject({
      agent: "researcher",
      session: "0af7651916cd43dd8448eb211c80319c",
    });
  });

  it("has the main agent in opencode, whose function names no agent, and not the call for a title", () => {
    const resource = { "service.name": "opencode", "host.name": "laptop" };
    const title = { ...call, "ai.telemetry.functionId": "session.llm" };
    const record = { resource, attributes: { ...title, "ai.prompt.tools": "[]" } };
    expectNone("vercel-ai", { span: { resource, attributes: title } }, "auxiliary");
    expectEvents("vercel-ai", { span: record }, [
      { type: "turn", harness: "opencode@laptop", session: "chat-1" },
    ]);
    expect(eventOf({ span: record })).toMatchObject({ agent: undefined });
  });

  it("has a sub-agent of opencode in the session that started it", () => {
    // Seen from opencode 1.18.33.
    const child = {
      ...call,
      "ai.telemetry.functionId": "session.llm",
      "ai.prompt.tools": "[]",
      "ai.request.headers.x-parent-session-id": "ses_parent",
    };
    expect(eventOf(span(child))).toMatchObject({
      session: "ses_parent",
      agent: "agent-chat-1",
      parent_agent: "main",
      own_session: "chat-1",
    });
  });

  // `@ai-sdk/google` 2 has the thoughts beside the output, providers of OpenAI's format within it.
  it.each([
    ["google.generative-ai", 1_150, 150],
    ["google.vertex.chat", 1_150, 150],
    ["openai.chat", 1_050, 50],
    ["anthropic.messages", 1_050, 50],
  ])("5 counts the thoughts of %s once, with a total of %i", (provider, total, output) => {
    const attributes = {
      "ai.operationId": "ai.streamText.doStream",
      "ai.telemetry.metadata.sessionId": "chat-1",
      "ai.model.provider": provider,
      "gen_ai.request.model": "m",
      "ai.usage.inputTokens": 1_000,
      "ai.usage.outputTokens": 50,
      "ai.usage.reasoningTokens": total === 1_150 ? 100 : 20,
      "ai.usage.totalTokens": total,
    };
    expect(eventOf(span(attributes))).toMatchObject({
      usage: { input_tokens: 1_000, output_tokens: output },
    });
  });

  it("4 and 5 are read by their older names", () => {
    const old = {
      "ai.operationId": "ai.streamText.doStream",
      "ai.model.id": "gpt-4o",
      "gen_ai.request.model": "gpt-4o",
      "ai.usage.promptTokens": 70,
      "ai.usage.completionTokens": 5,
    };
    expect(eventOf(span(old))).toMatchObject({ usage: { input_tokens: 70, output_tokens: 5 } });
  });

  it("does not count the sums of a run", () => {
    const run = { "ai.operationId": "ai.generateText", "ai.usage.inputTokens": 90_000 };
    expectNone("vercel-ai", span(run), "aggregate");
    expectNone("vercel-ai", span({ "ai.operationId": "ai.toolCall" }), "not_needed");
  });

  it("7 follows the GenAI conventions", () => {
    const chat = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.usage.input_tokens": 9_000,
      "gen_ai.usage.cache_creation.input_tokens": 500,
    };
    expectEvents("gen-ai", span(chat), [{ usage: { input_tokens: 9_000, cache_write_tokens: 500 } }]);
    expectNone("gen-ai", span({ ...chat, "gen_ai.operation.name": "invoke_agent" }), "aggregate");
  });
});
