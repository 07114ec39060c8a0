import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Sample: Arize-ai/openinference spec/semantic_conventions.md.
const llm: SampleAttributes = {
  "openinference.span.kind": "LLM",
  "session.id": "s-1",
  "llm.model_name": "gpt-4o",
  "llm.token_count.prompt": 5_000,
  "llm.token_count.completion": 40,
  "llm.token_count.prompt_details.cache_read": 4_000,
  "llm.token_count.completion_details.reasoning": 8,
  "llm.cost.total": 0.01,
  "input.value": "a secret",
};
const span = (attributes: SampleAttributes) => ({
  span: { resource: { "service.name": "bot" }, attributes: { ...llm, ...attributes } },
});

describe("OpenInference", () => {
  it("reports spans of kind LLM", () => {
    expectEvents("openinference", span({}), [
      {
        type: "turn",
        witness: "openinference",
        id: "span/b7ad6b7169203331",
        harness: "bot",
        session: "s-1",
        model: "gpt-4o",
        cost_usd: 0.01,
        usage: { input_tokens: 5_000, cache_read_tokens: 4_000, output_tokens: 40, reasoning_tokens: 8 },
      },
    ]);
  });

  it("does not count the spans around calls", () => {
    expectNone("openinference", span({ "openinference.span.kind": "AGENT" }), "aggregate");
    const tool = { span: { attributes: { "openinference.span.kind": "TOOL" } } };
    expectNone("openinference", tool, "not_needed");
  });
});
