import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import { createGuard } from "../guard.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import {
  type ChatMessage,
  chatShape,
  guardChat,
  guardResponses,
  type InputItem,
  responsesShape,
} from "./index.ts";

let model: ScriptedModel | undefined;
afterEach(() => model?.close());

const THRESHOLDS = { warning: null, ceiling: null, soft: "70%", hard: "95%" } as const;

async function client() {
  model = await startScriptedModel(({ call }) =>
    call < 40
      ? { text: "", calls: [{ name: "read", arguments: { path: `f${call}.ts` } }] }
      : { text: "done" },
  );
  return new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "dummy" });
}

async function readAll<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const chunks: T[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe("the openai package, chat completions", () => {
  it("stays below its line over many tool calls and measures each call", async () => {
    const events: PlimsollEventInput[] = [];
    const guard = new Conversation<ChatMessage>({
      identity: { harness: "h", session: "s" },
      shape: chatShape,
      window: 8_000,
      policy: { thresholds: THRESHOLDS },
      onEvent: (event) => events.push(event),
    });
    const guarded = guardChat(await client(), guard);
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "system", content: "You read files." },
      { role: "user", content: "Read all of them." },
    ];
    for (let turn = 0; turn < 30; turn++) {
      const answer = await guarded.chat.completions.create({ model: "gpt-5.1", messages });
      const { message } = answer.choices[0]!;
      messages.push(message);
      for (const call of message.tool_calls ?? [])
        messages.push({ role: "tool", tool_call_id: call.id, content: filler(180, "content of the file") });
    }
    expect(messages.filter((message) => message.role === "tool")).toHaveLength(30);
    for (const request of model!.requests) expect(request.promptTokens).toBeLessThan(8_000);
    const masked = events.filter((event) => event.type === "masked");
    expect(masked.length).toBeGreaterThan(1);
    const last = model!.requests.at(-1)!.messages;
    expect(last.find((message) => String(message.content).startsWith("[read: f1.ts -- "))).toBeDefined();
    expect(events.filter((event) => event.type === "turn")).toHaveLength(30);
    expect(guard.read().level!.error).toBeLessThan(0.2);
  });

  it("measures streams even if the caller does not request usage", async () => {
    const guard = new Conversation<ChatMessage>({
      identity: { harness: "h", session: "s" },
      shape: chatShape,
      window: 8_000,
    });
    const guarded = guardChat(await client(), guard);
    const stream = await guarded.chat.completions.create({
      model: "gpt-5.1",
      stream: true,
      messages: [{ role: "user", content: "hello" }],
    });
    const names: unknown[] = [];
    for await (const chunk of stream) names.push(chunk.choices[0]?.delta.tool_calls?.[0]?.function?.name);
    expect(names).toContain("read");
    expect(guard.state).toMatchObject({
      level: model!.requests[0]!.promptTokens,
      turns: 1,
      model: "gpt-5.1",
    });
  });

  it.each([
    ["asks for usage", undefined, true, false],
    ["passes the usage on if the caller wants it", true, true, true],
    ["does not ask if the caller does not want it", false, undefined, false],
  ])("of a stream %s", async (_, include_usage, sent, passedOn) => {
    const guard = createGuard<ChatMessage>({ identity: { harness: "h" }, shape: chatShape, window: 8_000 });
    const guarded = guardChat(await client(), guard);
    const stream = await guarded.chat.completions.create({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "hello" }],
      ...(include_usage !== undefined && { stream_options: { include_usage } }),
    });
    const chunks = await readAll(stream);
    expect(model!.requests[0]!.body.stream_options).toEqual(
      (include_usage ?? sent) === undefined ? undefined : { include_usage: include_usage ?? sent },
    );
    expect(chunks.some(({ usage }) => usage != null)).toBe(passedOn);
    expect(chunks.every(({ choices }) => choices.length > 0)).toBe(!passedOn);
    expect(guard.conversation().state).toMatchObject({ allTurns: 1 });
  });

  it("of a stream goes without usage on a server that does not know the option", async () => {
    const events: PlimsollEventInput[] = [];
    let refused = 0;
    const server = await startScriptedModel(({ body }) => {
      if (body.stream_options === undefined) return { text: "ok" };
      refused += 1;
      return { refuse: { status: 400, message: "Unrecognized request argument: stream_options" } };
    });
    const onEvent = (event: PlimsollEventInput) => void events.push(event);
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window: 8_000, onEvent });
    const guarded = guardChat(new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x" }), guard);
    const messages: { role: "user" | "assistant"; content: string }[] = [];
    for (let turn = 0; turn < 3; turn++) {
      messages.push({ role: "user", content: "hello" });
      await readAll(await guarded.chat.completions.create({ model: "m", stream: true, messages }));
      messages.push({ role: "assistant", content: "ok" });
    }
    await server.close();
    expect(refused).toBe(1);
    expect(events).toMatchObject([{ estimated: true }, { estimated: true }, { estimated: true }]);
    expect(guard.conversation().state).toMatchObject({ allTurns: 3 });
  });

  it("reports the window that a server names when it refuses a prompt", async () => {
    const events: PlimsollEventInput[] = [];
    const message =
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.";
    const server = await startScriptedModel(() => ({ refuse: { status: 400, message } }));
    const onEvent = (event: PlimsollEventInput) => void events.push(event);
    const guard = createGuard({ identity: { harness: "h" }, shape: chatShape, window: 200_000, onEvent });
    const guarded = guardChat(new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x" }), guard);
    const call = guarded.chat.completions.create({
      model: "gpt-large",
      messages: [{ role: "user", content: "hello" }],
    });
    await expect(call).rejects.toThrow("maximum context length");
    await server.close();
    expect(events).toMatchObject([
      { type: "prompt_refused", model: "gpt-large", context_window: 128_000, prompt_tokens: 130_001 },
    ]);
  });

  it("keeps the client's promise helpers and measures a call once with any of them", async () => {
    const guard = new Conversation<ChatMessage>({
      identity: { harness: "h", session: "s" },
      shape: chatShape,
    });
    const guarded = guardChat(await client(), guard);
    const asked = { model: "gpt-5.1", messages: [{ role: "user" as const, content: "hello" }] };

    const call = guarded.chat.completions.create(asked);
    const { data, response } = await call.withResponse();
    expect(response.status).toBe(200);
    expect(data.usage!.prompt_tokens).toBe(model!.requests[0]!.promptTokens);
    expect(await call).toBe(data);
    expect(guard.state.allTurns).toBe(1);

    const bare = await guarded.chat.completions.create(asked).asResponse();
    expect(await bare.json()).toMatchObject({ object: "chat.completion" });
    expect(guard.state.allTurns).toBe(2);

    const stream = await guarded.chat.completions.create({ ...asked, stream: true }).withResponse();
    expect(stream.response.headers.get("content-type")).toContain("event-stream");
    for await (const _ of stream.data) {
    }
    expect(guard.state.allTurns).toBe(3);
    expect(model!.requests).toHaveLength(3);
  });

  it("rejects every promise helper when the call fails", async () => {
    const guard = new Conversation<ChatMessage>({
      identity: { harness: "h", session: "s" },
      shape: chatShape,
    });
    const guarded = guardChat(
      new OpenAI({ baseURL: `${(await client()).baseURL}/nowhere`, apiKey: "x" }),
      guard,
    );
    const create = () => guarded.chat.completions.create({ model: "gpt-5.1", messages: [] });
    await expect(create()).rejects.toThrow(OpenAI.NotFoundError);
    await expect(create().withResponse()).rejects.toThrow(OpenAI.NotFoundError);
    await expect(create().asResponse()).rejects.toThrow(OpenAI.NotFoundError);
    expect(await create().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.NotFoundError);
    let ended = 0;
    await create()
      .finally(() => ended++)
      .catch(() => {});
    expect(ended).toBe(1);
    expect(guard.state.allTurns).toBe(0);
  });

  it("does not change the rest of the client", async () => {
    const bare = await client();
    const guarded = guardChat(
      bare,
      new Conversation<ChatMessage>({ identity: { harness: "h", session: "s" }, shape: chatShape }),
    );
    expect(guarded.baseURL).toBe(bare.baseURL);
    await expect(guarded.models.list()).rejects.toThrow(OpenAI.NotFoundError);
  });
});

describe("the openai package, responses", () => {
  it("stays below its line, streamed or not", async () => {
    const guard = new Conversation<InputItem>({
      identity: { harness: "h", session: "s" },
      shape: responsesShape,
      window: 8_000,
      policy: { thresholds: THRESHOLDS },
    });
    const guarded = guardResponses(await client(), guard);
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Read all of them." }];
    for (let turn = 0; turn < 20; turn++) {
      const answer = await guarded.responses.create({ model: "gpt-5.1", input, store: false });
      for (const item of answer.output) {
        input.push(item as OpenAI.Responses.ResponseInputItem);
        if (item.type === "function_call")
          input.push({
            type: "function_call_output",
            call_id: item.call_id,
            output: filler(180, "content of the file"),
          });
      }
    }
    for (const request of model!.requests) expect(request.promptTokens).toBeLessThan(8_000);
    expect(guard.state.maskings).toBeGreaterThan(0);
    const stream = await guarded.responses.create({ model: "gpt-5.1", input, stream: true, store: false });
    for await (const _ of stream) {
    }
    expect(guard.state.allTurns).toBe(21);
  });

  it("shortens a long question at a restart, but none with an image or a file", () => {
    const words = { type: "input_text", text: filler(9_000) };
    const picture = { type: "input_image", image_url: "data:," };
    const file = { type: "input_file", file_data: "data:," };
    for (const content of [[words], [words, picture], [words, file]]) {
      const guard = new Conversation<InputItem>({
        identity: { harness: "h", session: "s" },
        shape: responsesShape,
        window: 8_000,
        policy: { thresholds: THRESHOLDS },
      });
      const question = { role: "user", content };
      const { messages } = guard.prepare([question]);
      if (content.length > 1) expect(messages).toContain(question);
      else
        expect(messages.at(-1)).toEqual({ role: "user", content: expect.stringMatching(/ left out here: /) });
    }
  });

  it("only measures a call whose history is on the server", async () => {
    const guard = new Conversation<InputItem>({
      identity: { harness: "h", session: "s" },
      shape: responsesShape,
      window: 8_000,
    });
    const guarded = guardResponses(await client(), guard);
    await guarded.responses.create({ model: "gpt-5.1", input: "go on", previous_response_id: "resp_0" });
    expect(model!.requests[0]!.body).toMatchObject({ input: "go on", previous_response_id: "resp_0" });
    expect(guard.state.allTurns).toBe(1);
  });
});
