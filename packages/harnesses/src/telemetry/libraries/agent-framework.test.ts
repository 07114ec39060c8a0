import { describe, it } from "vitest";
import type { SampleAttributes } from "../../testing/otlp.ts";
import { expectEvents, expectNone } from "../../testing/otlp-dialect.ts";

// Sample: microsoft/agent-framework python observability.py at 5eb3eb7.
const chat: SampleAttributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-5",
  "gen_ai.response.id": "resp_7",
  "gen_ai.conversation.id": "s-1",
  "gen_ai.agent.name": "Writer",
  "gen_ai.usage.input_tokens": 900,
  "gen_ai.usage.cache_creation.input_tokens": 100,
  "gen_ai.usage.reasoning.output_tokens": 4,
};

describe("Microsoft Agent Framework", () => {
  it.each(["agent_framework", "Microsoft.Agents.AI"])("reports calls of the scope %s", (scope) => {
    expectEvents("agent-framework", { span: { scope, attributes: chat } }, [
      {
        id: "resp_7",
        harness: "agent-framework",
        agent: "Writer",
        usage: { input_tokens: 900, cache_write_tokens: 100, reasoning_tokens: 4 },
      },
    ]);
  });

  it("does not count the sums of a run", () => {
    const attributes = { ...chat, "gen_ai.operation.name": "invoke_agent" };
    expectNone("agent-framework", { span: { scope: "agent_framework", attributes } }, "aggregate");
  });
});
