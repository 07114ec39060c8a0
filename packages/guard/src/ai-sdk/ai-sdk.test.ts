import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { generateText, Output, stepCountIs, streamText, ToolLoopAgent, tool, wrapLanguageModel } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { Conversation } from "../conversation/conversation.ts";
import { fit } from "../fit.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
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

const reads: Script = ({ call }) =>
  call < 25 ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" };

async function setup(script = reads) {
  server = await startScriptedModel(script);
  const events: PlimsollEventInput[] = [];
  const guard = new Conversation<AiMessage>({
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
  it("stays below its line with middleware in generateText", async () => {
    const { model, guard, events } = await setup();
    const result = await generateText({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
      tools,
      prompt: "Read all of them.",
      stopWhen: stepCountIs(40),
    });
    expect(result.text).toBe("all read");
    expectBelow(25, events);
    // The total of all steps exceeds the window, so no event may contain it.
    expect(result.totalUsage.inputTokens).toBeGreaterThan(50_000);
    expect(guard.state.peak).toBeLessThan(8_000);
  });

  it("stays below its line with middleware in streamText", async () => {
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
    ["passes the messages of earlier steps", true],
    ["passes the whole history", false],
  ])("prepareStep sends each notice once in an SDK version that %s", async (_, persists) => {
    const make = () =>
      new Conversation<AiMessage>({
        identity: { harness: "h", session: "s" },
        shape: aiShape,
        window: 4_000,
        policy: { thresholds: { warning: null, ceiling: "60%", soft: "40%", hard: "90%" } },
      });
    const [guard, twin] = [make(), make()];
    const { prepareStep } = guardSteps(guard, { summarize: "without_model" });
    const whole: AiMessage[] = [{ role: "user", content: "Read all of them." }];
    let kept = whole;
    for (let step = 0; step < 40; step++) {
      const { messages } = await prepareStep({ messages: persists ? kept : whole });
      expect(messages).toEqual((await fit(twin, whole, { summarize: "without_model" })).messages);
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

  it("stays below its line with prepareStep, without middleware", async () => {
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

  it("counts each call of a structured answer once", async () => {
    const { model, guard, events } = await setup(({ call }) =>
      call < 3 ? { calls: [{ name: "read", arguments: { path: "a.go" } }] } : { text: '{"files":3}' },
    );
    const { output } = await generateText({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
      tools,
      prompt: "How many?",
      output: Output.object({ schema: z.object({ files: z.number() }) }),
      stopWhen: stepCountIs(5),
    });
    expect(output).toEqual({ files: 3 });
    expect(events.filter(({ type }) => type === "turn")).toHaveLength(3);
  });

  it("stays below its line in an agent with middleware", async () => {
    const { model, guard, events } = await setup();
    const agent = new ToolLoopAgent({
      model: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
      tools,
      stopWhen: stepCountIs(40),
    });
    expect((await agent.generate({ prompt: "Read all of them." })).text).toBe("all read");
    expectBelow(25, events);
  });

  it("stays below its line in a streaming agent with steps", async () => {
    const { model, guard, events } = await setup();
    const { prepareStep, onStepFinish, stopWhen } = guardSteps(guard);
    const agent = new ToolLoopAgent({
      model,
      tools,
      prepareStep,
      onStepFinish,
      stopWhen: [stepCountIs(40), stopWhen],
    });
    expect(await (await agent.stream({ prompt: "Read all of them." })).text).toBe("all read");
    expectBelow(25, events);
  });

  describe.each(["generateText", "streamText"])("in %s", (how) => {
    async function run(over: { max: number; prompt: string; onStop?: "send" }) {
      const { model } = await setup();
      const events: PlimsollEventInput[] = [];
      const guard = new Conversation<AiMessage>({
        identity: { harness: "h", session: "s" },
        shape: aiShape,
        window: 20_000,
        policy: {
          thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
          mask: null,
          restart: { graceTurns: 0, max: over.max },
        },
        onEvent: (event) => events.push(event),
      });
      const steps = guardSteps(guard, over.onStop === undefined ? {} : { onStop: over.onStop });
      const options = {
        model,
        tools,
        prompt: over.prompt,
        prepareStep: steps.prepareStep,
        onStepFinish: steps.onStepFinish,
        stopWhen: [stepCountIs(12), steps.stopWhen],
      };
      if (how === "generateText") {
        const { steps: made } = await generateText(options);
        return { made, steps, guard, events };
      }
      let failure: unknown;
      const result = streamText({
        ...options,
        onError: ({ error }) => {
          failure = error;
        },
      });
      await result.consumeStream();
      if (failure !== undefined) throw failure;
      return { made: await result.steps, steps, guard, events };
    }

    it("ends before a step that needs a restart when none is left, and keeps the earlier steps", async () => {
      const { made, steps, guard, events } = await run({ max: 0, prompt: "Read all of them." });
      expect(made.length).toBeGreaterThan(2);
      expect(made.length).toBeLessThan(12);
      expect(server!.requests).toHaveLength(made.length);
      expect(guard.state.allTurns).toBe(made.length);
      // The step over the line contains the wind-down notice; the next would be about 1,900 tokens larger.
      const levels = server!.requests.map(({ promptTokens }) => promptTokens);
      expect(levels.filter((tokens) => tokens > 12_000)).toHaveLength(1);
      expect(steps.stopped()).toMatchObject({ code: "max_restarts" });
      expect(events.filter(({ type }) => type === "withheld")).toHaveLength(1);
    });

    it("restarts while restarts are left, each reported once", async () => {
      const { made, steps, guard, events } = await run({ max: 3, prompt: "Read all of them." });
      expect(made).toHaveLength(12);
      expect(steps.stopped()).toBeUndefined();
      expect(guard.state.restarts).toBeGreaterThan(0);
      expect(events.filter(({ type }) => type === "restarted")).toHaveLength(guard.state.restarts);
      const restarted = server!.requests.filter(({ messages }) =>
        JSON.stringify(messages).includes("[Session restarted."),
      );
      expect(restarted.length).toBeGreaterThan(0);
    });

    it("sends every step with `onStop: send`", async () => {
      const { made, steps } = await run({ max: 0, prompt: "Read all of them.", onStop: "send" });
      expect(made).toHaveLength(12);
      expect(steps.stopped()).toBeUndefined();
    });

    it("throws if the first step must not be sent", async () => {
      await expect(run({ max: 0, prompt: filler(21_000) })).rejects.toMatchObject({
        name: "GuardError",
        code: "max_restarts",
      });
      expect(server!.requests).toHaveLength(0);
    });
  });
});
