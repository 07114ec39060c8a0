import { describe, expect, it } from "vitest";
import { SAMPLE_AT, type SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

// Samples: events of google-gemini/gemini-cli docs/cli/telemetry.md at 04bcbc6.
const response: SampleAttributes = {
  "session.id": "s-1",
  model: "gemini-2.5-pro",
  input_token_count: 50_000,
  output_token_count: 200,
  cached_content_token_count: 40_000,
  thoughts_token_count: 60,
  tool_token_count: 0,
  total_token_count: 50_260,
  duration_ms: 900,
  prompt_id: "s-1########3",
};
const log = (attributes: SampleAttributes, name = "gemini_cli.api_response") => ({
  log: { resource: { "service.name": "gemini-cli" }, name, attributes: { ...response, ...attributes } },
});

describe("Gemini CLI", () => {
  it("reports a call of the conversation", () => {
    expectEvents("gemini-cli", log({}), [
      {
        type: "turn",
        id: `s-1########3/${SAMPLE_AT}`,
        harness: "gemini-cli",
        session: "s-1",
        model: "gemini-2.5-pro",
        duration_ms: 900,
        usage: {
          input_tokens: 50_000,
          cache_read_tokens: 40_000,
          output_tokens: 260,
          reasoning_tokens: 60,
          basis: "inclusive",
        },
      },
    ]);
  });

  it("adds the prompt of tools that the provider runs", () => {
    expect(eventOf(log({ tool_token_count: 700 }))).toMatchObject({ usage: { input_tokens: 50_700 } });
  });

  it("adds thoughts to the output, unless the total says that it includes them", () => {
    expect(eventOf(log({ total_token_count: 50_200 }))).toMatchObject({ usage: { output_tokens: 200 } });
    expect(eventOf(log({ total_token_count: 0 }))).toMatchObject({ usage: { output_tokens: 260 } });
  });

  it.each([
    [{ role: "main" }, {}],
    [
      { role: "subagent", prompt_id: "codebase-investigator-x1#4" },
      { agent: "agent-codebase-investigator-x1" },
    ],
    [{ prompt_id: "codebase-investigator-x1#4" }, { parent_agent: "main" }],
    [{ role: "utility_compressor", prompt_id: "x" }, { purpose: "compaction" }],
    [
      { role: "utility_compressor", prompt_id: "x1#4-verify" },
      { purpose: "compaction", agent: "agent-x1" },
    ],
  ])("gives the call of %j to its agent", (attributes, expected) => {
    expect(eventOf(log(attributes as SampleAttributes))).toMatchObject(expected);
  });

  it.each<SampleAttributes>([{ role: "utility_router" }, { prompt_id: "next-speaker-check" }])(
    "leaves out the call of %j, which is beside the conversation",
    (attributes) => expectNone("gemini-cli", log(attributes), "auxiliary"),
  );

  it("reports compressions without their counts, which leave out system prompt and tools, but not rejected ones", () => {
    const counts = { tokens_before: 500_000, tokens_after: 90_000 };
    expectEvents("gemini-cli", log(counts, "gemini_cli.chat_compression"), [
      { type: "compacted", tokens_before: undefined, tokens_after: undefined },
    ]);
    const larger = { ...counts, tokens_after: 600_000 };
    expectNone("gemini-cli", log(larger, "gemini_cli.chat_compression"), "not_needed");
  });

  it("reports masking without its counts, which are of tool outputs alone", () => {
    const masking = { tokens_before: 80_000, tokens_after: 30_000, masked_count: 7 };
    const event = eventOf(log(masking, "gemini_cli.tool_output_masking"));
    expect(event).toMatchObject({ type: "masked", observations: 7 });
    expect(event).toMatchObject({ tokens_before: undefined, tokens_after: undefined });
  });

  it("is not counted twice, from spans or events of the GenAI conventions", () => {
    expectNone("gemini-cli", log({}, "gen_ai.client.inference.operation.details"), "reported_elsewhere");
    const attributes = { "gen_ai.operation.name": "llm_call", "gen_ai.usage.input_tokens": 5 };
    expectNone(
      "gemini-cli",
      { span: { resource: { "service.name": "gemini-cli" }, attributes } },
      "reported_elsewhere",
    );
  });
});
