import { parseEvent } from "@plimsoll/protocol/events";
import { expect, it } from "vitest";
import { readRecord } from "../../telemetry.ts";
import { SAMPLE_AT, type SampleAttributes, spanSample } from "../../testing/otlp.ts";

const service = { "service.name": "loop-bot" };
const read = (attributes: SampleAttributes, resource: SampleAttributes = service) =>
  readRecord(spanSample({ resource, attributes }));
const turnOf = (attributes: SampleAttributes, resource?: SampleAttributes) => {
  const { reading } = read(attributes, resource);
  expect(reading.events).toHaveLength(1);
  const parsed = parseEvent(reading.events![0]);
  expect(parsed).toMatchObject({ ok: true });
  return reading.events![0]!;
};

const call = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "claude-opus-5",
  "gen_ai.conversation.id": "thread-91",
  "gen_ai.response.id": "msg_01x",
};

// Attribute names: open-telemetry/semantic-conventions 1.36 and 1.41, semantic-conventions-genai docs/gen-ai.
it.each([
  [
    "up to 1.36",
    { "gen_ai.system": "anthropic", "gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 2 },
    { input_tokens: 9, output_tokens: 2 },
  ],
  [
    "1.37 to 1.41",
    {
      "gen_ai.provider.name": "anthropic",
      "gen_ai.usage.input_tokens": 148_210,
      "gen_ai.usage.cache_read.input_tokens": 141_900,
      "gen_ai.usage.cache_creation.input_tokens": 2_000,
      "gen_ai.usage.output_tokens": 812,
      "gen_ai.usage.reasoning.output_tokens": 100,
    },
    {
      input_tokens: 148_210,
      cache_read_tokens: 141_900,
      cache_write_tokens: 2_000,
      output_tokens: 812,
      reasoning_tokens: 100,
    },
  ],
  [
    "semantic-conventions-genai",
    { "gen_ai.usage.input_tokens": 50, "gen_ai.usage.cache_write.input_tokens": 40 },
    { input_tokens: 50, cache_write_tokens: 40 },
  ],
  [
    "Anthropic's SDK, which says how long writes live",
    {
      "gen_ai.usage.input_tokens": 50,
      "gen_ai.usage.cache_write.input_tokens": 40,
      "anthropic.usage.cache_creation.ephemeral_5m_input_tokens": 10,
      "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 30,
    },
    { input_tokens: 50, cache_write_tokens: 40, cache_write_1h_tokens: 30 },
  ],
])("reads the usage of vintage %s", (_, attributes, usage) => {
  expect(turnOf({ ...call, ...attributes })).toMatchObject({
    type: "turn",
    id: "msg_01x",
    at: SAMPLE_AT,
    duration_ms: 4_200,
    harness: "loop-bot",
    session: "thread-91",
    model: "claude-opus-5",
    usage,
  });
});

it.each(["gen_ai.context.window_size", "gen_ai.request.context_window"])(
  "takes the window from %s",
  (name) => {
    expect(turnOf({ ...call, "gen_ai.usage.input_tokens": 5, [name]: 200_000 })).toMatchObject({
      context_window: 200_000,
    });
  },
);

it.each([
  ["says nothing while nothing contradicts that the input includes the cache", 100, {}, undefined],
  ["follows more cached tokens than input", 3, {}, "exclusive"],
  ["follows a total that counts the cache", 100, { "gen_ai.usage.total_tokens": 240 }, "exclusive"],
  ["is not proven by a sum of input and output", 100, { "gen_ai.usage.total_tokens": 150 }, undefined],
  [
    "is known of OpenLLMetry's instrumentation of Bedrock",
    100,
    { "gen_ai.provider.name": "aws.bedrock", "llm.request.type": "chat", "gen_ai.usage.total_tokens": 150 },
    "exclusive",
  ],
])("the basis %s", (_, input, more, basis) => {
  const counts = { "gen_ai.usage.input_tokens": input, "gen_ai.usage.cache_read.input_tokens": 90 };
  const { reading } = read({ ...call, "gen_ai.usage.output_tokens": 50, ...counts, ...more });
  expect(reading.events?.[0]).toMatchObject({ usage: { input_tokens: input, basis } });
});

const USAGE = { "gen_ai.usage.input_tokens": 400_000, "gen_ai.request.model": "gpt-5" };
it.each([
  ["invoke_agent", "aggregate"],
  ["invoke_workflow", "aggregate"],
  ["a later invention", "aggregate"],
  ["execute_tool", "not_needed"],
  ["embeddings", "not_needed"],
  ["search_memory", "not_needed"],
])("does not count the operation %s as a call", (operation, reason) => {
  expect(read({ ...USAGE, "gen_ai.operation.name": operation })).toEqual({
    dialect: "gen-ai",
    reading: { reason },
  });
});

it("does not count a parent span without operation and model", () => {
  const { reading } = read({ "gen_ai.system": "openai", "gen_ai.usage.input_tokens": 400_000 });
  expect(reading).toEqual({ reason: "aggregate" });
});

it("says when a call has no counts", () => {
  expect(read(call).reading).toEqual({ reason: "no_usage" });
  expect(read({ ...call, "gen_ai.usage.input_tokens": 0 }).reading).toEqual({ reason: "no_usage" });
});

it("needs nothing of a call that failed, unless it was counted", () => {
  const failed = (attributes: SampleAttributes) =>
    readRecord(spanSample({ failed: true, attributes: { ...call, ...attributes } })).reading;
  expect(failed({})).toEqual({ reason: "not_needed" });
  expect(failed({ "gen_ai.usage.input_tokens": 5 }).events).toHaveLength(1);
});

it.each([
  [{ "plimsoll.harness": "my bot" }, "my bot"],
  [{ ...service, "host.name": "vm-3" }, "loop-bot@vm-3"],
  [{ "service.name": "a@b" }, "a-b"],
  [{ "service.name": "unknown_service:node" }, "opentelemetry"],
  [{}, "opentelemetry"],
])("names the harness of %j %s", (resource, harness) => {
  expect(turnOf({ ...call, "gen_ai.usage.input_tokens": 5 }, resource as SampleAttributes)).toMatchObject({
    harness,
  });
});

it("takes the trace as the session of a call without conversation", () => {
  const { "gen_ai.conversation.id": _, ...without } = call;
  expect(turnOf({ ...without, "gen_ai.usage.input_tokens": 5 })).toMatchObject({
    session: "0af7651916cd43dd8448eb211c80319c",
  });
});

it("names the agent, and identifies a call without a unique response id by its span", () => {
  const turn = turnOf({
    ...call,
    "gen_ai.agent.name": "researcher",
    "gen_ai.response.id": "chatcmpl-417",
    "gen_ai.usage.input_tokens": 5,
  });
  expect(turn).toMatchObject({ agent: "researcher", id: "span/b7ad6b7169203331" });
});

it("fits hostile names, and never sends a text that is no name", () => {
  const turn = turnOf({
    ...call,
    "gen_ai.conversation.id": `\u0000\ud800${"s".repeat(4_000)}`,
    "gen_ai.request.model": "m".repeat(4_000),
    "gen_ai.agent.name": "a".repeat(4_000),
    "gen_ai.response.id": "i".repeat(4_000),
    "gen_ai.usage.input_tokens": "5",
    "gen_ai.usage.output_tokens": "many",
    "gen_ai.usage.cache_read.input_tokens": -4,
    "gen_ai.usage.cost": 1e300,
    "gen_ai.input.messages": "a secret prompt",
  });
  expect(JSON.stringify(turn)).not.toContain("secret");
  expect(turn).toMatchObject({ usage: { input_tokens: 5 } });
});

it("learns the window from the exception of a failed call that names it", () => {
  const message =
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130042 tokens.";
  const failed = spanSample({
    resource: service,
    attributes: call,
    failed: true,
    events: [{ name: "exception", attributes: { "exception.message": message } }],
  });
  const { reading } = readRecord(failed);
  expect(parseEvent(reading.events![0])).toMatchObject({ ok: true });
  expect(reading.events).toMatchObject([
    { type: "prompt_refused", model: "claude-opus-5", context_window: 128_000, witness: "otlp" },
  ]);
});

it.each([
  ["gen_ai.response.finish_reasons", "tool_calls", "tool_use"],
  ["gen_ai.response.finish_reasons", '["stop"]', "end_turn"],
  ["gen_ai.response.finish_reasons", "STOP", undefined],
  ["gen_ai.completion.0.finish_reason", "length", "cut_off"],
])("reads why an answer ended from %s: %s", (name, said, stop) => {
  const usage = { "gen_ai.usage.input_tokens": 5 };
  expect(turnOf({ ...call, ...usage, [name]: said })).toMatchObject({ stop_reason: stop });
});
