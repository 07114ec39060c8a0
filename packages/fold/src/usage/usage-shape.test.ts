import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { contextTokens } from "../history/usage.ts";
import { usageShapes } from "./all-shapes.ts";
import * as answerShapes from "./answer-shapes.ts";
import * as recordShapes from "./record-shapes.ts";
import { countOf, pathsIn, readCounts, type UsageShape } from "./usage-shape.ts";

const SHAPES = usageShapes();

/** A call as it was: the parts of its prompt and of its answer. Tokens. */
interface Call {
  fresh: number;
  beside: number;
  read: number;
  write: number;
  text: number;
  reasoning: number;
}
const tokens = fc.oneof(fc.nat(50), fc.nat(400_000));
const anyCall: fc.Arbitrary<Call> = fc.record({
  fresh: fc.nat(200_000).map((count) => count + 1),
  beside: fc.nat(5_000),
  read: tokens,
  write: tokens,
  text: fc.nat(9_000),
  reasoning: fc.nat(9_000),
});
const promptOf = ({ fresh, beside, read, write }: Call) => fresh + beside + read + write;

/** A shape has names only for what it reports, so the rest of a call is zero. */
function fitCall(shape: UsageShape, call: Call): Call {
  const has = (names: readonly string[] | undefined) => (names ?? []).length > 0;
  return {
    ...call,
    beside: has(shape.besideInput) ? call.beside : 0,
    read: has(shape.cacheRead) ? call.read : 0,
    write: has(shape.cacheWrite) ? call.write : 0,
    reasoning: has(shape.reasoning) ? call.reasoning : 0,
  };
}

interface Written {
  cache: "inside" | "outside";
  reasoningBeside: boolean;
  withTotal: boolean;
  asText: boolean;
  pick: number;
}

/** Writes a call as a shape says. A name with dots is one field, as in attributes. */
function write(shape: UsageShape, call: Call, how: Written): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>();
  const set = (names: readonly string[] | undefined, count: number) => {
    const name = names?.[how.pick % names.length];
    if (name !== undefined) fields.set(name, how.asText ? String(count) : count);
  };
  const cached = call.read + call.write;
  const input = call.fresh + (how.cache === "inside" ? cached : 0);
  const answer = call.text + call.reasoning;
  set(shape.input, input);
  set(shape.besideInput, call.beside);
  set(shape.cacheRead, call.read);
  set(shape.cacheWrite, call.write);
  set(shape.output, how.reasoningBeside ? call.text : answer);
  set(shape.reasoning, call.reasoning);
  if (how.withTotal) set(shape.total, promptOf(call) + answer);
  return fields;
}

const read = (shape: UsageShape, fields: ReadonlyMap<string, unknown>) =>
  readCounts(shape, (name) => fields.get(name));

describe.each(SHAPES)("%s", (_, shape) => {
  const anyWriting = { asText: fc.boolean(), pick: fc.nat(20) };

  test("a call that is written as it declares is read back", () => {
    const declared = {
      reasoningBeside: fc.constant(shape.reasoningBeside === true),
      withTotal: fc.boolean(),
      ...anyWriting,
    };
    const cache = fc.constant(shape.cache === "outside" ? ("outside" as const) : ("inside" as const));
    fc.assert(
      fc.property(anyCall, fc.record({ cache, ...declared }), (any, how) => {
        const call = fitCall(shape, any);
        const { usage, evidence } = read(shape, write(shape, call, how));
        expect(contextTokens(usage)).toBe(promptOf(call));
        expect(usage.output_tokens).toBe(call.text + call.reasoning);
        expect(evidence).toBe(shape.cache === "disputed" ? "assumed" : "declared");
      }),
    );
  });

  test.runIf((shape.total ?? []).length > 0)("the total corrects a call that is written otherwise", () => {
    const cache = fc.constantFrom("inside" as const, "outside" as const);
    fc.assert(
      fc.property(anyCall, fc.record({ cache, reasoningBeside: fc.boolean(), ...anyWriting }), (any, how) => {
        const call = fitCall(shape, any);
        // Equal counts could be either: no total tells them apart.
        fc.pre(call.read + call.write !== call.reasoning || call.reasoning === 0);
        const { usage, evidence } = read(shape, write(shape, call, { ...how, withTotal: true }));
        expect(contextTokens(usage)).toBe(promptOf(call));
        expect(usage.output_tokens).toBe(call.text + call.reasoning);
        expect(evidence).not.toBe("contradiction");
      }),
    );
  });

  const mayExceed = shape.cache !== "outside" && shape.cacheRead !== undefined;
  test.runIf(mayExceed)("more cached tokens than input are no fact", () => {
    fc.assert(
      fc.property(anyCall, fc.record(anyWriting), (any, how) => {
        const call = fitCall(shape, { ...any, read: any.read + any.fresh + any.beside });
        fc.pre(call.read > call.fresh + call.beside);
        const fields = write(shape, call, {
          ...how,
          cache: "outside",
          reasoningBeside: false,
          withTotal: false,
        });
        const { usage, evidence } = read(shape, fields);
        expect(evidence).toBe(shape.cache === "disputed" ? "numbers" : "contradiction");
        if (evidence === "numbers") expect(contextTokens(usage)).toBe(promptOf(call));
      }),
    );
  });

  test("any values give counts that the server takes, and no cache above the prompt", () => {
    const anyValue = fc.oneof(fc.anything(), fc.double(), fc.nat(), fc.constant(""), fc.nat().map(String));
    fc.assert(
      fc.property(fc.infiniteStream(anyValue), (values) => {
        const { usage } = readCounts(shape, () => values.next().value);
        for (const [name, count] of Object.entries(usage))
          if (name !== "basis" && count !== undefined) expect(countOf(count)).toBe(count);
        const cached = (usage.cache_read_tokens ?? 0) + (usage.cache_write_tokens ?? 0);
        if (usage.basis === "inclusive" && usage.input_tokens !== undefined)
          expect(cached).toBeLessThanOrEqual(usage.input_tokens);
      }),
    );
  });
});

describe("a cache above a prompt that includes it", () => {
  const { OPENAI_CHAT, LANGCHAIN } = answerShapes;
  const openai = (prompt: number, cached: number, total?: number) =>
    readCounts(
      OPENAI_CHAT,
      pathsIn({
        prompt_tokens: prompt,
        completion_tokens: 50,
        total_tokens: total,
        prompt_tokens_details: { cached_tokens: cached },
      }),
    );

  it("is a sum over two events up to twice the prompt, which the total confirms", () => {
    const doubled = {
      input_tokens: 18_010,
      output_tokens: 50,
      total_tokens: 18_060,
      input_token_details: { cache_read: 36_000, cache_creation: 0 },
    };
    const { usage, evidence } = readCounts(LANGCHAIN, pathsIn(doubled));
    expect(usage).toMatchObject({ input_tokens: 18_010, basis: "inclusive" });
    expect(usage.cache_read_tokens).toBeUndefined();
    expect(evidence).toBe("total");
    expect(openai(18_010, 36_000).evidence).toBe("contradiction");
  });

  it("is beside it above that, and suspect", () => {
    expect(openai(12, 40_000, 62)).toMatchObject({
      usage: { input_tokens: 12, cache_read_tokens: 40_000, basis: "exclusive" },
      evidence: "contradiction",
    });
  });

  it("is beside it and certain if the total counts it", () => {
    expect(openai(12, 40_000, 40_062)).toMatchObject({ usage: { basis: "exclusive" }, evidence: "total" });
  });
});

describe("how long a provider keeps what was written", () => {
  const { ANTHROPIC, BEDROCK, LANGCHAIN, OPENAI_CHAT } = answerShapes;
  const { LANGFUSE } = recordShapes;
  const anthropic = (cache_creation: unknown) => ({
    input_tokens: 3,
    cache_creation_input_tokens: 900,
    cache_creation,
  });
  const bedrock = (cacheDetails: unknown) => ({ inputTokens: 3, cacheWriteInputTokens: 900, cacheDetails });
  const langchain = (input_token_details: object) => ({ input_tokens: 903, input_token_details });
  it.each<[string, UsageShape, object, written: number, hour: number | undefined]>([
    [
      "Anthropic: an hour",
      ANTHROPIC,
      anthropic({ ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 900 }),
      900,
      900,
    ],
    [
      "Anthropic: both",
      ANTHROPIC,
      anthropic({ ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 700 }),
      900,
      700,
    ],
    [
      "Anthropic: minutes",
      ANTHROPIC,
      anthropic({ ephemeral_5m_input_tokens: 900, ephemeral_1h_input_tokens: 0 }),
      900,
      0,
    ],
    [
      "Anthropic: parts without their sum",
      ANTHROPIC,
      {
        input_tokens: 3,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 700 },
      },
      900,
      700,
    ],
    ["Anthropic, before it said so", ANTHROPIC, anthropic(undefined), 900, undefined],
    ["Anthropic: nothing", ANTHROPIC, anthropic(null), 900, undefined],
    ["Anthropic: no object", ANTHROPIC, anthropic("1h"), 900, undefined],
    [
      "Anthropic: a negative count",
      ANTHROPIC,
      anthropic({ ephemeral_1h_input_tokens: -900 }),
      900,
      undefined,
    ],
    [
      "Bedrock: both",
      BEDROCK,
      bedrock([
        { ttl: "1h", inputTokens: 700 },
        { ttl: "5m", inputTokens: 200 },
      ]),
      900,
      700,
    ],
    [
      "Bedrock: several for an hour",
      BEDROCK,
      bedrock([
        { ttl: "1h", inputTokens: 700 },
        { ttl: "1h", inputTokens: 200 },
      ]),
      900,
      900,
    ],
    ["Bedrock: minutes", BEDROCK, bedrock([{ ttl: "5m", inputTokens: 900 }]), 900, 0],
    [
      "Bedrock: odd details",
      BEDROCK,
      bedrock([null, "1h", { ttl: "1h" }, { ttl: "1h", inputTokens: "x" }]),
      900,
      0,
    ],
    ["Bedrock, before it said so", BEDROCK, bedrock(undefined), 900, undefined],
    [
      "LangChain, which sets the sum to 0",
      LANGCHAIN,
      langchain({ cache_creation: 0, ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 700 }),
      900,
      700,
    ],
    ["LangChain without parts", LANGCHAIN, langchain({ cache_creation: 900 }), 900, undefined],
    [
      "Langfuse, which leaves out the sum",
      LANGFUSE,
      { input: 3, input_cache_creation_5m: 200, input_cache_creation_1h: 700 },
      900,
      700,
    ],
    [
      "LiteLLM",
      OPENAI_CHAT,
      {
        prompt_tokens: 903,
        cache_creation_input_tokens: 900,
        prompt_tokens_details: {
          cache_creation_token_details: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 900 },
        },
      },
      900,
      900,
    ],
  ])("%s", (_, shape, counts, written, hour) => {
    const { usage } = readCounts(shape, pathsIn(counts));
    expect(usage.cache_write_tokens).toBe(written);
    expect(usage.cache_write_1h_tokens).toBe(hour);
    expect(contextTokens(usage)).toBe(903);
  });
});

test("the total shows an opencode that counts the cache inside", () => {
  const tokens = {
    total: 184_804,
    input: 184_704,
    output: 100,
    reasoning: 0,
    cache: { read: 183_936, write: 0 },
  };
  const { usage, evidence } = readCounts(recordShapes.OPENCODE, pathsIn(tokens));
  expect(contextTokens(usage)).toBe(184_704);
  expect(evidence).toBe("total");
});

const PROMPT_PARTS = { cached_tokens: 0, text_tokens: 1_000, cache_type: "ephemeral" };
const message = (input_tokens: number, cache_read_input_tokens: number, output_tokens: number) => ({
  type: "message",
  input_tokens,
  cache_read_input_tokens,
  output_tokens,
});

test.each<[string, object, prompt: number | undefined, read?: number, written?: number, output?: number]>([
  [
    "Anthropic without caches",
    { input_tokens: 900, cache_read_input_tokens: null, output_tokens: 5 },
    900,
    undefined,
    undefined,
    5,
  ],
  [
    "Anthropic, where a gateway leaves out the sum of what was written",
    { input_tokens: 9, cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 50 } },
    159,
    undefined,
    150,
  ],
  [
    "Anthropic with a call of another model after the last message",
    {
      ...message(9, 5_000, 25),
      iterations: [message(9, 5_000, 5), { ...message(900_000, 0, 20), type: "advisor_message" }],
    },
    5_009,
    5_000,
    undefined,
    5,
  ],
  [
    "an explicit cache of Alibaba, compatible with OpenAI",
    {
      prompt_tokens: 1_000,
      completion_tokens: 50,
      total_tokens: 1_050,
      prompt_tokens_details: { ...PROMPT_PARTS, cache_creation_input_tokens: 800 },
    },
    1_000,
    0,
    800,
    50,
  ],
  [
    "the same from its Responses",
    {
      input_tokens: 1_524,
      output_tokens: 34,
      prompt_tokens_details: { ...PROMPT_PARTS, cached_tokens: 1_305, cache_creation_input_tokens: 213 },
      total_tokens: 1_558,
    },
    1_524,
    1_305,
    213,
    34,
  ],
  [
    "DashScope with a picture",
    {
      input_tokens: 1_200,
      output_tokens: 5,
      input_tokens_details: { image_tokens: 1_000, text_tokens: 200 },
    },
    1_200,
    undefined,
    undefined,
    5,
  ],
  [
    "OpenAI's Realtime with sound",
    {
      input_tokens: 1_000,
      output_tokens: 50,
      total_tokens: 1_050,
      input_token_details: { cached_tokens: 900, text_tokens: 200, audio_tokens: 800 },
      output_token_details: { text_tokens: 10, audio_tokens: 40 },
    },
    1_000,
    900,
    undefined,
    50,
  ],
  [
    "OpenAI's chat with sound",
    {
      prompt_tokens: 1_000,
      completion_tokens: 50,
      total_tokens: 1_050,
      prompt_tokens_details: { cached_tokens: 900, audio_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 30, audio_tokens: 5 },
    },
    1_000,
    900,
    undefined,
    50,
  ],
  [
    "Perplexity, which counts what it read and thought apart",
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      citation_tokens: 3_000,
      reasoning_tokens: 900,
    },
    100,
    undefined,
    undefined,
    50,
  ],
  ["a call of which nothing was counted", { prompt_tokens: null, completion_tokens: null }, undefined],
  ["counts as texts", { prompt_tokens: "1000", completion_tokens: "50" }, 1_000, undefined, undefined, 50],
  [
    "a text that is no count",
    { prompt_tokens: "1e3", completion_tokens: 50 },
    undefined,
    undefined,
    undefined,
    50,
  ],
  ["a negative prompt", { prompt_tokens: -1, completion_tokens: 50 }, undefined, undefined, undefined, 50],
  [
    "a prompt beyond any window",
    { prompt_tokens: 1e18, completion_tokens: 50 },
    undefined,
    undefined,
    undefined,
    50,
  ],
])("the usage of an answer: %s", (_, counts, prompt, read, written, output) => {
  const { usage } = answerShapes.readAnswer({ ...counts })!;
  const { cache_read_tokens, cache_write_tokens, output_tokens } = usage;
  expect([contextTokens(usage), cache_read_tokens, cache_write_tokens, output_tokens]).toEqual([
    prompt,
    read,
    written,
    output,
  ]);
});

// Gemini leaves out `candidatesTokenCount` of an answer that reached its limit while it thought.
test.each<[string, UsageShape, object, output: number | undefined]>([
  [
    "Gemini",
    answerShapes.GEMINI,
    { promptTokenCount: 900, thoughtsTokenCount: 64, totalTokenCount: 964 },
    64,
  ],
  ["Gemini without a total", answerShapes.GEMINI, { promptTokenCount: 900, thoughtsTokenCount: 64 }, 64],
  [
    "Gemini without thoughts",
    answerShapes.GEMINI,
    { promptTokenCount: 900, totalTokenCount: 900 },
    undefined,
  ],
  ["Gemini CLI", recordShapes.GEMINI_CLI, { input: 900, thoughts: 64, total: 964 }, 64],
  ["Genkit", recordShapes.GENKIT, { inputTokens: 900, thoughtsTokens: 64, totalTokens: 964 }, 64],
  ["Langfuse", recordShapes.LANGFUSE, { input: 900, output_reasoning: 64, total: 964 }, 64],
  [
    "xAI",
    answerShapes.OPENAI_CHAT,
    { prompt_tokens: 900, total_tokens: 964, completion_tokens_details: { reasoning_tokens: 64 } },
    64,
  ],
  [
    "OpenAI, whose thoughts are part of an answer that is missing",
    answerShapes.OPENAI_CHAT,
    { prompt_tokens: 900, completion_tokens_details: { reasoning_tokens: 64 } },
    undefined,
  ],
])("an answer of thoughts alone: %s", (_, shape, counts, output) => {
  const { usage } = readCounts(shape, pathsIn(counts));
  expect([contextTokens(usage), usage.output_tokens]).toEqual([900, output]);
});

test("a prompt of zero tokens was not counted, and a cache alone is a prompt", () => {
  const { ANTHROPIC } = answerShapes;
  expect(
    readCounts(ANTHROPIC, pathsIn({ input_tokens: 0, output_tokens: 7 })).usage.input_tokens,
  ).toBeUndefined();
  const cached = readCounts(ANTHROPIC, pathsIn({ input_tokens: 0, cache_read_input_tokens: 900 }));
  expect(contextTokens(cached.usage)).toBe(900);
});
