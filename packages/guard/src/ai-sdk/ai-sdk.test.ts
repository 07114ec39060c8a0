import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import type { PlimsollEventInput } from "@plimsoll/protocol";
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { fit } from "../fit.ts";
import { ContextGuard } from "../guard.ts";
import { type ScriptedModel, startScriptedModel } from "../scripted-model/index.ts";
import { filler } from "../testing.ts";
import { type AiMessage, aiShape, guardMiddleware, guardSteps } from "./index.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const tools = {
  read: tool({
    description: "Reads a file",
    inputSchema: z.object({ path: z.string() }),
    execute: async () => filler(600, "line of it"),
  }),
};

async function setup() {
  server = await startScriptedModel(({ call }) =>
    call < 25 ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" },
  );
  const events: PlimsollEventInput[] = [];
  const guard = new ContextGuard<AiMessage>({
    identity: { harness: "h", session: "s" },
    shape: aiShape,
    window: 8_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } },
    onEvent: (event) => events.push(event),
  });
  return {
    model: createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "dummy" }).chat("gpt-5.1"),
    guard,
    events,
  };
}

function expectBelow(turns: number, events: readonly PlimsollEventInput[]) {
  expect(server!.requests).toHaveLength(turns);
  for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
  expect(events.filter((event) => event.type === "turn")).toHaveLength(turns);
  expect(events.filter((event) => event.type === "masked").length).toBeGreaterThan(1);
  const last = server!.requests.at(-1)!.messages;
  expect(last.find((message) => String(message.content).includes("[read: f1.go -- "))).toBeDefined();
}

describe("the Vercel AI SDK", () => {
  it("is kept below its line by middleware over all steps of generateText", async () => {
    const { model, guard, events } = await setup();
    const result = await generateText({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
      tools,
      prompt: "Read all of them.",
      stopWhen: stepCountIs(40),
    });
    expect(result.text).toBe("all read");
    expectBelow(25, events);
    // The total of all steps is far above the window; no event may carry it.
    expect(result.totalUsage.inputTokens).toBeGreaterThan(50_000);
    expect(guard.state.peak).toBeLessThan(8_000);
  });

  it("is kept below its line by middleware when it streams", async () => {
    const { model, guard, events } = await setup();
    const result = streamText({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
      tools,
      prompt: "Read all of them.",
      stopWhen: stepCountIs(40),
    });
    expect(await result.text).toBe("all read");
    expectBelow(25, events);
  });

  it.each([
    ["keeps the messages of each step", true],
    ["begins each step with the whole history", false],
  ])("is told each thing once by prepareStep, in a version that %s", async (_, persists) => {
    const make = () =>
      new ContextGuard<AiMessage>({
        identity: { harness: "h", session: "s" },
        shape: aiShape,
        window: 4_000,
        policy: { thresholds: { warning: null, ceiling: "60%", soft: "40%", hard: "90%" } },
      });
    const [guard, twin] = [make(), make()];
    const { prepareStep } = guardSteps(guard);
    const whole: AiMessage[] = [{ role: "user", content: "Read all of them." }];
    let kept = whole;
    for (let step = 0; step < 40; step++) {
      const { messages } = await prepareStep({ messages: persists ? kept : whole });
      expect(messages).toEqual((await fit(twin, whole)).messages);
      const reply: AiMessage[] = [
        {
          role: "assistant",
          content: [{ type: "tool-call", toolCallId: `c${step}`, toolName: "read", input: {} }],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: `c${step}`,
              toolName: "read",
              output: { type: "text", value: filler(200, `step${step}`) },
            },
          ],
        },
      ];
      whole.push(...reply);
      kept = [...messages, ...reply];
    }
    expect(guard.state).toMatchObject({ maskings: twin.state.maskings, compactions: twin.state.compactions });
    expect(guard.state.maskings).toBeGreaterThan(1);
    expect(guard.state.compactions).toBeGreaterThan(0);
  });

  it("is kept below its line by prepareStep, without middleware", async () => {
    const { model, guard, events } = await setup();
    const steps = guardSteps(guard);
    const result = await generateText({
      model,
      tools,
      prompt: "Read all of them.",
      prepareStep: steps.prepareStep,
      onStepFinish: steps.onStepFinish,
      stopWhen: [stepCountIs(40), steps.stopWhen],
    });
    expect(result.text).toBe("all read");
    expectBelow(25, events);
  });
});
