import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Sample: names of openlit/openlit sdk/python semcov, August 2026.
const resource = { "telemetry.sdk.name": "openlit", "service.name": "bot" };
const chat: SampleAttributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-sonnet-4-5",
  "gen_ai.conversation.id": "s-1",
  "gen_ai.usage.input_tokens": 900,
  "gen_ai.usage.output_tokens": 9,
  "gen_ai.usage.cache_read_input_tokens": 700,
  "gen_ai.usage.cache_write_input_tokens": 100,
  "gen_ai.usage.cost": 0.004,
  "gen_ai.request.context_window": 200_000,
};

describe("OpenLIT", () => {
  it("reports calls with its own names for caches, cost and window", () => {
    expectEvents("openlit", { span: { resource, attributes: chat } }, [
      {
        harness: "bot",
        session: "s-1",
        context_window: 200_000,
        cost_usd: 0.004,
        usage: { input_tokens: 900, cache_read_tokens: 700, cache_write_tokens: 100, output_tokens: 9 },
      },
    ]);
  });

  it("does not count runs, nor events that repeat a call", () => {
    const run = { ...chat, "gen_ai.operation.name": "invoke_agent" };
    expectNone("openlit", { span: { resource, attributes: run } }, "aggregate");
    const name = "gen_ai.client.inference.operation.details";
    expectNone("openlit", { log: { resource, name, attributes: chat } }, "reported_elsewhere");
  });
});
