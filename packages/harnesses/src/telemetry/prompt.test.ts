import { type PlimsollEventInput, TurnContents } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../recordings/json.ts";
import { readRecord } from "../telemetry.ts";
import { type SampleAttributes, spanSample } from "../testing/otlp.ts";

const LEVEL = 100_000;
const CALL = {
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": "gpt-5",
  "gen_ai.usage.input_tokens": LEVEL,
};

type Turn = Extract<PlimsollEventInput, { type: "turn" }>;
const turnOf = (prompt: Record<string, unknown>, call: SampleAttributes = CALL): Turn => {
  const span = {
    ...spanSample({ attributes: call }),
    prompt: {
      names: new Map(Object.entries(prompt)),
      read: (name: string) => prompt[name],
      parse: parseJson,
    },
  };
  const [event] = readRecord(span).reading.events ?? [];
  return event as Turn;
};
const contentsOf = (prompt: Record<string, unknown>, call?: SampleAttributes) =>
  turnOf(prompt, call).contents;
const partsOf = (prompt: Record<string, unknown>) =>
  Object.fromEntries(
    (contentsOf(prompt)?.parts ?? []).map(({ kind, tool, tokens }) => [
      `${kind} ${tool ?? ""}`.trim(),
      tokens,
    ]),
  );

/** A prompt with a part of each kind. */
interface Sent {
  system: string;
  user: string;
  assistant: string;
  tool: string;
  input: string;
  output: string;
  description: string;
}
const json = JSON.stringify;
const definition = ({ tool, description }: Sent) => ({
  name: tool,
  description,
  parameters: { type: "object" },
});
const flat = (prefix: string, list: readonly object[]) =>
  Object.fromEntries(
    list.flatMap((fields, index) =>
      Object.entries(fields).map(([name, value]) => [`${prefix}.${index}.${name}`, value]),
    ),
  );

/** How each library writes it. Names: the packages in scripts/test-packages, and the sources that the dialects name. */
const SHAPES: Record<string, (sent: Sent) => Record<string, unknown>> = {
  "the GenAI conventions": (sent) => ({
    "gen_ai.system_instructions": json([{ type: "text", content: sent.system }]),
    "gen_ai.input.messages": json([
      { role: "user", parts: [{ type: "text", content: sent.user }] },
      {
        role: "assistant",
        parts: [
          { type: "text", content: sent.assistant },
          { type: "tool_call", id: "1", name: sent.tool, arguments: { q: sent.input } },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "1", response: sent.output }] },
    ]),
    "gen_ai.tool.definitions": json([definition(sent)]),
  }),
  "the GenAI conventions with structured values": (sent) => ({
    "gen_ai.system_instructions": [{ type: "text", content: sent.system }],
    "gen_ai.input.messages": [
      { role: "user", parts: [{ type: "text", content: sent.user }] },
      { role: "assistant", parts: [{ type: "text", content: sent.assistant }] },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "1", name: sent.tool, arguments: { q: sent.input } }],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "1", result: sent.output }] },
    ],
    "gen_ai.tool.definitions": [definition(sent)],
  }),
  "the AI SDK": (sent) => ({
    "ai.prompt.messages": json([
      { role: "system", content: sent.system },
      { role: "user", content: [{ type: "text", text: sent.user }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: sent.assistant },
          { type: "tool-call", toolCallId: "1", toolName: sent.tool, input: { q: sent.input } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "1",
            toolName: sent.tool,
            output: { type: "text", value: sent.output },
          },
        ],
      },
    ]),
    "ai.prompt.tools": [json(definition(sent))],
  }),
  OpenInference: (sent) => ({
    ...flat("llm.input_messages", [
      { "message.role": "system", "message.content": sent.system },
      { "message.role": "user", "message.contents.0.message_content.text": sent.user },
      {
        "message.role": "assistant",
        "message.content": sent.assistant,
        "message.tool_calls.0.tool_call.id": "1",
        "message.tool_calls.0.tool_call.function.name": sent.tool,
        "message.tool_calls.0.tool_call.function.arguments": json({ q: sent.input }),
      },
      { "message.role": "tool", "message.tool_call_id": "1", "message.content": sent.output },
    ]),
    "llm.tools.0.tool.json_schema": json({ type: "function", function: definition(sent) }),
  }),
  OpenLLMetry: (sent) => ({
    ...flat("gen_ai.prompt", [
      { role: "system", content: sent.system },
      { role: "user", content: sent.user },
      {
        role: "assistant",
        content: json([{ type: "text", text: sent.assistant }]),
        "tool_calls.0.id": "1",
        "tool_calls.0.name": sent.tool,
        "tool_calls.0.arguments": json({ q: sent.input }),
      },
      { role: "user", content: json([{ type: "tool_result", tool_use_id: "1", content: sent.output }]) },
    ]),
    ...flat("llm.request.functions", [{ ...definition(sent), parameters: json({ type: "object" }) }]),
  }),
  Langfuse: (sent) => ({
    "langfuse.observation.input": json({
      messages: [
        { role: "system", content: sent.system },
        { role: "user", content: sent.user },
        {
          role: "assistant",
          content: sent.assistant,
          tool_calls: [
            { id: "1", type: "function", function: { name: sent.tool, arguments: json({ q: sent.input }) } },
          ],
        },
        { role: "tool", tool_call_id: "1", content: sent.output },
      ],
      tools: [{ type: "function", function: definition(sent) }],
    }),
  }),
  Genkit: (sent) => ({
    "genkit:input": json({
      messages: [
        { role: "system", content: [{ text: sent.system }] },
        { role: "user", content: [{ text: sent.user }] },
        {
          role: "model",
          content: [
            { text: sent.assistant },
            { toolRequest: { ref: "1", name: sent.tool, input: { q: sent.input } } },
          ],
        },
        { role: "tool", content: [{ toolResponse: { ref: "1", name: sent.tool, output: sent.output } }] },
      ],
      tools: [definition(sent)],
    }),
  }),
  "Pydantic AI": (sent) => ({
    "gen_ai.input.messages": json([
      { role: "system", parts: [{ type: "text", content: sent.system }] },
      { role: "user", parts: [{ type: "text", content: sent.user }] },
      { role: "assistant", parts: [{ type: "text", content: sent.assistant }] },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "1", name: sent.tool, arguments: { q: sent.input } }],
      },
      {
        role: "user",
        parts: [{ type: "tool_call_response", id: "1", name: sent.tool, result: sent.output }],
      },
    ]),
    model_request_parameters: json({ function_tools: [definition(sent)] }),
  }),
};

const words = (most: number) =>
  fc
    .array(
      fc.constantFrom("level", "of", "the", "window", "(12345)", "src/main.ts\n", "größer", "読む", "{}"),
      {
        minLength: 3,
        maxLength: most,
      },
    )
    .map((all) => all.join(" "));
const anySent: fc.Arbitrary<Sent> = fc.record({
  ...{ system: words(400), user: words(90), assistant: words(90), input: words(20), output: words(900) },
  ...{
    description: words(60),
    tool: fc.constantFrom("Read", "mcp__github__search", "__proto__", "constructor"),
  },
});

describe("what a prompt in telemetry holds", () => {
  it.each(Object.entries(SHAPES))("is read from %s", (_, shape) => {
    const [system, user, assistant, output] = ["s", "u", "a", "o"].map((one, place) =>
      `${one} `.repeat(100 * (place + 1)),
    );
    const sent = {
      system,
      user,
      assistant,
      output,
      tool: "mcp__github__search",
      input: "x",
      description: "d",
    } as Sent;
    const parts = partsOf(shape(sent));
    expect(Object.keys(parts)).toEqual([
      "tool mcp__github__search",
      "assistant",
      "user",
      "system",
      "tool_definition mcp__github__search",
    ]);
    expect(parts).toMatchObject({ assistant: 375, user: 250, system: 125 });
  });

  it("has deferred tools apart, which are not in the prompt", () => {
    const sent = { tool: "Read", description: "word ".repeat(900), user: "word ".repeat(9_000) } as Sent;
    const deferred = ["a", "b"].map((name) => ({ ...definition(sent), name, defer_loading: true }));
    const prompt = (tools: readonly object[]) => ({
      "gen_ai.input.messages": json([{ role: "user", parts: [{ type: "text", content: sent.user }] }]),
      "gen_ai.tool.definitions": json(tools),
    });
    const loaded = contentsOf(prompt([definition(sent)]))!.parts;
    expect(loaded.map(({ kind }) => kind)).toEqual(["user", "tool_definition"]);
    expect(contentsOf(prompt([definition(sent), ...deferred]))!.parts).toEqual([
      ...loaded,
      { kind: "deferred_tool", tool: undefined, tokens: 0, count: 2 },
    ]);
  });

  it("is the same whichever library tells it, and never more than the level", () => {
    fc.assert(
      fc.property(anySent, (sent) => {
        const [first, ...others] = Object.values(SHAPES).map((shape) => partsOf(shape(sent)));
        for (const other of others) {
          expect(Object.keys(other).sort()).toEqual(Object.keys(first!).sort());
          // Definitions are JSON of slightly different objects.
          for (const [part, tokens] of Object.entries(first!))
            expect(Math.abs(other[part]! - tokens), part).toBeLessThanOrEqual(
              part.startsWith("tool_def") ? 12 : 1,
            );
        }
        expect(Object.values(first!).reduce((sum, tokens) => sum + tokens, 0)).toBeLessThanOrEqual(LEVEL);
      }),
      { numRuns: 60 },
    );
  });

  it("adds up to the level where the estimates exceed it, within 2 %", () => {
    const messages = Array.from({ length: 300 }, (_, place) => ({
      role: "user",
      content: `word${place} `.repeat(900),
    }));
    const { parts } = contentsOf({ "ai.prompt.messages": json(messages) })!;
    expect(parts[0]!.tokens).toBeGreaterThan(LEVEL * 0.98);
    expect(parts[0]!.tokens).toBeLessThanOrEqual(LEVEL);
  });

  it("is measured from a share of a long prompt, within 2 % of measuring all of it", () => {
    const call = { ...CALL, "gen_ai.usage.input_tokens": 900_000 };
    const prose = (count: number, step: number) =>
      Array.from(
        { length: count },
        (_, place) => ["const", "level", "= window(12);", "reads", "\n  of"][(place * step) % 5],
      ).join(" ");
    const text = [prose(3_000, 1), prose(90_000, 2), prose(40_000, 3)];
    const [system, user, assistant] = text;
    const whole = text.map((one) => {
      // Short texts are measured whole.
      const pieces = one.match(/[\s\S]{1,4000}/g)!;
      return pieces
        .map((content) =>
          contentsOf(
            { "ai.prompt.messages": json([{ role: "user", content }]) },
            { ...CALL, "gen_ai.usage.input_tokens": 20_000 },
          ),
        )
        .reduce((sum, contents) => sum + contents!.parts[0]!.tokens, 0);
    });
    const { parts } = contentsOf(
      {
        "ai.prompt.messages": json([
          { role: "system", content: system },
          { role: "user", content: user },
          { role: "assistant", content: assistant },
        ]),
      },
      call,
    )!;
    for (const [place, kind] of ["system", "user", "assistant"].entries()) {
      const { tokens } = parts.find((part) => part.kind === kind)!;
      expect(Math.abs(tokens / whole[place]! - 1), kind).toBeLessThan(0.02);
    }
  });

  it("leaves images and files to the rest", () => {
    const data = "aGVsbG8".repeat(9_000);
    const content = [
      { type: "text", text: "Look at this picture, please." },
      { type: "image", image: data },
      { type: "file", mediaType: "image/png", data },
      { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
      { type: "blob", mime_type: "image/png", content: data },
      { media: { url: data } },
      { inlineData: { mimeType: "image/png", data } },
      {
        type: "tool_result",
        tool_use_id: "1",
        content: [
          { type: "image", source: { data } },
          { type: "media", mediaType: "image/png", data },
        ],
      },
    ];
    const call = { ...CALL, "gen_ai.usage.input_tokens": 500 };
    expect(contentsOf({ "ai.prompt.messages": json([{ role: "user", content }]) }, call)?.parts).toEqual([
      { kind: "user", tool: undefined, tokens: 6, count: 1 },
    ]);
  });

  it("has the thinking since the latest prompt, which no provider takes out", () => {
    const thought = (text: string) => [
      { role: "assistant", content: [{ type: "reasoning", text }] },
      { role: "assistant", content: [{ type: "thinking", thinking: text }] },
      { role: "model", parts: [{ text, thought: true }] },
    ];
    const prompt = { role: "user", content: "Look at this picture, please." };
    const partsAfter = (messages: object[]) =>
      contentsOf({ "ai.prompt.messages": json(messages) }, { ...CALL, "gen_ai.usage.input_tokens": 500 })
        ?.parts;
    expect(partsAfter([...thought("a ".repeat(90)), prompt])).toEqual([
      { kind: "user", tool: undefined, tokens: 6, count: 1 },
    ]);
    expect(partsAfter([prompt, ...thought("Is it a cat?")])).toContainEqual(
      expect.objectContaining({ kind: "thinking", count: 3 }),
    );
  });

  it("takes the tool of a result from the latest call with its id, else from the result", () => {
    const call = (name: string) => ({
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "call_0", toolName: name, input: {} }],
    });
    const result = (toolCallId: string, toolName?: string) => ({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId,
          toolName,
          output: { type: "json", value: { rows: "row ".repeat(2_000) } },
        },
      ],
    });
    const messages = [
      call("Read"),
      result("call_0"),
      call("Bash"),
      result("call_0"),
      result("gone", "Grep"),
      result("unknown"),
    ];
    expect(Object.keys(partsOf({ "ai.prompt.messages": json(messages) })).sort()).toEqual([
      "tool",
      "tool Bash",
      "tool Grep",
      "tool Read",
    ]);
  });

  it("counts a prompt once that a span has in two shapes", () => {
    const sent = {
      system: "s ".repeat(500),
      user: "u ".repeat(500),
      assistant: "a",
      tool: "Read",
      input: "x",
      output: "o",
      description: "d",
    };
    const genAi = SHAPES["the GenAI conventions"]!(sent);
    const all = Object.assign({}, ...Object.values(SHAPES).map((shape) => shape(sent)));
    expect(partsOf({ ...all, ...genAi })).toEqual(partsOf(genAi));
  });

  it.each(Object.entries(SHAPES))("keeps nothing of the texts of %s but the name of the tool", (_, shape) => {
    const secret = "sesame ".repeat(2_000);
    const texts = {
      system: secret,
      user: secret,
      assistant: secret,
      input: secret,
      output: secret,
      description: secret,
    };
    const turn = turnOf(shape({ ...texts, tool: "Read" }));
    expect(turn.contents?.parts).toContainEqual(expect.objectContaining({ kind: "tool", tool: "Read" }));
    expect(json(turn)).not.toContain("sesame");
  });

  const TEXT = json([{ role: "user", content: "word ".repeat(9_000) }]);
  it.each<[string, Record<string, unknown>]>([
    ["JSON that the limit of the SDK cut", { "ai.prompt.messages": TEXT.slice(0, 12_000) }],
    ["no JSON", { "ai.prompt.messages": "Go." }],
    ["another value", { "gen_ai.input.messages": 12 }],
    ["a null", { "gen_ai.input.messages": "null" }],
    ["messages that are no list", { "langfuse.observation.input": json({ messages: { role: "user" } }) }],
    ["no messages", { "gen_ai.input.messages": "[]", "gen_ai.tool.definitions": json([{ name: "Read" }]) }],
    [
      "definitions alone",
      { "ai.prompt.tools": [json({ name: "Read", description: "word ".repeat(9_000) })] },
    ],
    [
      "messages of no shape",
      { "ai.prompt.messages": json([null, 1, [], {}, { role: {}, content: { a: 1 } }]) },
    ],
    ["under a hundredth of the level", { "ai.prompt.messages": json([{ role: "user", content: "Go." }]) }],
  ])("is unknown for %s, and the turn counts", (_, prompt) => {
    expect(turnOf(prompt)).toMatchObject({ type: "turn", usage: { input_tokens: LEVEL } });
    expect(contentsOf(prompt)).toBeUndefined();
  });

  it("is what the protocol takes, whatever JSON a prompt is", () => {
    const name = fc.oneof(
      fc.constantFrom("__proto__", "mcp__a__b", "", "\u0000", "\ud800", "🙂".repeat(80)),
      fc.string({ unit: "binary", maxLength: 300 }),
    );
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      name,
      fc.constant(1e308),
      fc.constant("9".repeat(400)),
    );
    const block = fc.record(
      {
        type: fc.oneof(
          value,
          fc.constantFrom("text", "tool_call", "tool-result", "tool_result", "function_call_output"),
        ),
        ...{
          text: value,
          content: value,
          id: name,
          toolCallId: name,
          toolName: name,
          name,
          input: value,
          output: value,
        },
        ...{ response: value, toolRequest: value, functionResponse: value, function: value },
      },
      { requiredKeys: [] },
    );
    const message = fc.oneof(
      value,
      fc.record(
        {
          role: fc.oneof(value, fc.constantFrom("system", "user", "assistant", "tool")),
          content: fc.oneof(value, fc.array(block, { maxLength: 4 })),
          parts: fc.array(block, { maxLength: 4 }),
          tool_calls: fc.oneof(value, fc.array(block, { maxLength: 3 })),
          tool_call_id: name,
        },
        { requiredKeys: [] },
      ),
    );
    const tools = fc.array(fc.oneof(value, block, fc.record({ functionDeclarations: fc.array(block) })));
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 8 }),
        tools,
        fc.integer({ min: 1, max: 3_000 }),
        (messages, definitions, level) => {
          for (const written of [(one: unknown) => one, json]) {
            const prompt = {
              "gen_ai.input.messages": written(messages),
              "gen_ai.tool.definitions": written(definitions),
            };
            const contents = contentsOf(prompt, { ...CALL, "gen_ai.usage.input_tokens": level });
            if (contents === undefined) continue;
            expect(TurnContents.parse(contents)).toEqual(contents);
            expect(contents.parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(level);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("names the 64 largest of 10,000 tools", () => {
    const definitions = Array.from({ length: 10_000 }, (_, place) => ({
      name: `mcp__all__tool_${place}`,
      description: "Does it.",
    }));
    const { parts } = contentsOf({
      "ai.prompt.messages": TEXT,
      "gen_ai.tool.definitions": json(definitions),
    })!;
    expect(parts).toHaveLength(64);
    expect(parts[0]).toMatchObject({ kind: "user" });
  });
});
