import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { createGuard } from "../guard.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { guardResponses, responsesShape } from "../openai/index.ts";
import {
  type ModelReply,
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler, testGuard, toolTurn, usage } from "../testing/test-guard.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const WINDOW = 16_384;

/** What servers report instead of the tokens of the prompt. */
const LIES: Readonly<Record<string, (now: number, before: number) => number>> = {
  "only the new tokens": (now, before) => Math.max(1, now - before),
  "a constant": (now, before) => (before === 0 ? now : 318),
  "a third": (now, before) => (before === 0 ? now : Math.round(now / 3)),
};

async function talkToOllama(sizes: readonly number[], lie: (now: number, before: number) => number) {
  let before = 0;
  server = await startScriptedModel(({ promptTokens }) => {
    const count = lie(promptTokens, before);
    before = promptTokens;
    return { text: "noted", promptTokens: count };
  }, WINDOW);
  const events: PlimsollEventInput[] = [];
  const warnings: string[] = [];
  const guard = createGuard({
    identity: { harness: "h" },
    shape: ollamaShape,
    onEvent: (event) => events.push(event),
    onWarning: (text) => warnings.push(text),
  });
  const ollama = guardOllama(new Ollama({ host: server.url }), guard);
  const messages: { role: string; content: string }[] = [];
  const off: number[] = [];
  for (const size of sizes) {
    messages.push({ role: "user", content: filler(size, "words") });
    const { message } = await ollama.chat({ model: "qwen3:8b", messages, options: { num_ctx: WINDOW } });
    messages.push(message);
    const { promptTokens } = server.requests.at(-1)!;
    off.push(guard.conversation().state.level! / promptTokens - 1);
  }
  return { events, warnings, off, level: guard.conversation().read().level, prompts: server.requests };
}

describe("an Ollama server that counts", () => {
  it.each(Object.keys(LIES))("%s is not believed: the prompts stay in the window", async (name) => {
    const sizes = Array.from({ length: 45 }, (_, at) => 200 + ((at * 37) % 300));
    const { events, warnings, off, level, prompts } = await talkToOllama(sizes, LIES[name]!);
    expect(Math.max(...prompts.map(({ promptTokens }) => promptTokens))).toBeLessThan(WINDOW);
    expect(Math.max(...off.map(Math.abs))).toBeLessThan(0.1);
    expect(level?.source).toBe("calibrated");
    const turns = events.filter((event) => event.type === "turn");
    expect(turns.at(-1)).toMatchObject({ estimated: true });
    expect(warnings.filter((text) => text.includes("qwen3:8b counted"))).toHaveLength(1);
  });

  it("only the new tokens is not believed after one large message either", async () => {
    const sizes = [900, 4_000, 200, 150, 3_000, 100, 250];
    const { off } = await talkToOllama(sizes, LIES["only the new tokens"]!);
    expect(Math.max(...off.map(Math.abs))).toBeLessThan(0.1);
  });

  it("honestly is believed", async () => {
    const { off, warnings, level } = await talkToOllama([300, 4_000, 200, 150], (now) => now);
    expect(Math.max(...off.map(Math.abs))).toBe(0);
    expect(level?.source).toBe("measured");
    expect(warnings.filter((text) => text.includes("counted"))).toEqual([]);
  });
});

describe("counts far below the estimate", () => {
  const messages = (tokens: number) => [{ role: "user" as const, content: filler(tokens) }];

  it("are never believed for a prompt that stays the same", () => {
    const { guard } = testGuard();
    guard.prepare(messages(2_000));
    guard.observe(usage(2_000, "t0"));
    for (const id of ["t1", "t2", "t3", "t4", "t5"])
      expect(guard.observe(usage(200, id))).toMatchObject({ flags: ["implausible"], level: 2_000 });
    expect(guard.read().level).toEqual({ tokens: 2_000, source: "measured", error: undefined });
  });

  it("are believed when the harness reports a compaction", () => {
    const { guard } = testGuard();
    guard.prepare(messages(5_000));
    guard.observe(usage(5_000, "t0"));
    guard.note({ type: "compacted", trigger: "auto" });
    guard.prepare(messages(5_100));
    expect(guard.observe(usage(900, "t1"))).toMatchObject({ flags: [], level: 900 });
    expect(guard.prepare(messages(5_200)).level.tokens).toBe(1_000);
  });

  it("are believed once they grow as the prompt does", () => {
    const { guard } = testGuard({ window: 100_000 });
    guard.prepare(messages(20_000));
    guard.observe(usage(20_000, "t0"));
    const levels = [1, 2, 3, 4].map((at) => {
      guard.prepare(messages(20_000 + at * 600));
      return guard.observe(usage(4_000 + at * 600, `t${at}`)).level;
    });
    expect(levels).toEqual([20_600, 21_200, 6_400 - 600, 6_400]);
  });

  it("are not believed for the first prompt of a restored thread", () => {
    const { guard } = testGuard();
    guard.prepare(messages(5_000));
    expect(guard.observe(usage(200, "t0"))).toMatchObject({ flags: ["implausible"] });
    expect(guard.state.level).toBeGreaterThan(4_900);
  });

  it("are believed though they are half of the window, if the harness shortened its history", () => {
    const { guard } = testGuard();
    const said = [...messages(3_000), ...toolTurn(4_000), ...messages(990)];
    guard.prepare(said);
    guard.observe(usage(8_010, "t0"));
    guard.prepare(said.slice(1));
    expect(guard.observe(usage(5_002, "t1"))).toMatchObject({ flags: [], level: 5_002 });
  });

  it("of half of the window are not believed, if the history is still longer than the window", () => {
    const { guard } = testGuard({ policy: { mode: "warn_only" } });
    const said = [...messages(3_000), ...toolTurn(12_000)];
    guard.prepare(said.slice(0, 1));
    guard.observe(usage(3_004, "t0"));
    guard.prepare(said);
    guard.prepare(said.slice(1));
    expect(guard.observe(usage(5_002, "t1"))).toMatchObject({ flags: ["truncation_suspected"] });
    expect(guard.state.level).toBeGreaterThan(11_000);
  });

  it("of any server that counts new tokens alone never lower the level by a tenth", () => {
    // An agent begins with its instructions and tools. A few hundred tokens prove nothing, whatever is counted.
    const firstPrompt = fc.integer({ min: 5_000, max: 20_000 });
    const size = fc.integer({ min: 1, max: 4_000 });
    fc.assert(
      fc.property(firstPrompt, fc.array(size, { minLength: 1, maxLength: 30 }), (first, later) => {
        const sizes = [first, ...later];
        const { guard } = testGuard({ window: 1_000_000 });
        let total = 0;
        for (const [at, size] of sizes.entries()) {
          total += size;
          guard.prepare(messages(total));
          guard.observe(usage(size + (at === 0 ? 4 : 0), `t${at}`));
          expect(Math.abs(guard.state.level! / (total + 4) - 1)).toBeLessThan(0.1);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** A conversation of questions, each with the answer of the server. */
async function ask(replies: readonly ModelReply[], stream: boolean) {
  server = await startScriptedModel(({ call }: ModelRequest) => replies[call - 1]!);
  const events: PlimsollEventInput[] = [];
  const onEvent = (event: PlimsollEventInput) => void events.push(event);
  const guard = createGuard({ identity: { harness: "h" }, shape: anthropicShape, window: 200_000, onEvent });
  const client = guardMessages(new Anthropic({ baseURL: server.url, apiKey: "x", maxRetries: 0 }), guard);
  const messages: Anthropic.MessageParam[] = [];
  const levels: unknown[] = [];
  for (const [at] of replies.entries()) {
    messages.push({ role: "user", content: `question ${at} ${filler(30)}` });
    const params = { model: "claude-sonnet-4-6", max_tokens: 100, messages: [...messages] };
    const { content } = stream
      ? await client.messages.stream(params).finalMessage()
      : await client.messages.create(params);
    messages.push({ role: "assistant", content });
    levels.push(guard.conversation().read().level);
  }
  return { events, levels, of: (type: string) => events.filter((event) => event.type === type) };
}

const edits = (cleared_tool_uses: number, cleared_input_tokens: number) => ({
  context_management: {
    applied_edits: [{ type: "clear_tool_uses_20250919", cleared_tool_uses, cleared_input_tokens }],
  },
});

describe("edits that the provider makes", () => {
  it.each([false, true])("lower the level at once, and are reported once; streamed: %s", async (stream) => {
    const { levels, of, events } = await ask(
      [
        { text: "ok", promptTokens: 105_003 },
        { text: "ok", promptTokens: 60_003, fields: edits(8, 50_000) },
        { text: "ok", promptTokens: 60_703, fields: edits(8, 50_000) },
        { text: "ok", promptTokens: 61_403 },
      ],
      stream,
    );
    expect(levels.map((level) => (level as { tokens: number }).tokens)).toEqual([
      105_003, 60_003, 60_703, 61_403,
    ]);
    expect(levels[1]).toMatchObject({ source: "measured" });
    expect(of("masked")).toMatchObject([{ observations: 8, tokens_after: 60_003, actor: "provider" }]);
    expect(events.map(({ type }) => type)).toEqual(["turn", "masked", "turn", "turn", "turn"]);
  });

  it("are compactions, if the usage has an iteration of one", async () => {
    const iterations = [
      { type: "compaction", input_tokens: 156_000, output_tokens: 3_500 },
      { type: "message", input_tokens: 23_000, output_tokens: 1_000 },
    ];
    const fields = { usage: { input_tokens: 203_000, output_tokens: 4_500, iterations } };
    const { levels, of } = await ask(
      [
        { text: "ok", promptTokens: 155_000 },
        { text: "ok", fields },
      ],
      false,
    );
    expect(levels[1]).toMatchObject({ tokens: 23_000, source: "measured" });
    expect(of("compacted")).toMatchObject([{ trigger: "auto", tokens_after: 23_000, actor: "provider" }]);
  });

  it.each([
    ["compaction items", 60_000, { output: [{ type: "compaction", id: "cmp_1", encrypted_content: "x" }] }],
    ["truncation of a prompt that does not fit", 95_000, { truncation: "auto" }],
  ])("are read from OpenAI Responses: %s", async (_, before, fields) => {
    const counts = [before, 20_000, 20_100];
    server = await startScriptedModel(({ call }) => ({
      text: "ok",
      promptTokens: counts[call - 1]!,
      ...(call === 2 && { fields }),
    }));
    const events: PlimsollEventInput[] = [];
    const onEvent = (event: PlimsollEventInput) => void events.push(event);
    const identity = { harness: "h" };
    const policy = { mode: "warn_only" } as const;
    const guard = createGuard({ identity, shape: responsesShape, window: 100_000, policy, onEvent });
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
    const { responses } = guardResponses(client, guard);
    const input: OpenAI.Responses.ResponseInput = [];
    for (const count of counts) {
      input.push({ role: "user", content: `question ${count}` });
      await responses.create({ model: "gpt-5.1", input: [...input] });
      input.push({ role: "assistant", content: "ok" });
      expect(guard.conversation().state.level).toBe(count);
    }
    expect(events.filter(({ type }) => type === "compacted")).toMatchObject([
      { tokens_after: 20_000, actor: "provider" },
    ]);
  });

  it("do not excuse a low count for a prompt that fits", async () => {
    const { guard } = testGuard();
    guard.prepare([{ role: "user", content: filler(5_000) }]);
    guard.observe(usage(5_000, "t0"));
    const low = { ...usage(300, "t1"), truncation: "auto" };
    expect(guard.observe(low)).toMatchObject({ flags: ["implausible"], level: 5_000 });
  });
});
