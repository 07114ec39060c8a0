import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Samples: pydantic/pydantic-ai models/instrumented.py, versions 1 and 5.
const chat: SampleAttributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-sonnet-4-5",
  "gen_ai.conversation.id": "s-1",
  "gen_ai.agent.name": "analyst",
  "gen_ai.usage.input_tokens": 900,
  "gen_ai.usage.output_tokens": 9,
  "gen_ai.usage.details.cache_read_tokens": 700,
  "operation.cost": 0.004,
};
const span = (attributes: SampleAttributes) => ({
  span: { scope: "pydantic-ai", resource: { "service.name": "bot" }, attributes },
});

describe("Pydantic AI", () => {
  it("reports the call of a chat span under its agent", () => {
    expectEvents("pydantic-ai", span(chat), [
      {
        harness: "bot",
        session: "s-1",
        agent: "analyst",
        cost_usd: 0.004,
        usage: { input_tokens: 900, cache_read_tokens: 700, output_tokens: 9 },
      },
    ]);
  });

  it.each<SampleAttributes>([
    { "gen_ai.operation.name": "invoke_agent", "gen_ai.aggregated_usage.input_tokens": 90_000 },
    { agent_name: "analyst", model_name: "gpt-4o", "gen_ai.usage.input_tokens": 90_000 },
  ])("does not count the sums of a run: %j", (attributes) => {
    expectNone("pydantic-ai", span(attributes), "aggregate");
  });

  it("reports a compaction", () => {
    const compaction = {
      "gen_ai.conversation.id": "s-1",
      "gen_ai.conversation.compacted": true,
      "compaction.tokens_before": 90_000,
      "compaction.tokens_after": 8_000,
    };
    expectEvents("pydantic-ai", span(compaction), [{ type: "compacted", tokens_before: undefined }]);
  });
});
