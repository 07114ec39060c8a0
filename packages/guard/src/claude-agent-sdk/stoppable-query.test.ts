import "../testing/clean-environment.ts";

import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, it } from "vitest";
import { CallForecast } from "../measure/forecast.ts";
import { all, PATIENCE, sdkUnderTest, shell } from "../testing/claude-session.ts";
import { StoppableQuery } from "./index.ts";

const { session, clean } = sdkUnderTest();

describe("a query of the Claude Agent SDK that can stop", () => {
  it(
    "stops before the call that would exceed the budget [P12]",
    async () => {
      let steps = 0;
      const { asked, url } = await session(({ promptTokens }) => {
        return ++steps > 30 ? { text: "Done." } : shell("head -c 16000 big.txt", promptTokens);
      });
      const forecast = new CallForecast();
      const predicted: number[] = [];
      const work = new StoppableQuery<SDKMessage>({
        query,
        prompt: "Read it all.",
        options: clean(url),
        onMessage: (message) => {
          const { usage } = (message as { message?: { usage?: Record<string, number> } }).message ?? {};
          if (message.type === "assistant" && usage !== undefined)
            forecast.counted(usage.input_tokens! + usage.cache_read_input_tokens!, false);
        },
        isOver: (next) => {
          predicted.push(forecast.next(next).tokens);
          return predicted.at(-1)! > 25_000;
        },
      });
      const messages = await all(work);
      expect(work.stopped).toBe(true);
      expect(messages.at(-1)).toMatchObject({ type: "result", terminal_reason: "hook_stopped" });
      const sent = asked().map(({ promptTokens }) => promptTokens);
      for (const tokens of sent) expect(tokens).toBeLessThanOrEqual(25_000);
      for (const [at, tokens] of sent.slice(1).entries()) expect(predicted[at]! / tokens).toBeCloseTo(1, 1);
      const uses = messages.filter(({ type }) => type === "user");
      expect(uses).toHaveLength(sent.length);
    },
    PATIENCE,
  );

  it(
    "ends by itself if it never exceeds its budget, and passes on hooks and results of the caller",
    async () => {
      const { url } = await session(({ messages }) =>
        JSON.stringify(messages).includes("tool_result") ? { text: "Done." } : shell("echo x", 1_000),
      );
      let hooked = 0;
      const count = async () => {
        hooked++;
        return {};
      };
      const options = { ...clean(url), hooks: { PostToolBatch: [{ hooks: [count] }] } };
      const work = new StoppableQuery<SDKMessage>({ query, prompt: "Go.", options, isOver: () => false });
      const messages = await all(work);
      expect(work.stopped).toBe(false);
      expect(hooked).toBe(1);
      expect(messages.at(-1)).toMatchObject({ type: "result", result: "Done." });
    },
    PATIENCE,
  );
});
