import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { generateText, isStepCount, Output, streamText, ToolLoopAgent, tool, wrapLanguageModel } from "ai-7";
import { createOpenAI } from "ai-sdk-openai-4";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { Conversation } from "../conversation/conversation.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { NoticePlace } from "../view/view.ts";
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

const SOFT: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } };

const reads: Script = ({ call }) =>
  call < 25 ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" };

async function setup(
  script: Script = reads,
  {
    policy = SOFT,
    window = 8_000,
    notices,
  }: { policy?: PolicyInput; window?: number; notices?: NoticePlace } = {},
) {
  server = await startScriptedModel((request) => {
    const refused = MESSAGE_RULES.mistral(request.messages);
    return refused === undefined ? script(request) : { refuse: { status: 400, message: refused } };
  });
  const events: PlimsollEventInput[] = [];
  const guard = new Conversation<AiMessage>({
    identity: { harness: "h", session: "s" },
    shape: aiShape,
    window,
    policy,
    ...(notices && { notices }),
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  const model = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "dummy" }).chat("gpt-5.1");
  return {
    model,
    guarded: wrapLanguageModel({ model, middleware: guardMiddleware(guard) }),
    guard,
    of: (type: string) => events.filter((event) => event.type === type),
  };
}

function expectBelow(turns: number, of: (type: string) => unknown[]) {
  expect(server!.requests).toHaveLength(turns);
  for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
  expect(of("turn")).toHaveLength(turns);
  expect(of("masked").length).toBeGreaterThan(1);
  const last = server!.requests.at(-1)!.messages;
  expect(last.find((message) => String(message.content).includes("[read: f1.go -- "))).toBeDefined();
}

// The package supports no earlier version.
const supported = Number(process.versions.node.split(".")[0]) >= 22;

describe.runIf(supported)("the Vercel AI SDK 7, on Node 22 or later", () => {
  it("stays below its line with middleware in generateText", async () => {
    const { guarded, guard, of } = await setup();
    const result = await generateText({
      model: guarded,
      tools,
      prompt: "Read all of them.",
      stopWhen: isStepCount(40),
    });
    expect(result.text).toBe("all read");
    expectBelow(25, of);
    expect(guard.state).toMatchObject({ model: "gpt-5.1", level: server!.requests.at(-1)!.promptTokens });
    expect(JSON.stringify(result.responseMessages)).not.toContain("[read: f1.go -- ");
  });

  it("stays below its line with middleware in streamText", async () => {
    const { guarded, of } = await setup();
    const result = streamText({
      model: guarded,
      tools,
      prompt: "Read all of them.",
      stopWhen: isStepCount(40),
    });
    expect(await result.text).toBe("all read");
    expectBelow(25, of);
  });

  it.each(["generateText", "streamText"] as const)("stays below its line with steps in %s", async (how) => {
    const { model, guard, of } = await setup();
    const { prepareStep, onStepFinish, stopWhen } = guardSteps(guard);
    const options = {
      model,
      tools,
      prompt: "Read all of them.",
      prepareStep,
      onStepFinish,
      stopWhen: [isStepCount(40), stopWhen],
    };
    const text = how === "generateText" ? (await generateText(options)).text : await streamText(options).text;
    expect(text).toBe("all read");
    expectBelow(25, of);
  });

  it("counts a structured answer once", async () => {
    const { guarded, of } = await setup(() => ({ text: '{"files":3}' }));
    const { output } = await generateText({
      model: guarded,
      prompt: "How many?",
      output: Output.object({ schema: z.object({ files: z.number() }) }),
    });
    expect(output).toEqual({ files: 3 });
    expect(of("turn")).toHaveLength(1);
  });

  it("stays below its line in an agent with middleware", async () => {
    const { guarded, of } = await setup();
    const agent = new ToolLoopAgent({ model: guarded, tools, stopWhen: isStepCount(40) });
    expect((await agent.generate({ prompt: "Read all of them." })).text).toBe("all read");
    expectBelow(25, of);
  });

  it("stays below its line in a streaming agent with steps", async () => {
    const { model, guard, of } = await setup();
    const { prepareStep, onStepFinish, stopWhen } = guardSteps(guard);
    const agent = new ToolLoopAgent({
      model,
      tools,
      prepareStep,
      onStepFinish,
      stopWhen: [isStepCount(40), stopWhen],
    });
    expect(await (await agent.stream({ prompt: "Read all of them." })).text).toBe("all read");
    expectBelow(25, of);
  });

  it.each(["middleware", "steps"])("ends when no restart is left, with %s", async (how) => {
    const { model, guarded, guard } = await setup(reads, {
      window: 20_000,
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
        mask: null,
        restart: { graceTurns: 0, max: 0 },
      },
    });
    const options = { tools, prompt: "Read all of them." };
    if (how === "middleware") {
      const call = generateText({ ...options, model: guarded, stopWhen: isStepCount(12) });
      await expect(call).rejects.toMatchObject({ name: "GuardError", code: "max_restarts" });
      return;
    }
    const { prepareStep, onStepFinish, stopWhen, stopped } = guardSteps(guard);
    const { steps } = await generateText({
      ...options,
      model,
      prepareStep,
      onStepFinish,
      stopWhen: [isStepCount(12), stopWhen],
    });
    expect(steps.length).toBeLessThan(12);
    expect(stopped()).toMatchObject({ code: "max_restarts" });
  });

  it.each(["middleware", "steps"])("restarts, with notices in the system prompt, with %s", async (how) => {
    const { model, guarded, guard, of } = await setup(reads, {
      window: 20_000,
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "40%" },
        mask: null,
        restart: { graceTurns: 1 },
      },
      notices: "system",
    });
    const options = { tools, instructions: "You read files.", prompt: "Read all of them." };
    if (how === "middleware") await generateText({ ...options, model: guarded, stopWhen: isStepCount(40) });
    else {
      const { prepareStep, onStepFinish, stopWhen } = guardSteps(guard);
      await generateText({
        ...options,
        model,
        prepareStep,
        onStepFinish,
        stopWhen: [isStepCount(40), stopWhen],
      });
    }
    expect(server!.requests).toHaveLength(25);
    expect(of("restarted").length).toBeGreaterThan(1);
    const systems = server!.requests.map(({ messages }) =>
      JSON.stringify(messages.filter(({ role }) => role === "system" || role === "developer")),
    );
    expect(systems.every((text) => text.includes("You read files."))).toBe(true);
    expect(new Set(systems).size).toBeGreaterThan(1);
  });

  it("counts a call that the caller aborts, with the estimate of its prompt", async () => {
    const { guarded, guard, of } = await setup(() => new Promise(() => {}));
    const stop = new AbortController();
    const call = generateText({ model: guarded, prompt: filler(500), abortSignal: stop.signal });
    await expect.poll(() => server!.requests.length).toBe(1);
    stop.abort();
    await expect(call).rejects.toThrow();
    expect(of("turn")).toHaveLength(1);
    expect(guard.read().level!.tokens).toBeGreaterThan(400);
  });

  it("counts a stream that its reader aborts", async () => {
    const { guarded, of } = await setup(() => ({ text: "a long answer" }));
    const stop = new AbortController();
    const result = streamText({ model: guarded, prompt: "Hello", abortSignal: stop.signal });
    for await (const part of result.stream) if (part.type === "text-delta") stop.abort();
    await expect.poll(() => of("turn").length).toBe(1);
  });
});
