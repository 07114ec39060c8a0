import "../testing/clean-environment.ts";

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CallableTool, type Content, type FunctionCall, GoogleGenAI, Type } from "@google/genai";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { afterEach, describe, expect, it } from "vitest";
import { createGuard } from "../guard.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import { type Script, type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { ClientOptions } from "../wrapped-client/wrapped-client.ts";
import { type GeminiContent, geminiShape, guardGemini } from "./index.ts";

let server: ScriptedModel | undefined;
afterEach(() => server?.close());

const MODEL = "gemini-3.8-flash";
const READ = {
  name: "read",
  description: "Reads a file",
  parameters: { type: Type.OBJECT, properties: { path: { type: Type.STRING } } },
};
const SOFT: PolicyInput = { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "95%" } };

const answerTo = ({ id, name, args }: FunctionCall) => ({
  functionResponse: {
    ...(id !== undefined && { id }),
    name: name!,
    response: { output: filler(300, `line of ${String(args?.path)}`) },
  },
});

/** A tool that the client calls itself. */
const readTool = (): CallableTool => ({
  tool: async () => ({ functionDeclarations: [READ] }),
  callTool: async (calls) => calls.map(answerTo),
});

const reads =
  (files: number): Script =>
  ({ call }) =>
    call <= files ? { calls: [{ name: "read", arguments: { path: `f${call}.go` } }] } : { text: "all read" };

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
  } & ClientOptions<GeminiContent> = {},
) {
  server = await startScriptedModel((request) => {
    const refused = MESSAGE_RULES.gemini(request.messages);
    return refused === undefined ? script(request) : { refuse: { status: 400, message: refused } };
  });
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<GeminiContent>({
    identity: { harness: "h" },
    shape: geminiShape,
    window,
    policy,
    notices,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  const client = new GoogleGenAI({ apiKey: "dummy", httpOptions: { baseUrl: server.url } });
  return {
    guard,
    gemini: guardGemini(client, guard, options),
    of: (type: string) => events.filter((event) => event.type === type),
  };
}

function expectBelow(calls: number, of: (type: string) => unknown[]) {
  expect(server!.requests).toHaveLength(calls);
  for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(8_000);
  expect(of("turn")).toHaveLength(calls);
  expect(of("masked").length).toBeGreaterThan(1);
  expect(JSON.stringify(server!.requests.at(-1)!.messages)).toContain("[read: f1.go -- ");
}

describe("the @google/genai package", () => {
  it("stays below its line over many tool steps, keeps signatures, and never changes the contents", async () => {
    const { gemini, guard, of } = await setup(reads(25));
    const contents: Content[] = [{ role: "user", parts: [{ text: "Read all of them." }] }];
    for (;;) {
      const answer = await gemini.models.generateContent({
        model: MODEL,
        contents,
        config: { tools: [{ functionDeclarations: [READ] }], systemInstruction: "You read files." },
      });
      contents.push(answer.candidates![0]!.content!);
      if (answer.functionCalls === undefined) break;
      contents.push({ role: "user", parts: answer.functionCalls.map(answerTo) });
    }
    expectBelow(26, of);
    expect(contents).toHaveLength(52);
    expect(JSON.stringify(contents)).not.toContain("[read: f1.go -- ");
    expect(guard.conversation().state).toMatchObject({
      allTurns: 26,
      model: MODEL,
      level: server!.requests.at(-1)!.promptTokens,
    });
    expect(guard.conversation().read().level!.error).toBeLessThan(0.2);
  });

  it("guards each request of automatic function calling", async () => {
    const { gemini, of } = await setup(reads(25));
    const answer = await gemini.models.generateContent({
      model: MODEL,
      contents: "Read all of them.",
      config: { tools: [readTool()], automaticFunctionCalling: { maximumRemoteCalls: 60 } },
    });
    expect(answer.text).toBe("all read");
    expectBelow(26, of);
    const history = JSON.stringify(answer.automaticFunctionCallingHistory);
    for (let file = 1; file <= 25; file++) expect(history).toContain(`line of f${file}.go`);
  });

  it("guards each request of streamed automatic function calling", async () => {
    const { gemini, of } = await setup(reads(25));
    const stream = await gemini.models.generateContentStream({
      model: MODEL,
      contents: "Read all of them.",
      config: { tools: [readTool()], automaticFunctionCalling: { maximumRemoteCalls: 60 } },
    });
    let text = "";
    for await (const chunk of stream) text += chunk.candidates?.[0]?.content?.parts?.[0]?.text ?? "";
    expect(text).toBe("all read");
    expectBelow(26, of);
  });

  it.each(["sendMessage", "sendMessageStream"] as const)("guards the chat's %s", async (method) => {
    const { gemini, of } = await setup(({ call }) => ({ text: `answer ${call} ${filler(60, "said")}` }), {
      policy: { thresholds: { warning: null, ceiling: "50%", soft: null, hard: null } },
      summarize: () => "SUMMARY",
    });
    const chat = gemini.chats.create({ model: MODEL });
    for (let turn = 0; turn < 30; turn++) {
      const message = `question ${turn} ${filler(200)}`;
      if (method === "sendMessage") await chat.sendMessage({ message });
      else for await (const _ of await chat.sendMessageStream({ message }));
    }
    expect(server!.requests).toHaveLength(30);
    for (const request of server!.requests) expect(request.promptTokens).toBeLessThan(6_000);
    expect(of("turn")).toHaveLength(30);
    expect(of("compacted").length).toBeGreaterThan(0);
    expect(chat.getHistory()).toHaveLength(60);
    expect(JSON.stringify(chat.getHistory())).not.toContain("SUMMARY");
  });

  it("never sends a summary of one chat to another", async () => {
    const { gemini, of } = await setup(
      ({ messages }) => ({ text: `answer ${messages.length} ${filler(100, "said")}` }),
      {
        window: 2_000,
        policy: { thresholds: { warning: null, ceiling: "60%", soft: null, hard: null }, mask: null },
        summarize: ({ messages }) => `SUMMARY of ${/chat-[ab]/.exec(JSON.stringify(messages))?.[0]}`,
      },
    );
    const [a, b] = [gemini.chats.create({ model: MODEL }), gemini.chats.create({ model: MODEL })];
    for (let turn = 0; turn < 12; turn++)
      await Promise.all([
        a.sendMessage({ message: `chat-a question ${turn} ${filler(100, "chat-a")}` }),
        b.sendMessage({ message: `chat-b question ${turn} ${filler(100, "chat-b")}` }),
      ]);
    expect(of("compacted").length).toBeGreaterThan(1);
    for (const { messages } of server!.requests) {
      const sent = JSON.stringify(messages);
      expect(sent.includes("chat-a") && sent.includes("chat-b")).toBe(false);
    }
  });

  it("restarts a session with a history that a strict server takes", async () => {
    const { gemini, guard } = await setup(reads(40), {
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
        mask: null,
        restart: { graceTurns: 2, carryoverTurns: 2 },
      },
    });
    await gemini.models.generateContent({
      model: MODEL,
      contents: "Read all of them.",
      config: { tools: [readTool()], automaticFunctionCalling: { maximumRemoteCalls: 60 } },
    });
    expect(guard.conversation().state.restarts).toBeGreaterThan(1);
    expect(server!.requests).toHaveLength(41);
  });

  it("adds notices to the system instruction on request", async () => {
    const { gemini } = await setup(reads(12), {
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "50%" },
        mask: null,
        restart: { graceTurns: 3 },
      },
      notices: "system",
    });
    await gemini.models.generateContent({
      model: MODEL,
      contents: "Read all of them.",
      config: { tools: [readTool()], systemInstruction: "You read files." },
    });
    const systems = server!.requests.map(({ body }) => JSON.stringify(body.systemInstruction));
    expect(systems.every((text) => text.includes("You read files."))).toBe(true);
    expect(new Set(systems).size).toBeGreaterThan(1);
  });

  it("sends a continued answer's contents again as they were, and counts each request", async () => {
    const bodies: { contents: unknown }[] = [];
    const http = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const more = bodies.push(JSON.parse(Buffer.concat(chunks).toString("utf8"))) === 1;
      const candidate = {
        content: { role: "model", parts: [{ text: more ? "Once upon " : "a time." }] },
        ...(more ? { finishReason: "CONTINUATION", continuationToken: "t1" } : { finishReason: "STOP" }),
      };
      const usageMetadata = { promptTokenCount: 4_000, candidatesTokenCount: 3 };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ candidates: [candidate], usageMetadata, responseId: `r${bodies.length}` }),
      );
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    try {
      const { guard, of } = await setup(() => ({ text: "unused" }), { window: 4_000 });
      const baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
      const gemini = guardGemini(new GoogleGenAI({ apiKey: "dummy", httpOptions: { baseUrl } }), guard);
      const call = (id: string) => ({ id, name: "read", args: { path: id } });
      const contents: Content[] = [{ role: "user", parts: [{ text: "Tell a story." }] }];
      for (const id of ["c1", "c2", "c3", "c4"])
        contents.push(
          { role: "model", parts: [{ functionCall: call(id), thoughtSignature: "AAAA" }] },
          { role: "user", parts: [answerTo(call(id))] },
        );
      const answer = await gemini.models.generateContent({ model: MODEL, contents });
      expect(answer.text).toBe("Once upon a time.");
      expect(JSON.stringify(bodies[0]!.contents)).toContain("[read: c1 -- ");
      expect(bodies[1]!.contents).toEqual(bodies[0]!.contents);
      expect(of("turn")).toHaveLength(2);
    } finally {
      http.close();
    }
  });

  it("gives the caller the GuardError when no restart is left", async () => {
    const { gemini } = await setup(reads(40), {
      policy: {
        thresholds: { warning: null, ceiling: null, soft: null, hard: "60%" },
        mask: null,
        restart: { graceTurns: 0, max: 0 },
      },
    });
    const call = gemini.models.generateContent({
      model: MODEL,
      contents: "Read all of them.",
      config: { tools: [readTool()], automaticFunctionCalling: { maximumRemoteCalls: 60 } },
    });
    await expect(call).rejects.toMatchObject({ name: "GuardError", code: "max_restarts" });
  });

  it("counts a stream that its reader leaves", async () => {
    const { gemini, guard, of } = await setup(() => ({
      text: "thinking",
      calls: [{ name: "read", arguments: { path: "a" } }],
    }));
    const stream = await gemini.models.generateContentStream({ model: MODEL, contents: "Hello" });
    for await (const _ of stream) break;
    expect(of("turn")).toHaveLength(1);
    expect(guard.conversation().state.level).toBe(server!.requests[0]!.promptTokens);
  });

  it("counts a call that the caller aborts, with the estimate of its prompt", async () => {
    const { gemini, guard, of } = await setup(() => new Promise(() => {}));
    const stop = new AbortController();
    const call = gemini.models.generateContent({
      model: MODEL,
      contents: filler(500),
      config: { abortSignal: stop.signal },
    });
    await expect.poll(() => server!.requests.length).toBe(1);
    stop.abort();
    await expect(call).rejects.toThrow();
    expect(of("turn")).toHaveLength(1);
    expect(guard.conversation().read().level!.tokens).toBeGreaterThan(400);
  });

  it("guards calls of Vertex AI as well", async () => {
    const { guard, of } = await setup(() => ({ text: "ok" }));
    const httpOptions = { baseUrl: server!.url };
    const gemini = guardGemini(new GoogleGenAI({ vertexai: true, apiKey: "dummy", httpOptions }), guard);
    expect((await gemini.models.generateContent({ model: MODEL, contents: "Hello" })).text).toBe("ok");
    expect(of("turn")).toHaveLength(1);
    expect(guard.conversation().state.model).toBe(MODEL);
  });

  it("does not count a refused call", async () => {
    const { gemini, of } = await setup(() => ({ refuse: { status: 400, message: "no" } }));
    await expect(gemini.models.generateContent({ model: MODEL, contents: "Hello" })).rejects.toThrow("no");
    expect(of("turn")).toHaveLength(0);
  });

  it("sends a single content or part, an image, and a call without contents as they came", async () => {
    const { gemini } = await setup(() => ({ text: "ok" }));
    const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    for (const contents of ["Hello", { text: "Hello" }, ["Hello", image], { role: "user", parts: [image] }])
      await gemini.models.generateContent({ model: MODEL, contents });
    expect(server!.requests.map(({ messages }) => messages)).toEqual([
      [{ role: "user", parts: [{ text: "Hello" }] }],
      [{ role: "user", parts: [{ text: "Hello" }] }],
      [{ role: "user", parts: [{ text: "Hello" }, image] }],
      [{ role: "user", parts: [image] }],
    ]);
    await expect(gemini.models.generateContent({ model: MODEL, contents: [] })).rejects.toThrow(
      "contents are required",
    );
  });

  it("never changes the arguments of a signed call", () => {
    const call = { functionCall: { name: "write", args: { text: filler(300) } } };
    const parts = (thoughtSignature?: string) =>
      geminiShape.read({
        role: "model",
        parts: [{ ...call, ...(thoughtSignature && { thoughtSignature }) }, call],
      });
    expect(parts("AAAA").map(({ editable }) => editable)).toEqual([false, false]);
    expect(parts().map(({ editable }) => editable)).toEqual([true, true]);
  });

  it("says which client it needs", () => {
    const guard = createGuard<GeminiContent>({ identity: { harness: "h" }, shape: geminiShape });
    expect(() => guardGemini({ models: {}, chats: {} }, guard)).toThrow("Use @google/genai 3.1 or later");
  });
});
