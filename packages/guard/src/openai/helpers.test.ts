import "../testing/clean-environment.ts";

import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import OpenAI, { AzureOpenAI, type ClientOptions as ClientSettings } from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { GuardError } from "../error.ts";
import { createGuard } from "../guard.ts";
import { withConversation } from "../node/index.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import {
  type ModelRequest,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { ClientOptions } from "../wrapped-client/wrapped-client.ts";
import { type ChatMessage, chatShape, guardChat } from "./index.ts";

let model: ScriptedModel;
afterEach(() => model.close());

const MASKING: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "50%", hard: null } };
const NO_RESTARTS: PolicyInput = {
  thresholds: { warning: null, ceiling: null, soft: null, hard: "50%" },
  mask: null,
  compact: null,
  restart: { graceTurns: 0, max: 0 },
};
const QUESTION = { role: "user" as const, content: "Read all of them." };
const OF_FILES = { model: "m", messages: [QUESTION] };

/** A model that reads `files` files before it answers, on a server that demands paired calls and results. */
const reading = (files: number): Script => {
  const read = new Map<unknown, number>();
  return ({ messages }) => {
    const message = MESSAGE_RULES.openai(messages);
    if (message !== undefined) return { refuse: { status: 400, message } };
    const who = /I am \w+/.exec(JSON.stringify(messages))?.[0];
    const count = read.get(who) ?? 0;
    read.set(who, count + 1);
    return count === files
      ? { text: "done" }
      : { calls: [{ name: "read", arguments: { path: `f${count}.ts` } }] };
  };
};

async function setup(
  script: Script,
  policy: PolicyInput = MASKING,
  options: ClientOptions<ChatMessage> = {},
) {
  model = await startScriptedModel(script);
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<ChatMessage>({
    identity: { harness: "h" },
    shape: chatShape,
    window: 4_000,
    policy,
    onEvent: (event) => void events.push(event),
  });
  const bare = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" });
  const turns = () => events.filter(({ type }) => type === "turn");
  return { guard, turns, bare, client: guardChat(bare, guard, options) };
}

const text = (path = "a file") => filler(300, `line_of_${path.replace(/\W/g, "_")}`);

const tools = () => [
  {
    type: "function" as const,
    function: {
      name: "read",
      description: "Reads a file.",
      parameters: { type: "object", properties: { path: { type: "string" } } },
      parse: (json: string) => JSON.parse(json) as { path: string },
      function: ({ path }: { path: string }) => text(path),
    },
  },
];

const isMasked = (message: object) => JSON.stringify(message).includes("[read: f");

function expectBelow(requests: readonly ModelRequest[], tokens: number) {
  for (const { promptTokens } of requests) expect(promptTokens).toBeLessThan(tokens);
}

describe("runTools", () => {
  it.each([false, true])(
    "has each call of its loop fitted and measured, and keeps every result; streamed: %s",
    async (stream) => {
      const { client, guard, turns } = await setup(reading(12));
      const runner = client.chat.completions.runTools(
        { ...OF_FILES, stream: stream as true, tools: tools() },
        { maxChatCompletions: 20 },
      );
      expect(await runner.finalContent()).toBe("done");
      expect(model.requests).toHaveLength(13);
      expectBelow(model.requests, 4_000);
      expect(model.requests.at(-1)!.messages.filter(isMasked).length).toBeGreaterThan(3);
      expect(runner.messages.filter(isMasked)).toEqual([]);
      expect(runner.messages.filter(({ role }) => role === "tool")).toHaveLength(12);
      expect(turns()).toHaveLength(13);
      expect(guard.sideCalls).toBe(0);
      expect(guard.conversation().state).toMatchObject({
        allTurns: 13,
        window: 0,
        level: model.requests.at(-1)!.promptTokens,
      });
    },
  );

  it("sends one summary of the older part of its loop, and never its own view as history", async () => {
    const policy: PolicyInput = {
      thresholds: { warning: null, ceiling: "60%", soft: null, hard: null },
      mask: null,
      compact: { keepTurns: 2 },
    };
    let summaries = 0;
    const { client, guard } = await setup(reading(16), policy, {
      summarize: () => `summary ${++summaries}.`,
    });
    const runner = client.chat.completions.runTools(
      { ...OF_FILES, tools: tools() },
      { maxChatCompletions: 30 },
    );
    expect(await runner.finalContent()).toBe("done");
    expectBelow(model.requests, 4_000);
    expect(summaries).toBeGreaterThan(1);
    for (const { messages } of model.requests)
      expect(JSON.stringify(messages).split(/summary \d+\./).length).toBeLessThan(3);
    expect(JSON.stringify(runner.messages)).not.toContain("summary");
    expect(guard.conversation().state).toMatchObject({ allTurns: 17, window: 0, compactions: summaries });
  });

  it("keeps loops that run at the same time apart", async () => {
    const { client, guard } = await setup(reading(8));
    const ask = (name: string) =>
      withConversation(name, () =>
        client.chat.completions
          .runTools(
            { model: "m", messages: [{ role: "user", content: `I am ${name}.` }], tools: tools() },
            { maxChatCompletions: 20 },
          )
          .finalContent(),
      );
    expect(await Promise.all([ask("anna"), ask("berta")])).toEqual(["done", "done"]);
    for (const name of ["anna", "berta"])
      expect(guard.conversation(name).state).toMatchObject({ allTurns: 9, window: 0 });
    for (const { messages } of model.requests)
      expect(messages.filter(({ content }) => /I am/.test(String(content)))).toHaveLength(1);
  });

  it("stops with the guard's error as the cause when no restart is left", async () => {
    const { client } = await setup(reading(12), NO_RESTARTS);
    const runner = client.chat.completions.runTools(
      { ...OF_FILES, tools: tools() },
      { maxChatCompletions: 20 },
    );
    const failure = await runner.done().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.OpenAIError);
    expect((failure as Error).cause).toBeInstanceOf(GuardError);
    expect((failure as Error).cause).toMatchObject({ code: "max_restarts" });
    expectBelow(model.requests, 4_000);
    expect(model.requests.length).toBeGreaterThan(1);
  });

  it("ends with a summary that hangs when it is aborted", async () => {
    const policy: PolicyInput = {
      thresholds: { warning: null, ceiling: "40%", soft: null, hard: null },
      mask: null,
    };
    let asked = () => {};
    const summaryAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { client } = await setup(reading(12), policy, {
      summarize: () => {
        asked();
        return new Promise(() => {});
      },
    });
    const runner = client.chat.completions.runTools(
      { ...OF_FILES, tools: tools() },
      { maxChatCompletions: 20 },
    );
    const done = runner.done().catch((error: unknown) => error);
    await summaryAsked;
    const sent = model.requests.length;
    runner.abort();
    expect(await done).toBeInstanceOf(OpenAI.APIUserAbortError);
    expect(model.requests).toHaveLength(sent);
  });
});

describe("parse", () => {
  const City = z.object({ city: z.string() });

  it("is fitted and measured, and keeps its types and promise helpers", async () => {
    const { client, turns } = await setup(() => ({ text: '{"city":"Lübeck"}' }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [QUESTION];
    for (let file = 0; file < 12; file++) {
      const called = { id: `c${file}`, type: "function" as const };
      messages.push(
        {
          role: "assistant",
          tool_calls: [{ ...called, function: { name: "read", arguments: `{"path":"f${file}.ts"}` } }],
        },
        { role: "tool", tool_call_id: called.id, content: text() },
      );
    }
    const params = { model: "m", messages, response_format: zodResponseFormat(City, "city") };
    const answer = await client.chat.completions.parse(params);
    const city: string | undefined = answer.choices[0]!.message.parsed?.city;
    expect(city).toBe("Lübeck");
    const { data, response } = await client.chat.completions.parse(params).withResponse();
    expect(data.choices[0]!.message.parsed).toEqual({ city: "Lübeck" });
    expect(response.status).toBe(200);
    expect("_request_id" in data).toBe(true);
    expect(Object.keys(data)).not.toContain("_request_id");
    expectBelow(model.requests, 4_000);
    expect(turns()).toHaveLength(2);
  });

  it("rejects with the client's error, and counts no turn", async () => {
    const { client, turns } = await setup(() => ({ refuse: { status: 400, message: "no" } }));
    const call = client.chat.completions.parse(OF_FILES);
    await expect(call).rejects.toThrow(OpenAI.BadRequestError);
    expect(turns()).toEqual([]);
  });
});

describe("stream", () => {
  const hello: Script = () => ({ text: "hello there" });

  it("is measured once, and passes no chunk that the caller did not ask for", async () => {
    const { client, guard, turns } = await setup(hello);
    const stream = client.chat.completions.stream(OF_FILES);
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(await stream.finalContent()).toBe("hello there");
    expect(chunks.every(({ choices, usage }) => choices.length > 0 && usage == null)).toBe(true);
    expect(turns()).toHaveLength(1);
    expect(guard.conversation().state.level).toBe(model.requests[0]!.promptTokens);
  });

  it.each([
    [
      "tee",
      async (stream: AsyncIterable<unknown>) => {
        const [left, right] = (stream as unknown as { tee(): AsyncIterable<unknown>[] }).tee();
        return Promise.all([readAll(left!), readAll(right!)]).then(([one]) => one);
      },
    ],
    [
      "toReadableStream",
      async (stream: AsyncIterable<unknown>) => {
        const body = (stream as unknown as { toReadableStream(): ReadableStream }).toReadableStream();
        const lines = (await new Response(body).text()).trim().split("\n");
        return lines.map((line) => JSON.parse(line) as unknown);
      },
    ],
  ] as const)("is measured when it is read with %s", async (_, read) => {
    const { client, guard } = await setup(hello);
    const chunks = await read(await client.chat.completions.create({ ...OF_FILES, stream: true }));
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.every((chunk) => (chunk as OpenAI.ChatCompletionChunk).choices.length > 0)).toBe(true);
    expect(guard.conversation().state).toMatchObject({
      allTurns: 1,
      level: model.requests[0]!.promptTokens,
    });
  });

  it("is measured when the caller reads the raw response, in pieces of any size", async () => {
    const { client, guard } = await setup(hello);
    const response = await client.chat.completions.create({ ...OF_FILES, stream: true }).asResponse();
    expect(response.url).toBe(`${model.url}/v1/chat/completions`);
    expect(response.headers.get("content-type")).toContain("event-stream");
    expect(guard.conversation().state.allTurns).toBe(0);
    expect(await response.text()).toMatch(/hello there[\s\S]*\[DONE\]/);
    expect(guard.conversation().state).toMatchObject({
      allTurns: 1,
      level: model.requests[0]!.promptTokens,
    });
  });

  it("counts with the estimate when it is aborted, also before it is read", async () => {
    const { client, turns } = await setup(hello);
    const create = () => client.chat.completions.create({ ...OF_FILES, stream: true });
    for await (const _ of await create()) break;
    (await create()).controller.abort();
    await (await create().asResponse()).body!.cancel();
    const helper = client.chat.completions.stream(OF_FILES);
    helper.on("chunk", () => helper.abort());
    await expect(helper.done()).rejects.toThrow(OpenAI.APIUserAbortError);
    expect(model.requests).toHaveLength(4);
    expect(turns()).toMatchObject(Array.from({ length: 4 }, () => ({ estimated: true })));
  });
});

describe("other clients", () => {
  it("a client of withOptions has the same guard, also twice", async () => {
    const { client, guard, bare } = await setup(() => ({ text: "ok" }));
    const patient = client.withOptions({ timeout: 9_000 }).withOptions({ maxRetries: 0 });
    expect(patient).toBeInstanceOf(OpenAI);
    expect([patient.timeout, patient.maxRetries]).toEqual([9_000, 0]);
    expect(bare.maxRetries).toBe(2);
    await patient.chat.completions.create(OF_FILES);
    await patient.chat.completions.stream(OF_FILES).done();
    await client.chat.completions.create(OF_FILES);
    expect(guard.conversation().state.allTurns).toBe(3);
  });

  it("AzureOpenAI is guarded in every call", async () => {
    const { guard } = await setup(reading(12));
    const apiVersion = "2025-04-01-preview";
    const azure = new AzureOpenAI({ baseURL: `${model.url}/openai`, apiKey: "x", apiVersion });
    const client = guardChat(azure, guard);
    const runner = client.chat.completions.runTools(
      { ...OF_FILES, tools: tools() },
      { maxChatCompletions: 20 },
    );
    expect(await runner.finalContent()).toBe("done");
    // The copy of the client forgets its version.
    const patient = client.withOptions({ timeout: 9_000, apiVersion } as Partial<ClientSettings>);
    await patient.chat.completions.create(OF_FILES);
    expectBelow(model.requests, 4_000);
    expect(guard.conversation().state.maskings).toBeGreaterThan(0);
    expect(guard.conversation().state.allTurns + guard.sideCalls).toBe(14);
  });

  it("counts a call that the client retries once", async () => {
    let failed = 0;
    const { client, guard } = await setup(() =>
      failed++ === 0 ? { refuse: { status: 500, message: "busy" } } : { text: "ok" },
    );
    await client.chat.completions.create(OF_FILES);
    expect(model.requests).toHaveLength(2);
    expect(guard.conversation().state.allTurns).toBe(1);
  });
});

async function readAll<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const chunks: T[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
