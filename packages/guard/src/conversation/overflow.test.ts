import "../testing/clean-environment.ts";

import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import { createGuard } from "../guard.ts";
import { guardResponses, responsesShape } from "../openai/index.ts";
import type { OverflowPolicy } from "../policy/policy.ts";
import { startScriptedModel } from "../testing/scripted-model/index.ts";
import { counted, expectPaired, filler, testGuard, toolTurn, usage } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";

const policy = (overflow: OverflowPolicy) => ({
  thresholds: { warning: null, ceiling: null, soft: null, hard: null, reserve: null },
  mask: null,
  compact: null,
  restart: null,
  overflow,
});

const history = (turns: number, tokens: number): Message[] => [
  { role: "system", content: "You read files." },
  { role: "user", content: "Never delete main.ts." },
  ...Array.from({ length: turns }, () => toolTurn(tokens)).flat(),
];

describe("a prompt that does not fit into the window", () => {
  it("is cut: the newest turn and what the user said stay", async () => {
    const { guard, of } = testGuard({ policy: policy("cut") });
    const messages = history(12, 1_000);
    const prepared = await fit(guard, messages);
    expect(prepared.actions).toMatchObject([{ type: "cut" }]);
    expect(prepared.level.tokens).toBeLessThan(10_000);
    expect(counted(prepared.messages)).toBeLessThan(10_000);
    expect(prepared.messages.at(-1)).toBe(messages.at(-1));
    expect(prepared.messages[1]!.content).toContain("- Never delete main.ts.");
    expectPaired(prepared.messages);
    expect(of("compacted")).toHaveLength(1);
    expect((await fit(guard, messages)).actions).toEqual([]);
  });

  it("is refused if the policy says so, or if nothing can be cut", async () => {
    const { guard } = testGuard({ policy: policy("refuse") });
    expect((await fit(guard, history(12, 1_000))).actions).toMatchObject([
      { type: "stop", reason: "too_long", say: expect.stringContaining("does not fit") },
    ]);
    const large = testGuard({ policy: policy("cut") });
    const question: Message[] = [{ role: "user", content: filler(12_000) }];
    expect((await fit(large.guard, question)).actions).toMatchObject([{ type: "stop", reason: "too_long" }]);
    expect(large.of("withheld")).toMatchObject([{ response: "restart", reason: "no_gain" }]);
    await fit(large.guard, question);
    expect(large.of("withheld")).toHaveLength(1);
  });

  it("is sent if the policy says so", async () => {
    const { guard, events } = testGuard({ policy: policy("send_anyway") });
    const messages = history(12, 1_000);
    expect(await fit(guard, messages)).toMatchObject({ actions: [], messages });
    expect(events).toEqual([]);
  });

  it("is never sent over the window, whatever the harness adds", async () => {
    const turn = fc.record({ tokens: fc.integer({ min: 1, max: 6_000 }), asks: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 30 }), async (turns) => {
        const { guard } = testGuard({ policy: policy("cut") });
        const messages = history(0, 0);
        for (const [at, { tokens, asks }] of turns.entries()) {
          messages.push(...(asks ? [{ role: "user", content: `Do ${at}.` } as Message] : toolTurn(tokens)));
          const prepared = await fit(guard, messages);
          expect(prepared.actions.some(({ type }) => type === "stop")).toBe(false);
          expect(counted(prepared.messages)).toBeLessThanOrEqual(10_000);
          expect(prepared.messages.map(({ content }) => content).join("\n")).toContain(
            "Never delete main.ts.",
          );
          expectPaired(prepared.messages);
          guard.observe(usage(counted(prepared.messages), `t${at}`));
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("what is sent beside the messages", () => {
  const tools = Array.from({ length: 4 }, (_, at) => ({ name: `tool${at}`, description: filler(500) }));

  it("counts from the first call on", async () => {
    const { guard } = testGuard({ policy: policy("cut") });
    const messages = history(2, 500);
    const bare = (await fit(guard, messages)).level.tokens;
    const { level } = await fit(guard, messages, { besides: [tools, "Be brief, please."] });
    expect(level.tokens - bare).toBeGreaterThan(2_000);
    expect((await fit(guard, messages)).level.tokens).toBe(level.tokens);
    expect((await fit(guard, messages, { besides: [] })).level.tokens).toBe(bare);
  });

  it("changes the level with the call in which it changes, not with the next count", async () => {
    const { guard } = testGuard({ policy: policy("cut") });
    const messages = history(2, 500);
    for (let at = 0; at < 3; at++) {
      const { messages: sent } = await fit(guard, messages, { besides: tools });
      guard.observe(usage(counted(sent) + 2_050, `t${at}`));
      messages.push(...toolTurn(100));
    }
    const { level } = await fit(guard, messages, {
      besides: [...tools, { name: "new", text: filler(3_000) }],
    });
    expect(level.tokens).toBeGreaterThan(counted(messages) + 4_900);
  });

  it("a request that only the tools make too long is not sent", async () => {
    const { guard } = testGuard({ policy: policy("cut") });
    const besides = [{ name: "huge", text: filler(11_000) }];
    expect((await fit(guard, history(2, 500), { besides })).actions).toMatchObject([
      { type: "stop", reason: "too_long" },
    ]);
  });
});

describe("a history on the server", () => {
  it.each([
    ["is not continued by a call that does not fit", "cut", 2],
    ["is continued anyway if the policy says so", "send_anyway", 3],
  ] as const)("%s", async (_, overflow, calls) => {
    let promptTokens = 7_000;
    const model = await startScriptedModel(() => ({ text: "ok", promptTokens, outputTokens: 500 }));
    try {
      const guard = createGuard({
        identity: { harness: "h" },
        shape: responsesShape,
        window: 10_000,
        policy: policy(overflow),
      });
      const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
      const { responses } = guardResponses(client, guard);
      const first = await responses.create({ model: "m", input: "Begin." });
      promptTokens = 9_000;
      const ask = { model: "m", input: filler(1_000) };
      const second = await responses.create({ ...ask, previous_response_id: first.id });
      const third = responses.create({ ...ask, previous_response_id: second.id });
      if (overflow === "cut") await expect(third).rejects.toMatchObject({ code: "prompt_too_long" });
      else await third;
      expect(model.requests).toHaveLength(calls);
    } finally {
      await model.close();
    }
  });
});
