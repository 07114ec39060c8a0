import { describe, expect, it } from "vitest";
import { readRecord } from "../telemetry.ts";
import { foldEvents } from "../testing/fold.ts";
import { logSample, SAMPLE_AT, type SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

// Sample: the example of QwenLM/qwen-code docs/design/otel-context-usage-attribute.md, with its span.
const usage = {
  version: 1,
  window_size_tokens: 200_000,
  breakdown: {
    system_prompt_tokens: 12_000,
    builtin_tools_tokens: 8_000,
    mcp_tools_tokens: 3_000,
    memory_files_tokens: 2_000,
    skills_tokens: 1_500,
    messages_tokens: 83_000,
  },
  compaction_reserve_tokens: 33_000,
  available_before_compaction_tokens: 57_500,
  estimated: true,
};
const request: SampleAttributes = {
  "session.id": "q-1",
  "gen_ai.conversation.id": "q-1",
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "qwen3-coder-plus",
  "gen_ai.response.id": "chatcmpl-9f2c1a",
  "gen_ai.usage.input_tokens": 109_500,
  "gen_ai.usage.output_tokens": 300,
  "qwen-code.prompt_id": "q-1########2",
  "llm_request.context": "interaction",
};
const span = (attributes: SampleAttributes, name = "qwen-code.llm_request") => ({
  span: { resource: { "service.name": "qwen-code" }, name, attributes: { ...request, ...attributes } },
});

describe("Qwen Code", () => {
  it("reports window and composition with the call", () => {
    expectEvents("qwen-code", span({ "qwen-code.context.usage": JSON.stringify(usage) }), [
      {
        type: "turn",
        id: "chatcmpl-9f2c1a",
        harness: "qwen-code",
        session: "q-1",
        context_window: 200_000,
        usage: { input_tokens: 109_500, output_tokens: 300 },
        composition: { system: 12_000, tools: 11_000, memory: 2_000, history: 83_000, other: 1_500 },
        composition_estimated: true,
      },
    ]);
  });

  it.each(["{", "7", '{"version":2}', '{"version":1,"window_size_tokens":-1,"breakdown":[]}'])(
    "is still a turn if the usage reads %s",
    (text) =>
      expect(eventOf(span({ "qwen-code.context.usage": text }))).toMatchObject({ context_window: undefined }),
  );

  it("gives a sub-agent its own window, and leaves out what has no name or is no conversation", () => {
    const child = { "llm_request.context": "subagent", "qwen-code.prompt_id": "x" };
    expectEvents("qwen-code", span({ ...child, subagent_name: "explorer" }), [
      { agent: "explorer", parent_agent: "main" },
    ]);
    const named = { ...child, subagent_name: "explorer", "qwen-code.prompt_id": "q-1#explorer-call_7#3" };
    expectEvents("qwen-code", span(named), [{ agent: "agent-explorer-call_7", parent_agent: "main" }]);
    expectNone("qwen-code", span(child), "no_agent");
    expectNone("qwen-code", span({ "qwen-code.prompt_id": "prompt_suggestion" }), "auxiliary");
    expectNone("qwen-code", span({}, "qwen-code.interaction"), "not_needed");
  });

  describe("with a compression", () => {
    const counts = { tokens_before: 150_000, tokens_after: 20_000 };
    const log = (name: string, more: SampleAttributes = {}) => ({
      log: { name, attributes: { "session.id": "q-1", ...counts, ...more } },
    });
    const summary = { compression_input_token_count: 149_000, compression_output_token_count: 900 };
    const call = {
      type: "turn",
      purpose: "compaction",
      witness: "hook",
      usage: { input_tokens: 149_000, output_tokens: 900 },
    };

    it("reports it without its counts, which are estimates, and takes calls from spans alone", () => {
      expectEvents("qwen-code", log("qwen-code.chat_compression"), [
        { type: "compacted", tokens_before: undefined, tokens_after: undefined },
      ]);
      expectNone("qwen-code", log("qwen-code.api_response"), "reported_elsewhere");
    });

    it("reports its request, also of one that was rejected", () => {
      expectEvents("qwen-code", log("qwen-code.chat_compression", summary), [call, { type: "compacted" }]);
      const rejected = { ...summary, tokens_after: 151_000 };
      expectEvents("qwen-code", log("qwen-code.chat_compression", rejected), [call]);
    });

    it("has the level of the turns around the request, whose span has the same counts", () => {
      const turn = (id: string, second: number, input_tokens: number, output_tokens: number) =>
        ({
          type: "turn",
          id,
          at: SAMPLE_AT - 5_000 + second * 1_000,
          harness: "qwen-code",
          session: "q-1",
          model: "qwen3",
          witness: "otlp",
          usage: { input_tokens, output_tokens },
        }) as const;
      const { reading } = readRecord(logSample(log("qwen-code.chat_compression", summary).log));
      const fold = foldEvents([
        turn("a", 0, 148_000, 40),
        turn("span", 4, 149_000, 900),
        ...reading.events!,
        turn("b", 9, 30_000, 40),
      ]).get("q-1 main")!;
      expect(fold.turns.filter(({ isRepeat, turn: { compaction } }) => !isRepeat && !compaction).length).toBe(
        2,
      );
      expect([...fold.marks.values()]).toMatchObject([{ tokensBefore: 148_000, tokensAfter: 30_000 }]);
      expect(fold.summary).toMatchObject({ turns: 3, peak: { tokens: 148_000 } });
      expect(fold.inferred.size).toBe(0);
    });
  });
});
