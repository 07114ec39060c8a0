import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import { afterEach, expect, it } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import { type AnthropicMessage, anthropicShape, guardMessages } from "./index.ts";

let model: ScriptedModel | undefined;
afterEach(() => model?.close());

async function setup() {
  model = await startScriptedModel(({ call }) => ({
    text: "Next.",
    calls: [{ name: "read", arguments: { path: `f${call}.py` } }],
  }));
  const client = new Anthropic({ baseURL: model.url, apiKey: "dummy" });
  const guard = new Conversation<AnthropicMessage>({
    identity: { harness: "h", session: "s" },
    shape: anthropicShape,
    model: "claude-opus-5",
    window: 8_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } },
  });
  return { guard, guarded: guardMessages(client, guard) };
}

it("the Anthropic SDK stays below its line, with cached tokens counted", async () => {
  const { guard, guarded } = await setup();
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read all of them." }];
  for (let turn = 0; turn < 25; turn++) {
    const answer = await guarded.messages.create({
      model: "claude-opus-5",
      max_tokens: 1_000,
      system: "You read files.",
      messages,
    });
    messages.push({ role: "assistant", content: answer.content });
    const results = answer.content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ type: "tool_result" as const, tool_use_id: block.id, content: filler(600, "line of it") }]
        : [],
    );
    messages.push({ role: "user", content: results });
  }
  for (const request of model!.requests) {
    expect(request.promptTokens).toBeLessThan(8_000);
    const blocks = request.messages.flatMap((message) =>
      Array.isArray(message.content) ? message.content : [],
    );
    const called = blocks.filter((block) => block.type === "tool_use").map((block) => block.id);
    const answered = blocks.filter((block) => block.type === "tool_result").map((block) => block.tool_use_id);
    expect(answered).toEqual(called);
  }
  expect(guard.state.level).toBe(model!.requests.at(-1)!.promptTokens);
  expect(guard.state.maskings).toBeGreaterThan(0);
});

it("the Anthropic SDK keeps its promise helpers", async () => {
  const { guard, guarded } = await setup();
  const { data, response } = await guarded.messages
    .create({ model: "claude-opus-5", max_tokens: 1_000, messages: [{ role: "user", content: "hello" }] })
    .withResponse();
  expect(response.status).toBe(200);
  expect(data.usage.input_tokens).toBeGreaterThan(0);
  expect(guard.state).toMatchObject({ turns: 1, level: model!.requests[0]!.promptTokens });
});

it("a stream of the Anthropic SDK counts as one turn", async () => {
  const { guard, guarded } = await setup();
  const stream = await guarded.messages.create({
    model: "claude-opus-5",
    max_tokens: 1_000,
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types.at(-1)).toBe("message_stop");
  expect(guard.state).toMatchObject({ turns: 1, level: model!.requests[0]!.promptTokens });
});
