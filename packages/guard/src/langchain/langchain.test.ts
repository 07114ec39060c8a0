import "../testing/clean-environment.ts";

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { createAgent, modelRetryMiddleware, tool, toolStrategy } from "langchain";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createGuard } from "../guard.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import {
  type ModelRequest,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { AdapterOptions } from "../wrapped-client/wrapped-client.ts";
import { guardLangChain, type LangChainMessage, langChainShape } from "./index.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const read = tool(async ({ path }) => filler(300, `line of ${path}`), {
  name: "read",
  description: "Reads a file",
  schema: z.object({ path: z.string() }),
});

const reads = ({ messages }: ModelRequest, files: number): ReturnType<Script> => {
  const done = messages.filter(({ role }) => role === "tool").length;
  return done < files
    ? { calls: [{ name: "read", arguments: { path: `f${done}.go` } }] }
    : { text: "all read" };
};

const SOFT: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } };

const llm = () =>
  new ChatOpenAI({
    model: "gpt-5.1",
    apiKey: "dummy",
    maxRetries: 0,
    configuration: { baseURL: `${server!.url}/v1` },
  });

async function setup(
  script: Script,
  {
    policy = SOFT,
    window = 8_000,
    notices = "merge",
    ...options
  }: {
    policy?: PolicyInput;
    window?: number;
    notices?: "merge" | "system";
  } & AdapterOptions<LangChainMessage> = {},
) {
  server = await startScriptedModel((request) => {
    const refused = MESSAGE_RULES.mistral(request.messages) ?? MESSAGE_RULES.openai(request.messages);
    if (refused !== undefined) return { refuse: { status: 400, message: refused } };
    return script(request);
  });
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<LangChainMessage>({
    identity: { harness: "h" },
    shape: langChainShape,
    window,
    policy,
    notices,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  const make = () =>
    createAgent({
      model: llm(),
      tools: [read],
      systemPrompt: "You read files.",
      checkpointer: new MemorySaver(),
      middleware: [guardLangChain(guard, options)],
    });
  return { guard, events, make, of: (type: string) => events.filter((event) => event.type === type) };
}

const inThread = (thread_id: string, more: object = {}) => ({
  configurable: { thread_id },
  recursionLimit: 200,
  ...more,
});

describe("the langchain package", () => {
  it("stays below its line over many tool steps, and the checkpointer keeps the whole history", async () => {
    const { guard, make, of } = await setup((request) => reads(request, 25));
    const agent = make();
    const { messages } = await agent.invoke({ messages: "Read all of them." }, inThread("t"));
    expect(messages.at(-1)!.text).toBe("all read");
    expect(server!.requests).toHaveLength(26);
    for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
    expect(of("turn")).toHaveLength(26);
    expect(of("masked").length).toBeGreaterThan(1);
    const last = JSON.stringify(server!.requests.at(-1)!.messages);
    expect(last).toContain("[read: f0.go -- ");
    const { values } = await agent.graph.getState(inThread("t"));
    const results = (values.messages as LangChainMessage[]).filter((message) =>
      ToolMessage.isInstance(message),
    );
    expect(results).toHaveLength(25);
    for (const result of results) expect(String(result.content)).toMatch(/^line of f/);
    expect(guard.conversation("t").state.allTurns).toBe(26);
    expect(guard.conversation("t").read().level!.error).toBeLessThan(0.2);
  });

  it("never sends a summary of one thread to another", async () => {
    const { guard, make, of } = await setup(
      ({ messages }) => ({ text: `answer ${messages.length} ${filler(100, "said")}` }),
      {
        window: 2_000,
        policy: { thresholds: { warning: null, ceiling: "60%", soft: null, hard: null }, mask: null },
        summarize: ({ messages }) => `SUMMARY of ${/thread-[ab]/.exec(JSON.stringify(messages))?.[0]}`,
      },
    );
    const agent = make();
    const ask = async (thread: string, turn: number) => {
      const text = `${thread} question ${turn} ${filler(100, thread)}`;
      await agent.invoke({ messages: [new HumanMessage(text)] }, inThread(thread));
    };
    for (let turn = 0; turn < 12; turn++) await Promise.all([ask("thread-a", turn), ask("thread-b", turn)]);
    expect(of("compacted").length).toBeGreaterThan(1);
    for (const { messages } of server!.requests) {
      const sent = JSON.stringify(messages);
      expect(sent.includes("thread-a") && sent.includes("thread-b")).toBe(false);
    }
    expect(of("turn")).toHaveLength(24);
    expect(guard.conversation("thread-a").state.allTurns).toBe(12);
  });

  it("gives the caller the GuardError as the cause when no restart is left", async () => {
    const { make } = await setup((request) => reads(request, 40), {
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
        mask: null,
        restart: { graceTurns: 0, max: 0 },
      },
    });
    const failed = make().invoke({ messages: "Read all of them." }, inThread("t"));
    await expect(failed).rejects.toMatchObject({
      name: "GuardError",
      cause: { name: "GuardError", code: "max_restarts" },
    });
    for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
  });

  it("counts a call that the caller aborts, with the estimate of its prompt", async () => {
    const { guard, make, of } = await setup(() => new Promise(() => {}));
    const stop = new AbortController();
    const call = make().invoke({ messages: filler(500) }, inThread("t", { signal: stop.signal }));
    await expect.poll(() => server!.requests.length).toBe(1);
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow();
    await expect.poll(() => of("turn").length).toBe(1);
    expect(guard.conversation("t").read().level!.tokens).toBeGreaterThan(400);
  });

  it("counts a streamed call once, with its real usage", async () => {
    const { guard, make, of } = await setup((request) => reads(request, 3));
    const stream = await make().stream(
      { messages: "Read all of them." },
      { ...inThread("t"), streamMode: "messages" },
    );
    let chunks = 0;
    for await (const _ of stream) chunks++;
    expect(chunks).toBeGreaterThan(4);
    expect(of("turn")).toHaveLength(4);
    expect(guard.conversation("t").state.level).toBe(server!.requests.at(-1)!.promptTokens);
  });

  it("counts no failed call, and each attempt of a retry once", async () => {
    const { guard, of } = await setup(({ call }) =>
      call === 1 ? { refuse: { status: 500, message: "busy" } } : { text: "hello" },
    );
    const retry = modelRetryMiddleware({ maxRetries: 2, initialDelayMs: 0, jitter: false });
    const agent = createAgent({ model: llm(), tools: [read], middleware: [retry, guardLangChain(guard)] });
    const { messages } = await agent.invoke({ messages: "Hi" }, inThread("t"));
    expect(messages.at(-1)!.text).toBe("hello");
    expect(server!.requests).toHaveLength(2);
    expect(of("turn")).toHaveLength(1);
  });

  it("reads the usage of a structured answer", async () => {
    const { guard, of } = await setup(({ body }) => {
      const names = (body.tools as { function: { name: string } }[]).map((one) => one.function.name);
      return { calls: [{ name: names.find((name) => name !== "read")!, arguments: { files: 3 } }] };
    });
    const agent = createAgent({
      model: llm(),
      tools: [read],
      responseFormat: toolStrategy(z.object({ files: z.number() })),
      middleware: [guardLangChain(guard)],
    });
    const { structuredResponse } = await agent.invoke({ messages: "How many?" });
    expect(structuredResponse).toEqual({ files: 3 });
    expect(of("turn")).toHaveLength(1);
    expect(guard.conversations()).toHaveLength(1);
  });

  it("keeps a thread's window after a restart of the process", async () => {
    const { guard, make } = await setup((request) => reads(request, 25));
    const agent = make();
    await agent.invoke({ messages: "Read all of them." }, inThread("t"));
    const state = guard.conversation("t").snapshot();
    guard.forget("t");
    guard.conversation("t", { state });
    await agent.invoke({ messages: "Thank you." }, inThread("t"));
    const last = JSON.stringify(server!.requests.at(-1)!.messages);
    expect(last).toContain("[read: f0.go -- ");
    expect(guard.conversation("t").state).toMatchObject({ window: 0, allTurns: 27 });
  });

  it("adds notices to the system prompt on request, and keeps the blocks that are there", async () => {
    const { make } = await setup(
      ({ call }) =>
        call < 12 ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" },
      {
        policy: {
          thresholds: { warning: null, ceiling: null, soft: null, hard: "50%" },
          mask: null,
          restart: { graceTurns: 3 },
        },
        notices: "system",
      },
    );
    await make().invoke({ messages: "Read all of them." }, inThread("t"));
    const systems = server!.requests.map(({ messages }) => JSON.stringify(messages[0]));
    expect(systems.every((text) => text.includes("You read files."))).toBe(true);
    expect(new Set(systems).size).toBeGreaterThan(1);
  });

  it("does not give a sub-agent of a thread the thread's edits", async () => {
    const { guard, of } = await setup(({ messages }) => {
      const sent = JSON.stringify(messages);
      const done = messages.filter(({ role }) => role === "tool").length;
      if (sent.includes("Sub task"))
        return done < 3 ? { calls: [{ name: "read", arguments: { path: "s.go" } }] } : { text: "sub done" };
      return done < 4
        ? { calls: [{ name: done === 2 ? "ask" : "read", arguments: { path: "m.go" } }] }
        : { text: "done" };
    });
    const sub = createAgent({ model: llm(), tools: [read], middleware: [guardLangChain(guard)] });
    const ask = tool(
      async () => (await sub.invoke({ messages: "Sub task: read s.go" })).messages.at(-1)!.text,
      { name: "ask", description: "Asks a sub-agent", schema: z.object({ path: z.string() }) },
    );
    const agent = createAgent({
      model: llm(),
      tools: [read, ask],
      checkpointer: new MemorySaver(),
      middleware: [guardLangChain(guard)],
    });
    await agent.invoke({ messages: "Main task" }, inThread("t"));
    expect(guard.conversation("t").state).toMatchObject({ window: 0, allTurns: 5 });
    expect(of("cleared")).toHaveLength(0);
    expect(guard.sideCalls).toBe(1);
  });
});
