import { describe, expect, it } from "vitest";
import type { SampleAttributes } from "../testing/otlp.ts";
import { eventOf, expectEvents, expectNone } from "../testing/otlp-dialect.ts";

// Samples: docs.cline.bot "OpenTelemetry Events Reference", and the names in the extension's TaskEvents.
const log = (name: string, attributes: SampleAttributes) => ({
  log: { resource: { "service.name": "cline" }, name, attributes },
});

describe("Cline", () => {
  it.each<SampleAttributes>([
    {
      task_id: "01J",
      model: "claude-opus-5",
      tokens_in: 12,
      tokens_out: 90,
      cached_tokens: 40_000,
      cost: 0.02,
    },
    {
      ulid: "01J",
      modelId: "claude-opus-5",
      tokensIn: 12,
      tokensOut: 90,
      cacheReadTokens: 40_000,
      totalCost: 0.02,
    },
  ])("reports a call as %j", (attributes) => {
    expectEvents("cline", log("task.tokens", attributes), [
      {
        type: "turn",
        harness: "cline",
        session: "01J",
        model: "claude-opus-5",
        cost_usd: 0.02,
        usage: { input_tokens: 12, cache_read_tokens: 40_000, output_tokens: 90, basis: "exclusive" },
      },
    ]);
  });

  it("reports a summary of the task", () => {
    const summary = { ulid: "01J", currentTokens: 150_000, maxContextWindow: 200_000 };
    expect(eventOf(log("task.summarize_task", summary))).toMatchObject({
      type: "compacted",
      tokens_before: undefined,
    });
  });

  it("needs no other events", () => {
    expectNone("cline", log("task.conversation_turn", { ulid: "01J" }), "not_needed");
    expectNone("cline", log("task.tokens", { tokens_in: 5 }), "no_session");
  });
});
