import "../../packages/guard/src/testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import * as otelV7 from "@ai-sdk/otel";
import { setAttributes, setSession, traceAgent, traceTool } from "@arizeai/openinference-core";
import { OpenAIInstrumentation } from "@arizeai/openinference-instrumentation-openai";
import { context, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import type { UnmappedTelemetryList, WindowContentsView } from "@plimsoll/protocol/api";
import * as ai6 from "ai";
import * as ai7 from "ai-7";
import { createOpenAI as createOpenAI7 } from "ai-sdk-openai-4";
import * as openai from "openai";
import { OpenAI } from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ModelReply,
  type ScriptedModel,
  startScriptedModel,
} from "../../packages/guard/src/testing/scripted-model/index.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { countedCalls } from "./counted-calls.ts";
import { expectNowhere } from "./nowhere.ts";
import { createEmitter } from "./otlp-client.ts";
import { sessionsOf, storedSession } from "./stored-session.ts";
import { KNOWN_MODEL, KNOWN_WINDOW, makeKey, rangeQuery, unique } from "./support.ts";

// Libraries as their users set them up, against a scripted model: a conversation with a tool that asks a sub-agent.

let server: TestServer;
let key: string;
const contexts = new AsyncLocalStorageContextManager();
beforeAll(async () => {
  server = await startTestServer();
  key = (await makeKey(server, "ingest")).secret;
  context.setGlobalContextManager(contexts.enable());
});
afterAll(async () => {
  context.disable();
  await server?.stop();
});

let model: ScriptedModel;
afterEach(() => model.close());

const CONVERSATION: readonly ModelReply[] = [
  { calls: [{ name: "research", arguments: { topic: "tides" } }], promptTokens: 1_000 },
  { text: "Of the sub-agent.", promptTokens: 400 },
  { text: "After the tool.", promptTokens: 2_000, cachedTokens: 900 },
  { text: "Of the stream.", promptTokens: 3_000, cachedTokens: 1_900 },
];

async function scripted(replies: readonly ModelReply[] = CONVERSATION): Promise<string> {
  model = await startScriptedModel(({ call }) => replies[call - 1]!);
  return `${model.url}/v1`;
}

function emitter(service: string) {
  const resource = { "service.name": service };
  return createEmitter({ url: server.url, key, protocol: "http/protobuf", resource });
}
type Emitter = ReturnType<typeof emitter>;

const RESEARCH = { description: "Asks a sub-agent.", inputSchema: z.object({ topic: z.string() }) };

/** Runs the conversation of a session. */
type Conversation = (session: string, from: Emitter, baseURL: string) => Promise<void>;

const aiSdk6: Conversation = async (session, { tracer }, baseURL) => {
  const asked = createOpenAI({ baseURL, apiKey: "dummy" }).chat(KNOWN_MODEL);
  const telemetry = { isEnabled: true, tracer, metadata: { sessionId: session } };
  const research = ai6.tool({
    ...RESEARCH,
    execute: async () => {
      const experimental_telemetry = { ...telemetry, functionId: "researcher" };
      return (await ai6.generateText({ model: asked, prompt: "Look.", experimental_telemetry })).text;
    },
  });
  const common = { model: asked, prompt: "Go.", experimental_telemetry: telemetry };
  await ai6.generateText({ ...common, tools: { research }, stopWhen: ai6.stepCountIs(3) });
  await ai6.streamText(common).consumeStream();
};

/** @param integration what turns the events of the AI SDK 7 into spans */
const aiSdk7 =
  (integration: (tracer: Tracer) => otelV7.OpenTelemetry | otelV7.LegacyOpenTelemetry): Conversation =>
  async (session, { tracer }, baseURL) => {
    const asked = createOpenAI7({ baseURL, apiKey: "dummy" }).chat(KNOWN_MODEL);
    const common = (agent?: string) => ({
      model: asked,
      prompt: "Go.",
      runtimeContext: { sessionId: session, agent },
      telemetry: {
        functionId: agent,
        includeRuntimeContext: { sessionId: true, agent: true } as const,
        // Of another copy of the package: what TypeScript says of the two depends on what it checked before.
        integrations: integration(tracer) as unknown as ai7.Telemetry,
      },
    });
    const research = ai7.tool({
      ...RESEARCH,
      execute: async () => (await ai7.generateText(common("researcher"))).text,
    });
    await ai7.generateText({ ...common(), tools: { research }, stopWhen: ai7.isStepCount(3) });
    await ai7.streamText(common()).consumeStream();
  };

const genAiSpans = (tracer: Tracer) =>
  new otelV7.OpenTelemetry({
    tracer,
    enrichSpan: ({ runtimeContext }) => ({
      "gen_ai.conversation.id": runtimeContext?.sessionId as string,
      ...(runtimeContext?.agent !== undefined && { "gen_ai.agent.name": runtimeContext.agent as string }),
    }),
  });

/** The instrumentation patches the client's prototypes, so it is on for one conversation only. */
async function instrumented(
  { tracers }: Emitter,
  baseURL: string,
  work: (client: OpenAI) => Promise<void>,
): Promise<void> {
  const instrumentation = new OpenAIInstrumentation({ tracerProvider: tracers });
  instrumentation.manuallyInstrument(openai as never);
  try {
    await work(new OpenAI({ baseURL, apiKey: "dummy", maxRetries: 0 }));
  } finally {
    instrumentation.disable();
  }
}

const ASKED = { model: KNOWN_MODEL, messages: [{ role: "user" as const, content: "Go." }] };

const openInference: Conversation = (session, from, baseURL) =>
  instrumented(from, baseURL, async (client) => {
    const { tracer } = from;
    const ask = async () => void (await client.chat.completions.create(ASKED));
    const asResearcher = () => setAttributes(context.active(), { "agent.name": "researcher" });
    const research = traceTool(() => context.with(asResearcher(), ask), { tracer, name: "research" });
    const converse = traceAgent(
      async () => {
        await ask();
        await research();
        await ask();
        const stream = await client.responses.create({ model: KNOWN_MODEL, input: "Go.", stream: true });
        for await (const _ of stream);
      },
      { tracer, name: "main" },
    );
    await context.with(setSession(context.active(), { sessionId: session }), converse);
  });

const LIBRARIES: readonly [string, Conversation][] = [
  ["the Vercel AI SDK 6", aiSdk6],
  ["the Vercel AI SDK 7", aiSdk7(genAiSpans)],
  ["the Vercel AI SDK 7 with legacy spans", aiSdk7((tracer) => new otelV7.LegacyOpenTelemetry({ tracer }))],
  ["OpenInference's instrumentation of the OpenAI client", openInference],
];

describe.each(LIBRARIES)("%s", (_, converse) => {
  it("reports each call once, under its agent, however often it is exported", async () => {
    const [session, service] = [unique("emitted"), unique("service")];
    const baseURL = await scripted();
    const from = emitter(service);
    await converse(session, from, baseURL);
    expect(model.requests).toHaveLength(4);
    expect(await from.repeat()).toBe(0);
    const unmapped = await unmappedOf(from, service);
    await from.end();

    expect(await sessionsOf(server, session)).toMatchObject([
      { session, harness: service, model: KNOWN_MODEL, turns: 4, agents: 2, unexplained: 0 },
    ]);
    const { agents, turns, windows } = await storedSession(server, session);
    const [main, researcher] = ["main", "researcher"].map((name) =>
      agents.find((agent) => agent.name === name),
    );
    expect(main).toMatchObject({ context_tokens: 3_000, window_tokens: KNOWN_WINDOW });
    expect(researcher).toMatchObject({ context_tokens: 400, window_tokens: KNOWN_WINDOW });
    const levels = turns.items.map((turn) => [turn.context_tokens, turn.cache_read_tokens, turn.agent]);
    // Some spans of a call last until its tools have ended, so that a sub-agent comes before its caller.
    expect(levels.sort(([a], [b]) => Number(a) - Number(b))).toEqual([
      [400, 0, "researcher"],
      [1_000, 0, "main"],
      [2_000, 900, "main"],
      [3_000, 1_900, "main"],
    ]);
    expect(windows.map(({ turns }) => turns).sort()).toEqual([1, 3]);
    expect(await countedCalls(server, service)).toEqual({
      failed: [0, 1],
      rejected: [0, 1],
      cut_off: [0, 1],
    });
    expect(unmapped).toEqual([]);
    await server.expectHealthy();
  });

  it("reports no turn for calls that the provider refuses", async () => {
    const [session, service] = [unique("refused"), unique("service")];
    const baseURL = await scripted([{ refuse: { status: 400, message: "no" } }]);
    const from = emitter(service);
    await expect(converse(session, from, baseURL)).rejects.toThrow();
    expect(await unmappedOf(from, service)).toEqual([]);
    await from.end();
    expect(await sessionsOf(server, session)).toEqual([]);
  });
});

describe("the Vercel AI SDK 7 without enrichSpan", () => {
  it("has a session for each trace, and the calls of a sub-agent under main", async () => {
    const service = unique("service");
    const baseURL = await scripted();
    const from = emitter(service);
    await aiSdk7((tracer) => new otelV7.OpenTelemetry({ tracer }))("", from, baseURL);
    await from.end();
    const found = await sessionsOf(server, "", service);
    expect(found.map(({ turns, agents }) => [turns, agents]).sort()).toEqual([
      [1, 1],
      [3, 1],
    ]);
  });
});

describe("OpenInference's instrumentation of the OpenAI client", () => {
  it("counts no tokens in streams of Chat Completions, which the list of unmapped data says", async () => {
    const service = unique("service");
    const baseURL = await scripted();
    const from = emitter(service);
    await instrumented(from, baseURL, async (client) => {
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      for await (const _ of await client.chat.completions.create({ ...ASKED, ...options }));
    });
    expect(await unmappedOf(from, service)).toMatchObject([
      { reason: "no_usage", dialect: "openinference", counts_tokens: false },
    ]);
    await from.end();
    expect(await sessionsOf(server, "", service)).toEqual([]);
  });
});

const SAID = {
  instructions: `${"rule ".repeat(800)} of the keel`,
  prompt: `${"word ".repeat(500)} of the keel`,
  output: `${"tide ".repeat(1_600)} of the keel`,
};
const ASKS: readonly ModelReply[] = [
  { calls: [{ name: "research", arguments: { topic: "tides" } }], promptTokens: 3_000 },
  { text: "After the tool.", promptTokens: 5_000 },
];

/** A call with instructions, a prompt and the result of a tool. */
const TELLERS: readonly [string, Conversation][] = [
  [
    "the Vercel AI SDK 6",
    async (session, { tracer }, baseURL) => {
      const research = ai6.tool({ ...RESEARCH, execute: async () => SAID.output });
      await ai6.generateText({
        model: createOpenAI({ baseURL, apiKey: "dummy" }).chat(KNOWN_MODEL),
        ...{
          system: SAID.instructions,
          prompt: SAID.prompt,
          tools: { research },
          stopWhen: ai6.stepCountIs(3),
        },
        experimental_telemetry: { isEnabled: true, tracer, metadata: { sessionId: session } },
      });
    },
  ],
  ...[genAiSpans, (tracer: Tracer) => new otelV7.LegacyOpenTelemetry({ tracer })].map(
    (integration, place): [string, Conversation] => [
      `the Vercel AI SDK 7${place === 0 ? "" : " with legacy spans"}`,
      async (session, { tracer }, baseURL) => {
        const research = ai7.tool({ ...RESEARCH, execute: async () => SAID.output });
        await ai7.generateText({
          model: createOpenAI7({ baseURL, apiKey: "dummy" }).chat(KNOWN_MODEL),
          ...{ instructions: SAID.instructions, prompt: SAID.prompt, tools: { research } },
          stopWhen: ai7.isStepCount(3),
          runtimeContext: { sessionId: session },
          telemetry: {
            includeRuntimeContext: { sessionId: true } as const,
            integrations: integration(tracer) as unknown as ai7.Telemetry,
          },
        });
      },
    ],
  ),
  [
    "OpenInference's instrumentation of the OpenAI client",
    (session, from, baseURL) =>
      instrumented(from, baseURL, async (client) => {
        const definition = { name: "research", parameters: { type: "object", properties: {} } };
        const call = {
          id: "call_1",
          type: "function" as const,
          function: { name: "research", arguments: "{}" },
        };
        const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
          client.chat.completions.create({
            ...{ model: KNOWN_MODEL, messages },
            tools: [{ type: "function", function: definition }],
          });
        const asked: OpenAI.ChatCompletionMessageParam[] = [
          { role: "system", content: SAID.instructions },
          { role: "user", content: [{ type: "text", text: SAID.prompt }] },
        ];
        await context.with(setSession(context.active(), { sessionId: session }), async () => {
          await ask(asked);
          const answered = { role: "assistant" as const, tool_calls: [call] };
          await ask([...asked, answered, { role: "tool", tool_call_id: "call_1", content: SAID.output }]);
        });
      }),
  ],
];

it.each(TELLERS)("%s tells what its window holds", async (_, converse) => {
  const [session, service] = [unique("told"), unique("service")];
  const baseURL = await scripted(ASKS);
  const from = emitter(service);
  await converse(session, from, baseURL);
  await from.end();
  const [found] = await sessionsOf(server, session);
  expect(found).toMatchObject({ turns: 2 });
  const { body } = await server.get<WindowContentsView>(
    `/api/v1/contents?${rangeQuery}&session=${found!.id}`,
  );
  const [held, ...others] = body.windows;
  expect(others).toEqual([]);
  expect(held).toMatchObject({ agent: "main", context_tokens: 5_000, largest: [] });
  const parts = held!.parts.map(({ kind, tool, count }) => [kind, tool, count ?? 0]);
  expect(parts).toEqual([
    ["tool", "research", 1],
    ["system", null, 1],
    ["user", null, 1],
    ["tool_definition", "research", 0],
  ]);
  for (const [place, text] of [SAID.output, SAID.instructions, SAID.prompt].entries())
    expect(held!.parts[place]!.tokens / text.length, text.slice(0, 9)).toBeCloseTo(0.25, 1);
  await expectNowhere(server, "of the keel");
});

const LAST = "acme.last";

/** The sources of a service whose records became no event although somebody can change that. */
async function unmappedOf(from: Emitter, service: string): Promise<UnmappedTelemetryList["sources"]> {
  const all = async () => {
    const { sources } = await server.trpc<UnmappedTelemetryList>("ingest.unmapped");
    return sources.filter((source) => source.service === service);
  };
  // The list follows the answer to an export, so a record that it must have comes last.
  await from.repeat();
  from.log(LAST, Date.now(), {});
  await until(async () => (await all()).some(({ name }) => name === LAST));
  return (await all()).filter(({ name }) => name !== LAST);
}
