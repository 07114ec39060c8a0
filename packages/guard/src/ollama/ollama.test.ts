import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { type Message, Ollama } from "ollama";
import { afterEach, describe, expect, it } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import { guardOllama, type OllamaMessage, ollamaShape } from "./index.ts";

let model: ScriptedModel | undefined;
afterEach(() => model?.close());

async function setup(script: Parameters<typeof startScriptedModel>[0], contextLength: number) {
  model = await startScriptedModel(script, contextLength);
  const events: PlimsollEventInput[] = [];
  const guard = new Conversation<OllamaMessage>({
    identity: { harness: "h", session: "s" },
    onEvent: (event) => events.push(event),
    shape: ollamaShape,
    window: 128_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } },
  });
  return { guard, events, guarded: guardOllama(new Ollama({ host: model.url }), guard) };
}

const turn = (at: number): Message[] => [
  {
    role: "assistant",
    content: "",
    tool_calls: [{ function: { name: "read", arguments: { path: `f${at}.md` } } }],
  },
  { role: "tool", content: filler(300, "some words"), tool_name: "read" },
];

describe("the ollama package", () => {
  it("uses the loaded window instead of the configured one", async () => {
    const { guard, guarded } = await setup(() => ({ text: "ok" }), 4_096);
    await guarded.chat({ model: "llama3.2", messages: [{ role: "user", content: "hello" }] });
    expect(guard.read()).toMatchObject({ windowTokens: 4_096, windowSource: "reported" });
    await guarded.chat({
      model: "llama3.2",
      messages: [{ role: "user", content: "hello" }],
      options: { num_ctx: 16_384 },
    });
    expect(guard.read().windowTokens).toBe(16_384);
  });

  it("stays below that window without call ids", async () => {
    const { guard, guarded } = await setup(() => ({ text: "ok" }), 4_096);
    const messages: Message[] = [{ role: "user", content: "Read all of them." }];
    for (let at = 0; at < 20; at++) {
      messages.push(...turn(at));
      await guarded.chat({ model: "llama3.2", messages });
    }
    for (const request of model!.requests) expect(request.promptTokens).toBeLessThan(4_096);
    expect(guard.state.maskings).toBeGreaterThan(1);
    const last = model!.requests.at(-1)!.messages;
    expect(last.some((message) => String(message.content).startsWith("[read: f"))).toBe(true);
  });

  it("flags a prompt that the server truncated silently", async () => {
    const { guard, guarded } = await setup(
      ({ call, promptTokens }) => ({ text: "ok", promptTokens: call === 3 ? 4_096 / 2 + 2 : promptTokens }),
      4_096,
    );
    guard.policy = { ...guard.policy, mask: null, restart: null, overflow: "send_anyway" };
    const messages: Message[] = [{ role: "user", content: "go" }];
    for (const count of [2, 2, 3]) {
      for (let at = 0; at < count; at++) messages.push(...turn(at));
      await guarded.chat({ model: "llama3.2", messages });
    }
    expect(guard.state.level).toBeGreaterThan(4_096);
  });

  it("follows the server when it reloads the model with another window", async () => {
    const { guard, guarded } = await setup(() => ({ text: "ok" }), 4_096);
    const messages: Message[] = [{ role: "user", content: "hello" }];
    await guarded.chat({ model: "llama3.2", messages, options: { num_ctx: 16_384 } });
    expect(guard.read().windowTokens).toBe(16_384);
    await guarded.chat({ model: "llama3.2", messages });
    expect(guard.read().windowTokens).toBe(4_096);
    const seen: (number | undefined)[] = [];
    for (const num_ctx of [8_192, undefined, 2_048]) {
      await guarded.chat({ model: "llama3.2", messages, options: num_ctx === undefined ? {} : { num_ctx } });
      seen.push(guard.read().windowTokens);
    }
    expect(seen).toEqual([8_192, 4_096, 2_048]);
  });

  it("measures streams from the first call, in the loaded window [O12]", async () => {
    const { guard, guarded, events } = await setup(() => ({ text: "hello there" }), 4_096);
    let text = "";
    for await (const chunk of await guarded.chat({
      model: "llama3.2",
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    }))
      text += chunk.message.content;
    expect(text).toBe("hello there");
    expect(guard.state).toMatchObject({ turns: 1, level: model!.requests[0]!.promptTokens });
    expect(events).toMatchObject([{ type: "turn", context_window: 4_096 }]);
  });
});
