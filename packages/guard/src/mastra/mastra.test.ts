import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createGuard } from "../guard.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { AdapterOptions } from "../wrapped-client/wrapped-client.ts";
import { type AiMessage, aiShape, guardMastra } from "./index.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const read = createTool({
  id: "read",
  description: "Reads a file",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => filler(300, `line of ${path}`),
});

const SOFT: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } };
const NO_RESTART: PolicyInput = {
  thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
  mask: null,
  restart: { graceTurns: 0, max: 0 },
};

const reads =
  (files: number): Script =>
  ({ call }) =>
    call <= files ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" };

async function setup(
  script: Script,
  {
    policy = SOFT,
    window = 8_000,
    ...options
  }: { policy?: PolicyInput; window?: number } & AdapterOptions<AiMessage> = {},
) {
  server = await startScriptedModel((request) => {
    const refused = MESSAGE_RULES.mistral(request.messages);
    return refused === undefined ? script(request) : { refuse: { status: 400, message: refused } };
  });
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<AiMessage>({
    identity: { harness: "h" },
    shape: aiShape,
    window,
    policy,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  const memory = new MockMemory();
  const agent = new Agent({
    id: "bot",
    name: "bot",
    instructions: "You read files.",
    tools: { read },
    model: createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "dummy" }).chat("gpt-5.1"),
    maxRetries: 0,
    memory,
    inputProcessors: [guardMastra(guard, options)],
  });
  return { guard, agent, memory, of: (type: string) => events.filter((event) => event.type === type) };
}

const inThread = (thread: string, more: object = {}) => ({
  memory: { thread, resource: "user" },
  maxSteps: 60,
  ...more,
});

describe("the @mastra/core package", () => {
  it("stays below its line over many tool steps, and the memory keeps the whole history", async () => {
    const { guard, agent, memory, of } = await setup(reads(25));
    const { text } = await agent.generate("Read all of them.", inThread("t"));
    expect(text).toBe("all read");
    expect(server!.requests).toHaveLength(26);
    for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
    expect(of("turn")).toHaveLength(26);
    expect(of("masked").length).toBeGreaterThan(1);
    expect(JSON.stringify(server!.requests.at(-1)!.messages)).toContain("[read: f1.go -- ");
    const { messages } = await memory.recall({ threadId: "t", perPage: false });
    const kept = JSON.stringify(messages);
    for (let file = 1; file <= 25; file++) expect(kept).toContain(`line of f${file}.go`);
    expect(kept).not.toContain("[read: f1.go -- ");
    expect(guard.conversation("t").state).toMatchObject({
      allTurns: 26,
      model: "gpt-5.1",
      level: server!.requests.at(-1)!.promptTokens,
    });
    expect(guard.conversation("t").read().level!.error).toBeLessThan(0.2);
  });

  it("counts each streamed step once", async () => {
    const { agent, of } = await setup(reads(3));
    const stream = await agent.stream("Read all of them.", inThread("t"));
    expect(await stream.text).toBe("all read");
    expect(of("turn")).toHaveLength(4);
    expect(of("turn").map((event) => (event as unknown as { id: string }).id)).toEqual([
      ...new Set(of("turn").map((event) => (event as unknown as { id: string }).id)),
    ]);
  });

  it("never sends a summary of one thread to another", async () => {
    const { guard, agent, of } = await setup(
      ({ call }) => ({ text: `answer ${call} ${filler(100, "said")}` }),
      {
        window: 2_000,
        policy: { thresholds: { warning: null, ceiling: "60%", soft: null, hard: null }, mask: null },
        summarize: ({ messages }) => `SUMMARY of ${/thread-[ab]/.exec(JSON.stringify(messages))?.[0]}`,
      },
    );
    const ask = (thread: string, turn: number) =>
      agent.generate(`${thread} question ${turn} ${filler(100, thread)}`, {
        memory: { thread, resource: "user", options: { lastMessages: 100 } },
      });
    for (let turn = 0; turn < 12; turn++) await Promise.all([ask("thread-a", turn), ask("thread-b", turn)]);
    expect(of("compacted").length).toBeGreaterThan(1);
    for (const { messages } of server!.requests) {
      const sent = JSON.stringify(messages);
      expect(sent.includes("thread-a") && sent.includes("thread-b")).toBe(false);
    }
    expect(guard.conversation("thread-a").state.allTurns).toBe(12);
    expect(guard.conversation("thread-b").state.allTurns).toBe(12);
  });

  it("gives the caller the GuardError when no restart is left", async () => {
    const { agent } = await setup(reads(40), { policy: NO_RESTART });
    await expect(agent.generate("Read all of them.", inThread("t"))).rejects.toMatchObject({
      name: "GuardError",
      code: "max_restarts",
    });
    for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
  });

  it("counts a call that the caller aborts once, with the estimate of its prompt", async () => {
    const { guard, agent, of } = await setup(() => new Promise(() => {}));
    const stop = new AbortController();
    const call = agent.generate(filler(500), inThread("t", { abortSignal: stop.signal }));
    await expect.poll(() => server!.requests.length).toBe(1);
    stop.abort();
    await call.catch(() => {});
    await expect.poll(() => of("turn").length).toBe(1);
    expect(guard.conversation("t").read().level!.tokens).toBeGreaterThan(400);
  });

  it("does not count a failed call", async () => {
    const { agent, of } = await setup(({ call }) =>
      call === 1 ? { refuse: { status: 400, message: "no" } } : { text: "hello" },
    );
    const stop = new AbortController();
    const options = inThread("t", { abortSignal: stop.signal });
    await expect(agent.generate("Hi", options)).rejects.toThrow();
    await agent.generate("Hi", inThread("t"));
    expect(of("turn")).toHaveLength(1);
  });
});
