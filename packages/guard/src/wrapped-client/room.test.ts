import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import fc from "fast-check";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard } from "../guard.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { withinWindow } from "../testing/scripted-model/window-rules.ts";
import { counted, filler, testGuard, toolTurn, usage } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const WINDOW = 24_000;
type Said = { role: "user" | "assistant"; content: string };

/** Calls of each client with a limit of the answer, under the name that the client has for it. */
const CLIENTS: Readonly<
  Record<string, (url: string) => (messages: Said[], limit: number) => Promise<unknown>>
> = {
  anthropic(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: anthropicShape, window: WINDOW });
    const { messages: api } = guardMessages(new Anthropic({ baseURL: url, apiKey: "x" }), guard);
    return (messages, max_tokens) => api.create({ model: "m", max_tokens, messages });
  },
  "anthropic, thinking"(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: anthropicShape, window: WINDOW });
    const { messages: api } = guardMessages(new Anthropic({ baseURL: url, apiKey: "x" }), guard);
    return (messages, max_tokens) =>
      api.create({
        model: "m",
        max_tokens,
        thinking: { type: "enabled", budget_tokens: max_tokens - 1 },
        messages,
      });
  },
  "openai, max_completion_tokens"(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window: WINDOW });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    const { completions } = guardChat(client, guard).chat;
    return (messages, max_completion_tokens) =>
      completions.create({ model: "m", messages, max_completion_tokens });
  },
  "openai, max_tokens"(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window: WINDOW });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    const { completions } = guardChat(client, guard).chat;
    return (messages, max_tokens) => completions.create({ model: "m", messages, max_tokens });
  },
  responses(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: responsesShape, window: WINDOW });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x" });
    const { responses } = guardResponses(client, guard);
    return (input, max_output_tokens) => responses.create({ model: "m", input, max_output_tokens });
  },
  gemini(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: geminiShape, window: WINDOW });
    const { models } = guardGemini(new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: url } }), guard);
    return (messages, maxOutputTokens) =>
      models.generateContent({
        model: "m",
        contents: messages.map(({ role, content }) => ({
          role: role === "user" ? "user" : "model",
          parts: [{ text: content }],
        })),
        config: { maxOutputTokens },
      });
  },
  ollama(url) {
    const guard = createGuard({ identity: { harness: "h" }, shape: ollamaShape });
    const ollama = guardOllama(new Ollama({ host: url }), guard);
    return (messages, num_predict) =>
      ollama.chat({ model: "m", messages, options: { num_ctx: WINDOW, num_predict } });
  },
};

describe.each(Object.entries(CLIENTS))(
  "a server that checks prompt and answer, called with %s",
  (_, connect) => {
    it("refuses none of 20 calls with an answer of up to 6,000 tokens", async () => {
      const limit = 6_000;
      server = await startScriptedModel(
        withinWindow(
          () => WINDOW,
          () => ({ text: "ok" }),
        ),
      );
      const send = connect(server.url);
      const messages: Said[] = [];
      for (let at = 0; at < 20; at++) {
        const text = at % 7 === 3 ? filler(3_000, "0xdeadbeef") : filler(1_000 + ((at * 131) % 900), "words");
        messages.push({ role: "user", content: `${at} ${text}` });
        await send(messages, limit);
        messages.push({ role: "assistant", content: "ok" });
      }
      const sent = server.requests.map(({ promptTokens }) => promptTokens);
      expect(sent).toHaveLength(20);
      expect(Math.max(...sent)).toBeLessThanOrEqual(WINDOW - limit);
    });
  },
);

describe("a result that does not fit", () => {
  const begin = (extra: object = {}) => {
    const stored = new Map<string, string>();
    const store = {
      put: (key: string, text: string) => void stored.set(key, text),
      get: (key: string) => stored.get(key),
    };
    return { ...testGuard({ window: 16_000, store, ...extra }), stored };
  };
  const start = (): Message[] => [
    { role: "system", content: "You read files." },
    { role: "user", content: "Read the log." },
    ...toolTurn(400, "list"),
    ...toolTurn(600, "grep"),
  ];

  it("is shortened to start and end with a recall key, and the small results before it stay", () => {
    const { guard, of, stored } = begin();
    const lines = Array.from({ length: 30_000 }, (_, line) => `line${line} text`);
    const [call, result] = toolTurn(1) as [Message, Message];
    const messages = [...start(), call, { ...result, content: lines.join("\n") }];
    const prepared = guard.prepare(messages);
    const text = prepared.messages.at(-1)!.content;
    expect(text.startsWith("line0 text")).toBe(true);
    expect(text.endsWith("line29999 text")).toBe(true);
    const key = /recall key (\S+)\]/.exec(text)![1]!;
    expect(stored.get(key)).toBe(lines.join("\n"));
    expect(prepared.messages.slice(0, -1)).toEqual(messages.slice(0, -1));
    expect(counted(prepared.messages)).toBeLessThan(16_000);
    expect(prepared.actions).toMatchObject([{ type: "mask", observations: 1, tools: ["file_read"] }]);
    expect(of("masked")).toHaveLength(1);
    expect(of("restarted")).toEqual([]);
  });

  it("is masked whole once the agent has read it and it is old", () => {
    const { guard } = begin();
    const messages = [...start(), ...toolTurn(60_000)];
    for (let at = 0; at < 30; at++) {
      const { messages: sent } = guard.prepare(messages);
      guard.observe(usage(counted(sent), `t${at}`));
      messages.push(...toolTurn(700));
    }
    expect(guard.view(messages)[7]!.content).toContain("[file_read: src/a.ts");
  });

  it("shares the room with the other results of the same turn", () => {
    const { guard } = begin();
    const ids = ["a", "b", "c"];
    const calls = ids.map((id) => ({ id, name: "read", arguments: {} }));
    const results = ids.map(
      (id, at): Message => ({
        role: "tool",
        toolCallId: id,
        content: filler([20_000, 300, 9_000][at]!, id),
      }),
    );
    const prepared = guard.prepare([
      ...start(),
      { role: "assistant", content: "", toolCalls: calls },
      ...results,
    ]);
    const sizes = prepared.messages.slice(-3).map((message) => counted([message]));
    expect(sizes[1]).toBe(304);
    expect(Math.min(sizes[0]!, sizes[2]!)).toBeGreaterThan(1_000);
    expect(counted(prepared.messages)).toBeLessThan(16_000);
  });

  it("is shortened further where cutting the turns before it would not be enough", () => {
    const thresholds = { warning: null, ceiling: "90%", soft: "80%", hard: null, reserve: null } as const;
    const mask = { minTokens: 40, keepTurns: 1 };
    for (let rules = 1_000; rules < 1_800; rules += 10) {
      const { guard } = testGuard({
        window: 5_000,
        policy: { thresholds, mask, compact: null, restart: null },
      });
      const messages: Message[] = [
        { role: "system", content: filler(rules) },
        { role: "user", content: filler(280, "q") },
        { role: "assistant", content: filler(130, "a") },
        { role: "user", content: filler(280, "q") },
        ...[27, 27, 27].flatMap((tokens) => toolTurn(tokens)),
        { role: "assistant", content: filler(130, "a") },
        { role: "user", content: "go" },
      ];
      guard.prepare(messages, { outputTokens: 50 });
      guard.observe(usage(counted(messages), "t0"));
      messages.push(...toolTurn(8_000));
      const { actions, messages: sent, level } = guard.prepare(messages, { outputTokens: 1_500 });
      const done = actions.map(({ type }) => type);
      expect(done, `${rules}`).not.toContain("stop");
      expect(done.filter((type) => type === "cut").length, `${rules}`).toBeLessThanOrEqual(1);
      expect(counted(sent), `${rules}`).toBeLessThanOrEqual(3_500);
      expect(level.tokens).toBeLessThan(3_500);
    }
  });

  it("is not read again and again: it stays readable over the next turns", () => {
    const { guard } = begin();
    const messages = [...start(), ...toolTurn(60_000)];
    for (let at = 0; at < 3; at++) {
      const { messages: sent } = guard.prepare(messages);
      expect(sent.find(({ content }) => content.includes("characters left out here"))).toBeDefined();
      guard.observe(usage(counted(sent), `t${at}`));
      messages.push(...toolTurn(100));
    }
  });
});

describe("tools that fill the window by themselves", () => {
  it("are named once, and no restart is spent", () => {
    const warnings: string[] = [];
    const { guard, of } = testGuard({ onWarning: (text) => warnings.push(text) });
    const tool = (name: string, tokens: number) => ({
      type: "function",
      function: { name, text: filler(tokens) },
    });
    const besides = [[tool("a", 3_000), tool("b", 6_000), tool("c", 100), tool("d", 2_000)], "Be brief."];
    const messages: Message[] = [{ role: "user", content: "Hello" }];
    for (let at = 0; at < 20; at++) {
      expect(guard.prepare(messages, { besides }).actions).toMatchObject([
        { type: "stop", reason: "too_long" },
      ]);
      messages.push(...toolTurn(50));
    }
    expect(of("restarted")).toEqual([]);
    expect(of("withheld")).toHaveLength(1);
    const told = warnings.filter((text) => text.includes("largest tools"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/largest tools are b \(about [\d,]+\), a \(about [\d,]+\), d \(about [\d,]+\)/);
  });
});

describe("a prompt that was prepared", () => {
  it("fits with its answer, or is stopped; a restart and a summary are only made if it fits afterwards", () => {
    const turn = fc.record({ tokens: fc.integer({ min: 1, max: 15_000 }), asks: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(turn, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 0, max: 6_000 }),
        fc.constantFrom(0, 2_000, 9_500),
        (turns, outputTokens, tools) => {
          const { guard } = testGuard();
          const besides = [{ name: "t", text: filler(tools) }];
          const messages: Message[] = [{ role: "user", content: "Never delete main.ts." }];
          for (const [at, { tokens, asks }] of turns.entries()) {
            messages.push(...(asks ? [{ role: "user", content: `Do ${at}.` } as Message] : toolTurn(tokens)));
            const prepared = guard.prepare(messages, { besides, outputTokens, summaries: false });
            const stopped = prepared.actions.some(({ type }) => type === "stop");
            const restarted = prepared.actions.some(({ type }) => type === "restart");
            const sent = counted(prepared.messages) + tools;
            if (stopped) expect(restarted).toBe(false);
            else expect(sent + outputTokens).toBeLessThanOrEqual(10_000);
            if (!stopped) guard.observe(usage(sent + 20, `t${at}`));
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
