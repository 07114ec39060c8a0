import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, wrapLanguageModel } from "ai";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { aiShape, guardMiddleware } from "../ai-sdk/index.ts";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard } from "../guard.ts";
import { guardLangChain, langChainShape } from "../langchain/index.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { withinWindow } from "../testing/scripted-model/window-rules.ts";
import { filler, toolTurn } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

const WINDOWS: Readonly<Record<string, number>> = { large: 100_000, medium: 40_000, small: 20_000 };
/** The sizes that a harness knows. */
const sizeOf = (model: string) => WINDOWS[model];

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const start = async (script: Script = () => ({ text: "ok" })) => {
  server = await startScriptedModel(withinWindow((model) => WINDOWS[model] ?? 20_000, script));
  return server;
};

/** A thread of about 43,000 tokens. */
const thread = (): { role: "user" | "assistant"; content: string }[] =>
  Array.from({ length: 30 }, (_, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `${at} ${filler(1_150, "words")}`,
  })).slice(0, 29);

/** The tokens of the calls that the server took, by model. */
const taken = (model: string) =>
  server!.requests.filter((one) => one.model === model).map(({ promptTokens }) => promptTokens);

type Send = (model: string, more?: object) => Promise<unknown>;

/** Calls with each client, with a guard that knows the sizes of three models. */
const CLIENTS: Readonly<Record<string, (url: string, window: typeof sizeOf | undefined) => Send>> = {
  openai(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window, onWarning() {} });
    const client = guardChat(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 }), guard);
    return (model, more) => client.chat.completions.create({ model, messages: thread(), ...more });
  },
  responses(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: responsesShape, window, onWarning() {} });
    const client = guardResponses(new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 }), guard);
    return (model, more) => client.responses.create({ model, input: thread(), ...more });
  },
  anthropic(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: anthropicShape, window, onWarning() {} });
    const client = guardMessages(new Anthropic({ baseURL: url, apiKey: "x", maxRetries: 0 }), guard);
    return (model, more) =>
      client.beta.messages.create({ model, max_tokens: 100, messages: thread(), ...more });
  },
  gemini(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: geminiShape, window, onWarning() {} });
    const client = guardGemini(new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: url } }), guard);
    return (model) =>
      client.models.generateContent({
        model,
        contents: thread().map(({ role, content }) => ({
          role: role === "user" ? "user" : "model",
          parts: [{ text: content }],
        })),
      });
  },
  aiSdk(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: aiShape, window, onWarning() {} });
    const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    return (name) =>
      generateText({
        model: wrapLanguageModel({ model: provider.chat(name), middleware: guardMiddleware(guard) }),
        messages: thread(),
        maxRetries: 0,
      });
  },
  langchain(url, window) {
    const guard = createGuard({ identity: { harness: "h" }, shape: langChainShape, window, onWarning() {} });
    return (model) => {
      const configuration = { baseURL: `${url}/v1` };
      const llm = new ChatOpenAI({ model, apiKey: "x", maxRetries: 0, configuration });
      const agent = createAgent({ model: llm, tools: [], middleware: [guardLangChain(guard)] });
      return agent.invoke({ messages: thread() }, { configurable: { thread_id: "t" } });
    };
  },
};

describe.each(Object.entries(CLIENTS))("a thread of 43,000 tokens, sent with %s", (_, connect) => {
  it("fits the window of the model that is asked, also on the first call and after a switch", async () => {
    const { url } = await start();
    await connect(url, sizeOf)("small");
    expect(taken("small")[0]).toBeLessThan(20_000);
    const send = connect(url, sizeOf);
    for (const model of ["large", "medium", "small"]) await send(model);
    expect(Math.min(...taken("large"))).toBeGreaterThan(40_000);
    expect(Math.max(...taken("medium"))).toBeLessThan(40_000);
    expect(Math.max(...taken("small"))).toBeLessThan(20_000);
  });

  it("is refused once by a model of unknown size, whose error teaches the window", async () => {
    const { url } = await start();
    const send = connect(url, undefined);
    await expect(send("nobody-knows")).rejects.toThrow();
    await send("nobody-knows");
    await send("nobody-knows");
    expect(Math.max(...taken("nobody-knows").slice(1))).toBeLessThan(20_000);
  });
});

it("learns the window from Ollama's refusal", async () => {
  const { url } = await start();
  const guard = createGuard({ identity: { harness: "h" }, shape: ollamaShape, onWarning() {} });
  const ollama = guardOllama(new Ollama({ host: url }), guard);
  // The server loads the model with another window than it says.
  const send = () => ollama.chat({ model: "m", messages: thread(), options: { num_ctx: 90_000 } });
  await expect(send()).rejects.toThrow("exceeds the available context size");
  expect(guard.conversation().read()).toMatchObject({ windowTokens: 20_000, windowSource: "reported" });
});

describe("models that a call may fall back to", () => {
  it.each([
    ["OpenRouter's models", { models: ["large", "small"] }],
    ["a gateway's fallbacks", { fallbacks: [{ model: "medium" }, { model: "small" }] }],
    ["fallbacks in a list of names", { fallbacks: ["small"] }],
  ])("count with their smallest window: %s", async (_, more) => {
    const { url } = await start();
    await CLIENTS.openai!(url, sizeOf)("large", more);
    expect(taken("large")[0]).toBeLessThan(20_000);
  });

  it("count with their smallest window: those named in the options of the wrapped client", async () => {
    const { url } = await start();
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window: sizeOf });
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 });
    const client = guardChat(openai, guard, { model: ["small"] });
    await client.chat.completions.create({ model: "large", messages: thread() });
    expect(taken("large")[0]).toBeLessThan(20_000);
  });

  it("count with their smallest window: a provider of the AI SDK that tries several", async () => {
    const { url } = await start();
    const guard = createGuard({ identity: { harness: "h" }, shape: aiShape, window: sizeOf });
    const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    const first = provider.chat("large");
    const tries = Object.assign(Object.create(first), {
      settings: { models: [first, provider.chat("small")] },
    });
    const model = wrapLanguageModel({ model: tries, middleware: guardMiddleware(guard) });
    await generateText({ model, messages: thread(), maxRetries: 0 });
    expect(taken("large")[0]).toBeLessThan(20_000);
  });

  it("are fitted one by one by LangChain's middleware", async () => {
    const { url } = await start(({ model }) =>
      model === "large" ? { refuse: { status: 400, message: "overloaded" } } : { text: "ok" },
    );
    const guard = createGuard({ identity: { harness: "h" }, shape: langChainShape, window: sizeOf });
    const llm = (model: string) =>
      new ChatOpenAI({ model, apiKey: "x", maxRetries: 0, configuration: { baseURL: `${url}/v1` } });
    const middleware = [modelFallbackMiddleware(llm("small")), guardLangChain(guard)] as const;
    const agent = createAgent({ model: llm("large"), tools: [], middleware });
    await agent.invoke({ messages: thread() }, { configurable: { thread_id: "t" } });
    expect(taken("large")[0]).toBeGreaterThan(40_000);
    expect(taken("small")[0]).toBeLessThan(20_000);
  });
});

describe("the windows of a conversation with several models", () => {
  const talk = (): Message[] => [{ role: "user", content: "Read." }, ...toolTurn(12_000), ...toolTurn(50)];
  const begin = (window: ((model: string) => number | undefined) | number = sizeOf) => {
    const warnings: string[] = [];
    const guard = createGuard({
      identity: { harness: "h" },
      window,
      onWarning: (text) => warnings.push(text),
    });
    return { thread: guard.conversation(), warnings };
  };

  it("keep the smallest known size for an unknown model, and say so once", () => {
    const { thread: one, warnings } = begin();
    for (const model of ["medium", "large"]) {
      one.prepare(talk(), { model, summaries: true });
      one.observe({ id: model, model, usage: { prompt_tokens: 13_000, completion_tokens: 9 } });
    }
    for (let call = 0; call < 3; call++) one.prepare(talk(), { model: "new-model" });
    expect(one.read()).toMatchObject({ windowTokens: 40_000, windowSource: "unknown" });
    expect(warnings.filter((text) => text.includes("new-model"))).toEqual([
      expect.stringContaining("uses 40,000 tokens, the smallest size known in this conversation"),
    ]);
    one.prepare(talk(), { model: ["large", "new-model"] });
    expect(one.read().windowTokens).toBe(40_000);
  });

  it("know a model by the name it answers under", () => {
    const { thread: one, warnings } = begin((model) => (model === "dep-1" ? undefined : WINDOWS[model]));
    one.prepare(talk(), { model: "dep-1" });
    expect(one.read()).toMatchObject({ windowTokens: undefined });
    const usage = { prompt_tokens: 13_000, completion_tokens: 9 };
    one.observe({ id: "a", model: "small", usage }, { model: "dep-1" });
    one.prepare(talk(), { model: "dep-1" });
    expect(one.read()).toMatchObject({ windowTokens: 20_000, windowSource: "catalog" });
    one.prepare(talk(), { model: "medium" });
    const other = one.observe({ id: "b", model: "medium-2026-11-01", usage }, { model: "medium" });
    expect(other.utilization).toBeCloseTo(13_000 / 40_000);
    expect(warnings).toEqual([]);
  });

  it("outlive the process, also those of an older state", () => {
    const { thread: one } = begin();
    one.reportWindow(9_000, "tiny");
    const state = JSON.parse(JSON.stringify(one.snapshot()));
    const restored = (begun: object) =>
      createGuard({ identity: { harness: "h" } }).conversation("main", { state: { ...state, ...begun } });
    const again = restored({});
    again.prepare(talk(), { model: "tiny" });
    expect(again.read()).toMatchObject({ windowTokens: 9_000, windowSource: "reported" });
    const { windows: _, asked: __, ...older } = state;
    const old = createGuard({ identity: { harness: "h" } }).conversation("main", {
      state: { ...older, reported: { model: "tiny", tokens: 8_000 } },
    });
    old.prepare(talk(), { model: "tiny" });
    expect(old.read()).toMatchObject({ windowTokens: 8_000, windowSource: "reported" });
  });

  it("convert the level when the tokenizer changes", () => {
    const { thread: one } = begin(200_000);
    one.prepare(talk(), { model: "claude-sonnet-4-6" });
    const usage = { input_tokens: 14_000, cache_read_input_tokens: 0, output_tokens: 9 };
    one.observe({ id: "a", model: "claude-sonnet-4-6", usage });
    expect(one.prepare(talk(), { model: "claude-sonnet-4-6" }).level).toMatchObject({
      tokens: 14_000,
      source: "measured",
    });
    expect(one.prepare(talk(), { model: "claude-opus-4-7" }).level).toMatchObject({
      tokens: Math.round((14_000 * 1.45) / 1.12),
      source: "calibrated",
    });
  });
});
