import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { GuardError } from "../error.ts";
import { createGuard } from "../guard.ts";
import { withConversation } from "../node/index.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import { type AnthropicMessage, anthropicShape, guardMessages } from "./index.ts";

let model: ScriptedModel;
afterEach(() => model.close());

const MASKING: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "50%", hard: null } };
const NO_RESTARTS: PolicyInput = {
  thresholds: { warning: null, ceiling: null, soft: null, hard: "50%" },
  mask: null,
  compact: null,
  restart: { graceTurns: 0, max: 0 },
};
const ASKED = {
  model: "m",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Read all of them." }],
};

const blocksOf = (message: Record<string, unknown>) =>
  Array.isArray(message.content) ? (message.content as Record<string, unknown>[]) : [];

/** A model that reads `files` files before it answers, on a server that demands paired calls and results. */
const reading =
  (files: number): Script =>
  ({ messages, body }) => {
    const message = body.thread === undefined ? MESSAGE_RULES.anthropic(messages) : "no threads here";
    if (message !== undefined) return { refuse: { status: 400, message } };
    const read = messages.flatMap(blocksOf).filter(({ type }) => type === "tool_result").length;
    if (read === files) return { text: "done" };
    return { calls: [{ name: "read", arguments: { path: `f${read}.ts` } }] };
  };

async function setup(script: Script, policy: PolicyInput = MASKING) {
  model = await startScriptedModel(script);
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<AnthropicMessage>({
    identity: { harness: "h" },
    shape: anthropicShape,
    window: 4_000,
    policy,
    onEvent: (event) => void events.push(event),
  });
  const bare = new Anthropic({ baseURL: model.url, apiKey: "x", maxRetries: 0 });
  const turns = () => events.filter(({ type }) => type === "turn");
  return { guard, turns, bare, client: guardMessages(bare, guard) };
}

const tools = () => [
  betaZodTool({
    name: "read",
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    run: ({ path }) => filler(300, `line_of_${path.replace(/\W/g, "_")}`),
  }),
];

const isMasked = (message: object) => JSON.stringify(message).includes("[read: f");

function expectFitted() {
  for (const { promptTokens } of model.requests) expect(promptTokens).toBeLessThan(4_000);
  expect(model.requests.at(-1)!.messages.filter(isMasked).length).toBeGreaterThan(3);
}

describe("toolRunner", () => {
  it("has each call of its loop fitted and measured, and keeps every result", async () => {
    const { client, guard, turns } = await setup(reading(12));
    const runner = client.beta.messages.toolRunner({ ...ASKED, tools: tools() });
    const final = await runner;
    expect(final.content).toMatchObject([{ type: "text", text: "done" }]);
    expect(model.requests).toHaveLength(13);
    expectFitted();
    expect(runner.params.messages.filter(isMasked)).toEqual([]);
    expect(runner.params.messages.length).toBeGreaterThan(24);
    expect(turns()).toHaveLength(13);
    expect(guard.sideCalls).toBe(0);
    const level = model.requests.at(-1)!.promptTokens;
    expect(guard.conversation().state).toMatchObject({ allTurns: 13, window: 0, level });
  });

  it("has each call fitted and measured when it streams", async () => {
    const { client, guard, turns } = await setup(reading(12));
    const runner = client.beta.messages.toolRunner({ ...ASKED, stream: true, tools: tools() });
    const texts: string[] = [];
    for await (const stream of runner) {
      stream.on("text", (text) => texts.push(text));
      await stream.finalMessage();
    }
    expect(texts.join("")).toBe("done");
    expectFitted();
    expect(runner.params.messages.filter(isMasked)).toEqual([]);
    expect(turns()).toHaveLength(13);
    const level = model.requests.at(-1)!.promptTokens;
    expect(guard.conversation().state).toMatchObject({ allTurns: 13, window: 0, level });
  });

  it("rejects with the guard's error when no restart is left", async () => {
    const { client } = await setup(reading(12), NO_RESTARTS);
    const failure = await client.beta.messages
      .toolRunner({ ...ASKED, tools: tools() })
      .runUntilDone()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GuardError);
    for (const { promptTokens } of model.requests) expect(promptTokens).toBeLessThan(4_000);
  });

  it("keeps loops that run at the same time apart", async () => {
    const { client, guard } = await setup(reading(8));
    const ask = (name: string) =>
      withConversation(name, async () =>
        client.beta.messages
          .toolRunner({ ...ASKED, messages: [{ role: "user", content: `I am ${name}.` }], tools: tools() })
          .runUntilDone(),
      );
    await Promise.all([ask("anna"), ask("berta")]);
    for (const name of ["anna", "berta"])
      expect(guard.conversation(name).state).toMatchObject({ allTurns: 9, window: 0 });
  });

  it("lets the server summarise, which is no level of the conversation", async () => {
    const { client, turns } = await setup(({ body }) => ({ text: body.compaction ? "summary" : "done" }));
    await client.beta.messages.create({ ...ASKED });
    await client.beta.messages.create({ ...ASKED, compaction: { type: "summarize" } });
    expect(model.requests[1]!.messages).toEqual(ASKED.messages);
    expect(turns()).toMatchObject([{}, { purpose: "compaction" }]);
  });
});

describe.each(["messages", "beta"] as const)("the helpers of %s", (name) => {
  const City = z.object({ city: z.string() });
  const answered: Script = () => ({ text: '{"city":"Lübeck"}' });
  const resource = (client: Anthropic) =>
    (name === "beta" ? client.beta.messages : client.messages) as Anthropic["messages"];

  /** A history of `files` read files. */
  function history(files: number): Anthropic.MessageParam[] {
    const messages: Anthropic.MessageParam[] = [...ASKED.messages];
    for (let file = 0; file < files; file++) {
      const id = `toolu_${file}`;
      messages.push(
        {
          role: "assistant",
          content: [{ type: "tool_use", id, name: "read", input: { path: `f${file}.ts` } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: filler(300, "line") }] },
      );
    }
    return messages;
  }

  it("parse is fitted and measured, and keeps its types", async () => {
    const { client, turns } = await setup(answered);
    const output_config = { format: zodOutputFormat(City) };
    const answer = await resource(client).parse({ ...ASKED, messages: history(12), output_config });
    const city: string | undefined = answer.parsed_output?.city;
    expect(city).toBe("Lübeck");
    expectFitted();
    expect(turns()).toHaveLength(1);
  });

  it("stream is fitted and measured once, and keeps its response", async () => {
    const { client, guard, turns } = await setup(answered);
    const stream = resource(client).stream({ ...ASKED, messages: history(12) });
    const { response } = await stream.withResponse();
    expect(response.status).toBe(200);
    expect(await stream.finalText()).toBe('{"city":"Lübeck"}');
    expectFitted();
    expect(turns()).toHaveLength(1);
    expect(guard.conversation().state.level).toBe(model.requests[0]!.promptTokens);
  });

  it("a stream that is aborted counts with the estimate", async () => {
    const { client, turns } = await setup(answered);
    const stream = resource(client).stream(ASKED);
    stream.on("streamEvent", () => stream.abort());
    await expect(stream.done()).rejects.toThrow(Anthropic.APIUserAbortError);
    (await resource(client).create({ ...ASKED, stream: true })).controller.abort();
    const bare = await resource(client)
      .create({ ...ASKED, stream: true })
      .asResponse();
    await bare.body!.cancel();
    expect(turns()).toHaveLength(3);
    expect(turns().slice(1)).toMatchObject([{ estimated: true }, { estimated: true }]);
  });

  it("a stream that needs a restart when none is left has the guard's error as its cause", async () => {
    const { client } = await setup(answered, NO_RESTARTS);
    const messages = [{ role: "user" as const, content: filler(5_000) }];
    const stream = resource(client).stream({ ...ASKED, messages });
    const failure = await stream.finalMessage().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.AnthropicError);
    expect((failure as Error).cause).toMatchObject({ code: "max_restarts" });
    expect(model.requests).toEqual([]);
  });

  it("a client of withOptions has the same guard; countTokens passes through", async () => {
    const { client, guard } = await setup(answered);
    const patient = client.withOptions({ timeout: 9_000 });
    expect(patient).toBeInstanceOf(Anthropic);
    await resource(patient).create(ASKED);
    await resource(patient).stream(ASKED).done();
    const { input_tokens } = await resource(client).countTokens({ model: "m", messages: ASKED.messages });
    expect(input_tokens).toBeGreaterThan(0);
    expect(guard.conversation().state.allTurns).toBe(2);
  });
});

describe("a thread on the server", () => {
  it("is only measured from its second turn on, in one conversation, streamed or not", async () => {
    const { client, guard, turns } = await setup(() => ({ text: "ok" }));
    const [anna, berta] = ["anna", "berta"].map((name) => {
      const thread = client.beta.messages.thread({ model: "m", max_tokens: 100 });
      return { thread, ask: () => ({ role: "user" as const, content: `I am ${name}.` }) };
    });
    for (const { thread, ask } of [anna!, berta!, anna!, berta!]) await thread.send(ask());
    await anna!.thread.stream(anna!.ask()).finalMessage();
    const sent = model.requests.map(({ messages }) => messages.length);
    expect(sent).toEqual([1, 1, 1, 1, 1]);
    expect(guard.conversation().state).toMatchObject({
      allTurns: 3,
      window: 0,
      level: model.requests.at(-1)!.promptTokens,
    });
    // The first call of a second conversation could be one that writes a title.
    expect(guard.sideCalls).toBe(1);
    expect(turns()).toHaveLength(4);
  });
});
