import { existsSync, readFileSync } from "node:fs";
import { contextTokens } from "@plimsoll/fold";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRecord } from "../telemetry.ts";
import { type SampleAttributes, type SpanSample, spanSample } from "../testing/otlp.ts";

/** A call as it was. Tokens. */
interface Call {
  fresh: number;
  read: number;
  write: number;
  text: number;
  reasoning: number;
}
const anyCall: fc.Arbitrary<Call> = fc.record({
  fresh: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 200_000 })),
  read: fc.oneof(fc.constant(0), fc.nat(400_000)),
  write: fc.oneof(fc.constant(0), fc.nat(90_000)),
  text: fc.integer({ min: 1, max: 9_000 }),
  reasoning: fc.nat(9_000),
});
const cachedIn = ({ read, write }: Call) => read + write;
const promptOf = (call: Call) => call.fresh + cachedIn(call);
const answerOf = ({ text, reasoning }: Call) => text + reasoning;

const span = (attributes: SampleAttributes, scope = ""): SpanSample => ({ scope, attributes });
const genAi = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m" };
const aiSdk = { "ai.operationId": "ai.streamText.doStream", "gen_ai.request.model": "m" };
const openInference = { "openinference.span.kind": "LLM", "llm.model_name": "m" };
const generation = { "langfuse.observation.type": "generation", "langfuse.observation.model.name": "m" };
const model = { "genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "googleai/m" };

/** What each library writes of a call, as its code does (sources: the table in packages/fold/src/usage). */
const LIBRARIES: [name: string, write: (call: Call) => SpanSample][] = [
  [
    "Strands with Bedrock",
    (call) =>
      span(
        {
          ...genAi,
          "gen_ai.usage.prompt_tokens": call.fresh,
          "gen_ai.usage.input_tokens": call.fresh,
          "gen_ai.usage.output_tokens": answerOf(call),
          "gen_ai.usage.total_tokens": promptOf(call) + answerOf(call),
          "gen_ai.usage.cache_read_input_tokens": call.read,
          "gen_ai.usage.cache_write_input_tokens": call.write,
        },
        "strands.telemetry.tracer",
      ),
  ],
  [
    "Strands with OpenAI",
    (call) =>
      span({
        ...genAi,
        "gen_ai.usage.input_tokens": promptOf(call),
        "gen_ai.usage.output_tokens": answerOf(call),
        "gen_ai.usage.total_tokens": promptOf(call) + answerOf(call),
        "gen_ai.usage.cache_read_input_tokens": call.read,
      }),
  ],
  [
    "OpenLLMetry with Bedrock",
    (call) =>
      span(
        {
          ...genAi,
          "gen_ai.usage.input_tokens": call.fresh,
          "gen_ai.usage.output_tokens": answerOf(call),
          "gen_ai.usage.total_tokens": call.fresh + answerOf(call),
          "gen_ai.usage.cache_read.input_tokens": call.read,
          "gen_ai.usage.cache_creation.input_tokens": call.write,
        },
        "opentelemetry.instrumentation.bedrock",
      ),
  ],
  [
    "OpenLLMetry with Anthropic",
    (call) =>
      span(
        {
          ...genAi,
          "gen_ai.usage.input_tokens": promptOf(call),
          "gen_ai.usage.output_tokens": answerOf(call),
          "gen_ai.usage.total_tokens": promptOf(call) + answerOf(call),
          "gen_ai.usage.cache_read_input_tokens": call.read,
          "gen_ai.usage.cache_creation_input_tokens": call.write,
        },
        "opentelemetry.instrumentation.anthropic",
      ),
  ],
  [
    "Mastra and AI SDK 7",
    (call) =>
      span({
        ...genAi,
        "gen_ai.usage.input_tokens": promptOf(call),
        "gen_ai.usage.output_tokens": answerOf(call),
        "gen_ai.usage.reasoning_tokens": call.reasoning,
        "gen_ai.usage.cache_read.input_tokens": call.read,
        "gen_ai.usage.cache_creation.input_tokens": call.write,
      }),
  ],
  [
    "OpenInference with Anthropic",
    (call) =>
      span({
        ...openInference,
        "llm.token_count.prompt": promptOf(call),
        "llm.token_count.completion": answerOf(call),
        "llm.token_count.total": promptOf(call) + answerOf(call),
        "llm.token_count.prompt_details.cache_read": call.read,
        "llm.token_count.prompt_details.cache_write": call.write,
      }),
  ],
  [
    "OpenInference with Converse",
    (call) =>
      span({
        ...openInference,
        "llm.token_count.prompt": call.fresh,
        "llm.token_count.completion": answerOf(call),
        "llm.token_count.total": promptOf(call) + answerOf(call),
        "llm.token_count.prompt_details.cache_read": call.read,
        "llm.token_count.prompt_details.cache_write": call.write,
      }),
  ],
  [
    "OpenInference's JavaScript with Bedrock",
    (call) =>
      span(
        {
          ...openInference,
          "llm.token_count.prompt": call.fresh,
          "llm.token_count.completion": answerOf(call),
          "llm.token_count.prompt_details.cache_read": call.read,
          "llm.token_count.prompt_details.cache_write": call.write,
        },
        "@arizeai/openinference-instrumentation-bedrock",
      ),
  ],
  [
    "AI SDK 5 with Anthropic",
    (call) => {
      const usage = {
        input_tokens: call.fresh,
        output_tokens: 1,
        cache_creation_input_tokens: call.write,
        cache_read_input_tokens: call.read,
      };
      return span({
        ...aiSdk,
        "ai.model.provider": "anthropic.messages",
        "ai.usage.inputTokens": call.fresh,
        "ai.usage.outputTokens": answerOf(call),
        "ai.usage.totalTokens": call.fresh + answerOf(call),
        "ai.usage.cachedInputTokens": call.read,
        "ai.response.providerMetadata": JSON.stringify({ anthropic: { usage } }),
        "gen_ai.usage.input_tokens": call.fresh,
        "gen_ai.usage.output_tokens": answerOf(call),
      });
    },
  ],
  [
    "AI SDK 5 with Bedrock",
    (call) =>
      span({
        ...aiSdk,
        "ai.model.provider": "amazon-bedrock",
        "ai.usage.inputTokens": call.fresh,
        "ai.usage.outputTokens": answerOf(call),
        "ai.usage.totalTokens": call.fresh + answerOf(call),
        "ai.usage.cachedInputTokens": call.read,
        "ai.response.providerMetadata": JSON.stringify({
          bedrock: { usage: { cacheWriteInputTokens: call.write } },
        }),
      }),
  ],
  [
    "AI SDK 4 with Anthropic",
    (call) =>
      span({
        ...aiSdk,
        "ai.model.provider": "anthropic.messages",
        "ai.usage.promptTokens": call.fresh,
        "ai.usage.completionTokens": answerOf(call),
        "ai.response.providerMetadata": JSON.stringify({
          anthropic: { cacheCreationInputTokens: call.write, cacheReadInputTokens: call.read },
        }),
      }),
  ],
  [
    "AI SDK 4 with Bedrock",
    (call) =>
      span({
        ...aiSdk,
        "ai.model.provider": "amazon-bedrock",
        "ai.usage.promptTokens": call.fresh,
        "ai.usage.completionTokens": answerOf(call),
        "ai.response.providerMetadata": JSON.stringify({
          bedrock: { usage: { cacheReadInputTokens: call.read, cacheWriteInputTokens: call.write } },
        }),
      }),
  ],
  [
    "AI SDK 5 with OpenAI",
    (call) =>
      span({
        ...aiSdk,
        "ai.model.provider": "openai.responses",
        "ai.usage.inputTokens": promptOf(call),
        "ai.usage.outputTokens": answerOf(call),
        "ai.usage.cachedInputTokens": call.read,
        "ai.response.providerMetadata": JSON.stringify({ openai: { responseId: "r" } }),
      }),
  ],
  [
    "AI SDK 6 with Anthropic",
    (call) =>
      span({
        ...aiSdk,
        "ai.model.provider": "anthropic.messages",
        "ai.usage.inputTokens": promptOf(call),
        "ai.usage.outputTokens": answerOf(call),
        "ai.usage.cachedInputTokens": call.read,
        "ai.usage.inputTokenDetails.noCacheTokens": call.fresh,
        "ai.usage.inputTokenDetails.cacheReadTokens": call.read,
        "ai.usage.inputTokenDetails.cacheWriteTokens": call.write,
      }),
  ],
  [
    "Langfuse's wrapper of OpenAI",
    (call) =>
      span({
        ...generation,
        "langfuse.observation.usage_details": JSON.stringify({
          input: call.fresh,
          output: call.text,
          total: promptOf(call) + answerOf(call),
          input_cached_tokens: cachedIn(call),
          output_reasoning_tokens: call.reasoning,
        }),
      }),
  ],
  [
    "Langfuse's handler for LangChain",
    (call) =>
      span({
        ...generation,
        "langfuse.observation.usage_details": JSON.stringify({
          input: call.fresh,
          output: call.text,
          total: promptOf(call) + answerOf(call),
          input_cache_read: call.read,
          input_cache_creation: call.write,
          output_reasoning: call.reasoning,
        }),
      }),
  ],
  [
    "Langfuse with Anthropic's own counts",
    (call) =>
      span({
        ...generation,
        "langfuse.observation.usage_details": JSON.stringify({
          input_tokens: call.fresh,
          output_tokens: answerOf(call),
          cache_read_input_tokens: call.read,
          cache_creation_input_tokens: call.write,
        }),
      }),
  ],
  [
    "LangSmith's exporter for JavaScript",
    (call) =>
      span({
        ...genAi,
        "langsmith.span.kind": "llm",
        "gen_ai.usage.input_tokens": promptOf(call),
        "gen_ai.usage.output_tokens": answerOf(call),
        "gen_ai.usage.total_tokens": promptOf(call) + answerOf(call),
        "gen_ai.usage.input_token_details": JSON.stringify({
          cache_read: call.read,
          cache_creation: call.write,
        }),
      }),
  ],
  [
    "Genkit with Gemini",
    (call) =>
      span({
        ...model,
        "genkit:output": JSON.stringify({
          message: { role: "model", content: [{ text: "x".repeat(9_000) }] },
          usage: {
            inputTokens: promptOf(call),
            outputTokens: call.text,
            thoughtsTokens: call.reasoning,
            cachedContentTokens: call.read,
            totalTokens: promptOf(call) + answerOf(call),
          },
        }),
      }),
  ],
  [
    "Genkit with Anthropic",
    (call) =>
      span({
        ...model,
        "genkit:output": JSON.stringify({
          usage: {
            inputTokens: call.fresh,
            outputTokens: answerOf(call),
            custom: { cache_creation_input_tokens: call.write, cache_read_input_tokens: call.read },
          },
        }),
      }),
  ],
];

describe("a call as a library writes it is read back", () => {
  it.each(LIBRARIES)("%s", (_, write) => {
    fc.assert(
      fc.property(anyCall, (call) => {
        const [event, ...more] = readRecord(spanSample(write(call))).reading.events ?? [];
        expect(more).toEqual([]);
        if (event?.type !== "turn") throw new Error("no turn");
        expect(contextTokens({ ...event.usage } as never)).toBe(promptOf(call));
        expect(event.usage.output_tokens).toBe(answerOf(call));
        expect(event.estimated).toBeUndefined();
      }),
    );
  });
});

describe("observations around calls and their sessions", () => {
  it.each<[string, SampleAttributes]>([
    ["langfuse", { ...generation, "langfuse.observation.type": "span" }],
    [
      "genkit",
      { ...model, "genkit:metadata:subtype": "flow", "genkit:output": '{"usage":{"inputTokens":9}}' },
    ],
  ])("%s: they are no calls", (dialect, attributes) => {
    const none = { dialect, reading: { reason: "not_needed" } };
    expect(readRecord(spanSample(span(attributes)))).toEqual(none);
  });

  it.each<[string, SampleAttributes]>([
    ["langfuse", { ...generation, "langfuse.observation.usage_details": "{not JSON" }],
    ["langfuse", { ...generation, "langfuse.observation.usage_details": '{"output":4}' }],
    ["genkit", { ...model, "genkit:output": '{"usage":7}' }],
  ])("%s: a call without a prompt is no turn", (dialect, attributes) => {
    const none = { dialect, reading: { reason: "no_usage" } };
    expect(readRecord(spanSample(span(attributes)))).toEqual(none);
  });

  it.each<[string, SampleAttributes]>([
    ["session.id", generation],
    ["genkit:sessionId", model],
    ["mastra.metadata.threadId", genAi],
    ["mastra.metadata.sessionId", genAi],
    ["langsmith.metadata.thread_id", genAi],
  ])("%s names the session", (name, attributes) => {
    const usage = { "gen_ai.usage.input_tokens": 9, [name]: "s-7" };
    const { reading } = readRecord(spanSample(span({ ...attributes, ...usage })));
    expect(reading.events).toMatchObject([{ session: "s-7" }]);
  });
});

/** The levels of a case of the shared fixtures, which may be absent. */
const CASES: [folder: string, levels: number[]][] = [
  ["18-aisdk5-cache-write", [52_187, 52_987]],
  ["20-strands-bedrock-disjoint", [133_000, 138_000]],
];
const caseFile = (folder: string) =>
  new URL(`../../../../../shared/fixtures/cases/${folder}/input/traces.json`, import.meta.url);

interface CaseSpan {
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[];
}
interface CaseFile {
  resourceSpans: { scopeSpans: { scope: { name: string }; spans: CaseSpan[] }[] }[];
}

it.each(CASES)("reads the case %s", (folder, levels) => {
  const file = caseFile(folder);
  if (!existsSync(file)) return;
  const { resourceSpans } = JSON.parse(readFileSync(file, "utf8")) as CaseFile;
  const read = resourceSpans[0]!.scopeSpans.flatMap(({ scope, spans }) =>
    spans.map(({ attributes }) => {
      const values = attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? ""]);
      const { reading } = readRecord(spanSample(span(Object.fromEntries(values), scope.name)));
      const event = reading.events?.[0];
      return event?.type === "turn" ? contextTokens({ ...event.usage } as never) : undefined;
    }),
  );
  expect(read).toEqual(levels);
});
