import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Sample: a span of litellm through Laminar, as lmnr 0.7.52 exports it.
const llm: SampleAttributes = {
  "lmnr.span.type": "LLM",
  "lmnr.association.properties.session_id": "s-1",
  "gen_ai.system": "openai",
  "gen_ai.request.model": "gpt-4o",
  "gen_ai.response.model": "gpt-4o-2024-08-06",
  "gen_ai.usage.input_tokens": 1_000,
  "gen_ai.usage.cache_read_input_tokens": 800,
  "gen_ai.usage.output_tokens": 500,
  "gen_ai.usage.cost": 0.05,
};

describe("OpenHands", () => {
  it("reports the calls that Laminar marks", () => {
    expectEvents("openhands", { span: { attributes: llm } }, [
      {
        harness: "openhands",
        session: "s-1",
        model: "gpt-4o-2024-08-06",
        cost_usd: 0.05,
        usage: { input_tokens: 1_000, cache_read_tokens: 800, output_tokens: 500 },
      },
    ]);
  });

  it("does not count what is around a call", () => {
    expectNone("openhands", { span: { attributes: { ...llm, "lmnr.span.type": "DEFAULT" } } }, "aggregate");
    expectNone("openhands", { span: { attributes: { "lmnr.span.type": "TOOL" } } }, "not_needed");
  });
});
