import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI } from "@google/genai";
import { ChatOpenAI } from "@langchain/openai";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { generateText, stepCountIs, tool, wrapLanguageModel } from "ai";
import { createAgent, tool as langChainTool } from "langchain";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { aiShape, guardMiddleware, guardSteps } from "../ai-sdk/index.ts";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard, type Guard } from "../guard.ts";
import { guardLangChain, langChainShape } from "../langchain/index.ts";
import { guardMastra } from "../mastra/index.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import {
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { Shape } from "../view/shape.ts";
import { type OptimisticCompaction, optimistic } from "./index.ts";

const LINE = 4_000;
const TURNS = 24;
const MODEL = "test-model";
const FILE = filler(60, "line of a file");

let model: ScriptedModel;
afterEach(() => model.close());

/** What the background calls ask, as the first words of their only message. */
const SHORTEN = "Shorten this:";
const SUMMARISE = "Summarise this:";
const isBackground = ({ body }: ModelRequest) => /(?:Shorten|Summarise) this:/.test(JSON.stringify(body));

async function startModel(): Promise<void> {
  model = await startScriptedModel((request) => {
    const asked = JSON.stringify(request.body);
    if (isBackground(request)) return { text: asked.includes(SHORTEN) ? "SHORT TEXT" : "PREPARED SUMMARY" };
    const strict = request.api === "anthropic" ? MESSAGE_RULES.anthropic : MESSAGE_RULES.mistral;
    const chat = request.api === "openai_chat" || request.api === "anthropic";
    const message = chat ? strict(request.messages) : undefined;
    if (message !== undefined) return { refuse: { status: 400, message } };
    const turns = model.requests.filter((one) => !isBackground(one)).length;
    return turns >= TURNS
      ? { text: "all read" }
      : { text: "Next.", calls: [{ name: "read", arguments: { path: `f${turns}.ts` } }] };
  });
}

/** Asks the model in the background, as a harness does with its own client. */
async function ask(prompt: string, signal: AbortSignal): Promise<string> {
  const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
  const messages = [{ role: "user" as const, content: prompt }];
  const answer = await openai.chat.completions.create({ model: MODEL, messages }, { signal });
  return answer.choices[0]!.message.content ?? "";
}

interface Run<M> {
  guard: Guard<M>;
  ahead: OptimisticCompaction;
  /** The guard's own summariser, which must not be needed. */
  options: { summarize: () => string };
}

type Adapter = [name: string, run: (how: "texts" | "summaries") => Promise<ReturnType<typeof setup>["seen"]>];

function setup<M>(shape: Shape<M>, how: "texts" | "summaries") {
  const seen = { masked: 0, compacted: 0, summarize: vi.fn(() => "written while the agent waits") };
  const guard = createGuard<M>({
    identity: { harness: "h", session: "s" },
    shape,
    window: 20_000,
    policy: {
      thresholds: { warning: null, ceiling: LINE, soft: null, hard: null, reserve: null },
      mask: how === "texts" ? { keepTurns: 1 } : null,
      restart: null,
    },
    onEvent: ({ type }) => {
      if (type === "masked" || type === "compacted") seen[type] += 1;
    },
  });
  const ahead = optimistic(guard, {
    compact: ({ content }, signal) => ask(`${SHORTEN}\n${content}`, signal),
    summarize: ({ messages, signal }) => ask(`${SUMMARISE}\n${JSON.stringify(messages)}`, signal),
  });
  const run: Run<M> = { guard, ahead, options: { summarize: seen.summarize } };
  return { run, seen };
}

/** Reads a file, and gives the work in the background time to end. */
async function readSlowly(ahead: OptimisticCompaction): Promise<string> {
  await ahead.settled();
  return FILE;
}

const readTool = (ahead: OptimisticCompaction) => ({
  read: tool({
    description: "Reads a file",
    inputSchema: z.object({ path: z.string() }),
    execute: () => readSlowly(ahead),
  }),
});

const ADAPTERS: Adapter[] = [
  [
    "OpenAI chat",
    async (how) => {
      const { run, seen } = setup(chatShape, how);
      const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
      const { completions } = guardChat(openai, run.guard, run.options).chat;
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Read all." }];
      for (let turn = 0; turn < TURNS; turn++) {
        const { message } = (await completions.create({ model: MODEL, messages })).choices[0]!;
        messages.push(message);
        for (const { id } of message.tool_calls ?? [])
          messages.push({ role: "tool", tool_call_id: id, content: FILE });
        await run.ahead.settled();
      }
      return seen;
    },
  ],
  [
    "OpenAI Responses",
    async (how) => {
      const { run, seen } = setup(responsesShape, how);
      const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
      const { responses } = guardResponses(openai, run.guard, run.options);
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Read all." }];
      for (let turn = 0; turn < TURNS; turn++) {
        const { output } = await responses.create({ model: MODEL, input });
        for (const item of output) {
          input.push(item as OpenAI.Responses.ResponseInputItem);
          if (item.type === "function_call")
            input.push({ type: "function_call_output", call_id: item.call_id, output: FILE });
        }
        await run.ahead.settled();
      }
      return seen;
    },
  ],
  [
    "Anthropic",
    async (how) => {
      const { run, seen } = setup(anthropicShape, how);
      const client = new Anthropic({ baseURL: model.url, apiKey: "x", maxRetries: 0 });
      const guarded = guardMessages(client, run.guard, run.options);
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read all." }];
      for (let turn = 0; turn < TURNS; turn++) {
        const { content } = await guarded.messages.create({ model: MODEL, max_tokens: 100, messages });
        messages.push({ role: "assistant", content });
        const results = content.flatMap((block) =>
          block.type === "tool_use"
            ? [{ type: "tool_result" as const, tool_use_id: block.id, content: FILE }]
            : [],
        );
        if (results.length > 0) messages.push({ role: "user", content: results });
        await run.ahead.settled();
      }
      return seen;
    },
  ],
  [
    "Ollama",
    async (how) => {
      const { run, seen } = setup(ollamaShape, how);
      const ollama = guardOllama(new Ollama({ host: model.url }), run.guard, run.options);
      const messages: { role: string; content: string }[] = [{ role: "user", content: "Read all." }];
      for (let turn = 0; turn < TURNS; turn++) {
        const { message } = await ollama.chat({ model: MODEL, messages });
        messages.push(message);
        for (const _ of message.tool_calls ?? []) messages.push({ role: "tool", content: FILE });
        await run.ahead.settled();
      }
      return seen;
    },
  ],
  [
    "AI SDK middleware",
    async (how) => {
      const { run, seen } = setup(aiShape, how);
      const chat = createOpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }).chat(MODEL);
      await generateText({
        model: wrapLanguageModel({ model: chat, middleware: guardMiddleware(run.guard, run.options) }),
        tools: readTool(run.ahead),
        prompt: "Read all.",
        stopWhen: stepCountIs(TURNS),
        maxRetries: 0,
      });
      return seen;
    },
  ],
  [
    "AI SDK guardSteps",
    async (how) => {
      const { run, seen } = setup(aiShape, how);
      const steps = guardSteps(run.guard.conversation(), run.options);
      await generateText({
        model: createOpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }).chat(MODEL),
        tools: readTool(run.ahead),
        prompt: "Read all.",
        prepareStep: steps.prepareStep,
        onStepFinish: async (step) => {
          steps.onStepFinish(step);
          await run.ahead.settled();
        },
        stopWhen: [stepCountIs(TURNS), steps.stopWhen],
        maxRetries: 0,
      });
      return seen;
    },
  ],
  [
    "LangChain",
    async (how) => {
      const { run, seen } = setup(langChainShape, how);
      const configuration = { baseURL: `${model.url}/v1` };
      const agent = createAgent({
        model: new ChatOpenAI({ model: MODEL, apiKey: "dummy", maxRetries: 0, configuration }),
        tools: [
          langChainTool(async () => readSlowly(run.ahead), {
            name: "read",
            description: "Reads a file",
            schema: z.object({ path: z.string() }),
          }),
        ],
        middleware: [guardLangChain(run.guard, run.options)],
      });
      await agent.invoke({ messages: "Read all." }, { recursionLimit: 200 });
      return seen;
    },
  ],
  [
    "Mastra",
    async (how) => {
      const { run, seen } = setup(aiShape, how);
      const agent = new Agent({
        id: "bot",
        name: "bot",
        instructions: "You read files.",
        tools: {
          read: createTool({
            id: "read",
            description: "Reads a file",
            inputSchema: z.object({ path: z.string() }),
            execute: () => readSlowly(run.ahead),
          }),
        },
        model: createOpenAI({ baseURL: `${model.url}/v1`, apiKey: "dummy" }).chat(MODEL),
        maxRetries: 0,
        inputProcessors: [guardMastra(run.guard, run.options)],
      });
      await agent.generate("Read all.", { maxSteps: TURNS + 1 });
      return seen;
    },
  ],
  [
    "Google Gen AI",
    async (how) => {
      const { run, seen } = setup(geminiShape, how);
      const client = new GoogleGenAI({ apiKey: "dummy", httpOptions: { baseUrl: model.url } });
      const { models } = guardGemini(client, run.guard, run.options);
      const contents: Content[] = [{ role: "user", parts: [{ text: "Read all." }] }];
      for (let turn = 0; turn < TURNS; turn++) {
        const { candidates, functionCalls = [] } = await models.generateContent({ model: MODEL, contents });
        contents.push(candidates![0]!.content!);
        const parts = functionCalls.map(({ id, name }) => ({
          functionResponse: { id, name: name!, response: { output: FILE } },
        }));
        if (parts.length > 0) contents.push({ role: "user", parts });
        await run.ahead.settled();
      }
      return seen;
    },
  ],
];

describe.each(ADAPTERS)("optimistic compaction through %s", (_, run) => {
  it.each([
    ["texts", "SHORT TEXT"],
    ["summaries", "PREPARED SUMMARY"],
  ] as const)("sends %s that were prepared in the background, below the line [W1]", async (how, prepared) => {
    await startModel();
    const { masked, compacted, summarize } = await run(how);
    const turns = model.requests.filter((one) => !isBackground(one));
    expect(turns).toHaveLength(TURNS);
    expect(turns.some(({ body }) => JSON.stringify(body).includes(prepared))).toBe(true);
    for (const { promptTokens } of turns) expect(promptTokens).toBeLessThan(LINE);
    expect(summarize).not.toHaveBeenCalled();
    expect(how === "texts" ? masked : compacted).toBeGreaterThan(0);
    // Every event belongs to something that was sent.
    expect(masked + compacted).toBeLessThan(TURNS / 2);
  });
});

it("a background call of the real client ends when the work is stopped", async () => {
  const errors: unknown[] = [];
  let asked = () => {};
  const begun = new Promise<void>((resolve) => {
    asked = resolve;
  });
  model = await startScriptedModel((request) => {
    if (!isBackground(request)) return { text: "ok" };
    asked();
    return new Promise(() => {});
  });
  const { run } = setup(chatShape, "texts");
  const results: Promise<string>[] = [];
  const ahead = optimistic(run.guard, {
    onError: (error) => errors.push(error),
    compact: ({ content }, signal) => {
      const answer = ask(`${SHORTEN}\n${content}`, signal);
      results.push(answer.catch((error: Error) => error.constructor.name));
      return answer;
    },
  });
  const openai = guardChat(new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }), run.guard);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Read all." }];
  for (let turn = 0; turn < 20 && results.length === 0; turn++) {
    messages.push({
      role: "assistant",
      tool_calls: [{ id: `c${turn}`, type: "function", function: { name: "read", arguments: "{}" } }],
    });
    messages.push({ role: "tool", tool_call_id: `c${turn}`, content: `${turn} ${FILE}` });
    await openai.chat.completions.create({ model: MODEL, messages });
  }
  await begun;
  ahead.stop();
  await ahead.settled();
  expect(new Set(await Promise.all(results))).toEqual(new Set(["APIUserAbortError"]));
  expect(errors).toEqual([]);
});
