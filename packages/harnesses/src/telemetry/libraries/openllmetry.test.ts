import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Samples: names of traceloop/openllmetry semconv_ai, before and after its move to the GenAI conventions.
const span = (attributes: SampleAttributes) => ({
  span: { attributes: { "traceloop.association.properties.session_id": "s-1", ...attributes } },
});

describe("OpenLLMetry", () => {
  it.each<SampleAttributes>([
    {
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.usage.prompt_tokens": 700,
      "gen_ai.usage.completion_tokens": 9,
      "gen_ai.usage.cache_read_input_tokens": 600,
    },
    {
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.usage.input_tokens": 700,
      "gen_ai.usage.output_tokens": 9,
      "gen_ai.usage.cache_read.input_tokens": 600,
    },
  ])("reports a call as %j", (attributes) => {
    expectEvents("openllmetry", span({ "llm.request.type": "chat", ...attributes }), [
      { session: "s-1", usage: { input_tokens: 700, cache_read_tokens: 600, output_tokens: 9 } },
    ]);
  });

  // As LiteLLM's proxy writes it, which has OpenLLMetry's names.
  it.each(["completion", "acompletion", "aresponses", "anthropic_messages", "agenerate_content_stream"])(
    "reports a call of LiteLLM's function %s",
    (type) => {
      const attributes = {
        "llm.request.type": type,
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.system": "anthropic",
        "gen_ai.response.id": "chatcmpl-6f0e",
        "gen_ai.usage.prompt_tokens": 700,
        "gen_ai.usage.completion_tokens": 9,
        "gen_ai.usage.total_tokens": 709,
      };
      expectEvents("openllmetry", span(attributes), [
        { id: "chatcmpl-6f0e", session: "s-1", usage: { input_tokens: 700, output_tokens: 9 } },
      ]);
      const named = { ...attributes, "gen_ai.operation.name": type };
      expectEvents("openllmetry", span(named), [{ id: "chatcmpl-6f0e" }]);
    },
  );

  it.each(["embedding", "aembedding", "arerank", "amoderation", "aimage_generation"])(
    "needs nothing of LiteLLM's function %s",
    (type) => expectNone("openllmetry", span({ "llm.request.type": type }), "not_needed"),
  );

  // As its JavaScript SDK 0.27 writes it, in spans of its own and of others.
  it.each([
    ["openllmetry", "@traceloop/instrumentation-anthropic"],
    ["gen-ai", "some-framework"],
  ])("keeps the calls of a session together without names of its own, as %s", (dialect, scope) => {
    const attributes = {
      "traceloop.association.properties.session_id": "s-1",
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "claude-opus-5",
      "gen_ai.usage.input_tokens": 700,
    };
    expectEvents(dialect, { span: { scope, attributes } }, [{ session: "s-1", type: "turn" }]);
  });

  it("needs no workflows, tasks and embeddings", () => {
    expectNone("openllmetry", span({ "traceloop.span.kind": "workflow" }), "not_needed");
    const sdk = {
      span: { scope: "@traceloop/node-server-sdk", attributes: { "traceloop.workflow.name": "w" } },
    };
    expectNone("openllmetry", sdk, "not_needed");
    expectNone("openllmetry", span({ "llm.request.type": "embedding" }), "not_needed");
  });
});
