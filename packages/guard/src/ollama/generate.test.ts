import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { type Message, Ollama } from "ollama";
import { afterEach, describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import { withConversation } from "../node/index.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { ClientOptions } from "../wrapped-client/wrapped-client.ts";
import { guardOllama, type OllamaMessage, ollamaShape } from "./index.ts";

let model: ScriptedModel;
afterEach(() => model.close());

async function setup(script: Script = () => ({ text: "ok" }), options: ClientOptions<OllamaMessage> = {}) {
  model = await startScriptedModel(script, 4_096);
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<OllamaMessage>({
    identity: { harness: "h" },
    shape: ollamaShape,
    policy: { thresholds: { warning: null, ceiling: "50%", soft: null, hard: null }, mask: null },
    onEvent: (event) => void events.push(event),
  });
  const bare = new Ollama({ host: model.url });
  const turns = () => events.filter(({ type }) => type === "turn");
  return { guard, turns, bare, client: guardOllama(bare, guard, options) };
}

const HELLO: Message[] = [{ role: "user", content: "hello" }];

describe("generate", () => {
  it("is measured, streamed or not, in the window that the server loaded", async () => {
    const { client, guard, turns } = await setup();
    const { context } = await client.generate({
      model: "m",
      prompt: filler(90),
      options: { num_ctx: 8_192 },
    });
    expect(guard.conversation().read()).toMatchObject({ windowTokens: 8_192, windowSource: "reported" });
    let text = "";
    const params = { model: "m", prompt: "go on", ...(context && { context }), stream: true as const };
    for await (const { response } of await client.generate(params)) text += response;
    expect(text).toBe("ok");
    expect(model.requests[1]!.body).toMatchObject({ prompt: "go on", context: [1, 2, 3] });
    expect(turns()).toHaveLength(2);
    expect(guard.conversation().state).toMatchObject({
      allTurns: 2,
      level: model.requests[1]!.promptTokens,
    });
    expect(guard.conversation().read().windowTokens).toBe(4_096);
  });

  it("leaves the level and the history of the conversation that it works for", async () => {
    const { client, guard, turns } = await setup();
    await withConversation("thread", async () => {
      await client.chat({ model: "m", messages: [{ role: "user", content: filler(900) }] });
      const { level } = guard.conversation("thread").state;
      const { seen, calibration } = guard.conversation("thread").state;
      for (let title = 0; title < 4; title++) await client.generate({ model: "m", prompt: "Write a title." });
      expect(guard.conversation("thread").state).toMatchObject({ level, seen, calibration, allTurns: 1 });
    });
    expect(turns()).toHaveLength(5);
    expect(turns().slice(1)).toMatchObject(Array.from({ length: 4 }, () => ({ agent: "generate" })));
  });

  it("without a name, beside a conversation with messages, is a side call", async () => {
    const { client, guard, turns } = await setup();
    await client.chat({ model: "m", messages: HELLO });
    await client.generate({ model: "m", prompt: "Write a title." });
    expect(guard.sideCalls).toBe(1);
    expect(turns()).toHaveLength(1);
  });

  it("before the first message does not take the place of the conversation", async () => {
    const { client, guard } = await setup();
    await client.generate({ model: "m", prompt: "Write a greeting." });
    await client.chat({ model: "m", messages: HELLO });
    expect(guard.sideCalls).toBe(0);
    expect(guard.conversations()).toHaveLength(1);
  });
});

describe("calls without a prompt", () => {
  it("that load a model count no turn and do not reset the history", async () => {
    const { client, guard, turns } = await setup();
    await client.chat({ model: "m", messages: HELLO });
    const thread = guardOllama(new Ollama({ host: model.url }), guard.conversation());
    for (const one of [client, thread]) {
      await one.chat({ model: "m" });
      await one.chat({ model: "m", messages: [] });
      await one.generate({ model: "m", prompt: "", keep_alive: 0 });
    }
    await client.chat({ model: "m", messages: HELLO });
    expect(turns()).toHaveLength(2);
    expect(guard.conversation().state).toMatchObject({ window: 0, allTurns: 2 });
  });
});

describe("abort", () => {
  it("ends streams, which count with the estimate, also one that nobody reads", async () => {
    const { client, turns } = await setup();
    const [read, unread] = [
      await client.chat({ model: "m", messages: HELLO, stream: true }),
      await client.chat({ model: "m", messages: HELLO, stream: true }),
    ];
    client.abort();
    await expect(
      (async () => {
        for await (const _ of read) expect(unread).not.toBe(read);
      })(),
    ).rejects.toThrow(/abort/i);
    await expect.poll(() => turns().length).toBe(2);
    expect(turns()).toMatchObject([{ estimated: true }, { estimated: true }]);
  });

  it("ends a streamed call that waits for a summary, and sends nothing", async () => {
    let asked = () => {};
    const summaryAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { client, guard } = await setup(undefined, {
      summarize: () => {
        asked();
        return new Promise(() => {});
      },
    });
    guard.conversation().reportWindow(4_096);
    const messages: Message[] = [];
    for (let turn = 0; turn < 12; turn++)
      messages.push(
        { role: "user", content: filler(200) },
        { role: "assistant", content: filler(200, "answer") },
      );
    messages.push(...HELLO);
    const call = client.chat({ model: "m", messages, stream: true });
    await summaryAsked;
    client.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(model.requests).toEqual([]);
  });
});
