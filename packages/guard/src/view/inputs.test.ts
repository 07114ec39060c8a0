import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { aiShape } from "../ai-sdk/index.ts";
import { anthropicShape } from "../anthropic/index.ts";
import { Conversation } from "../conversation/conversation.ts";
import { geminiShape } from "../google-genai/index.ts";
import { langChainShape } from "../langchain/index.ts";
import { ollamaShape } from "../ollama/index.ts";
import { chatShape, responsesShape } from "../openai/index.ts";
import { filler, words } from "../testing/test-guard.ts";
import { plainShape, type Shape } from "./shape.ts";

/** A call that writes a long file, its result, and what reads the input of such a call. */
interface Format<M> {
  shape: Shape<M>;
  call(id: string, input: object): M[];
  inputOf(message: M): unknown;
}

const TEXT = `${filler(300)}\n${filler(300)}`;
const parsed = (value: unknown) => JSON.parse(String(value)) as unknown;

// biome-ignore lint/suspicious/noExplicitAny: each format has messages of its own
const FORMATS: readonly [string, Format<any>][] = [
  [
    "plain messages",
    {
      shape: plainShape,
      call: (id, input) => [
        { role: "assistant", content: "I write.", toolCalls: [{ id, name: "write", arguments: input }] },
        { role: "tool", content: "ok", toolCallId: id },
      ],
      inputOf: ({ toolCalls }) => toolCalls[0].arguments,
    },
  ],
  [
    "Chat Completions",
    {
      shape: chatShape,
      call: (id, input) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id, type: "function", function: { name: "write", arguments: JSON.stringify(input) } },
          ],
        },
        { role: "tool", tool_call_id: id, content: "ok" },
      ],
      inputOf: ({ tool_calls }) => parsed(tool_calls[0].function.arguments),
    },
  ],
  [
    "the older form of Chat Completions",
    {
      shape: chatShape,
      call: (_, input) => [
        {
          role: "assistant",
          content: "I write.",
          function_call: { name: "write", arguments: JSON.stringify(input) },
        },
        { role: "function", name: "write", content: "ok" },
      ],
      inputOf: ({ function_call }) => parsed(function_call.arguments),
    },
  ],
  [
    "Responses",
    {
      shape: responsesShape,
      call: (id, input) => [
        { type: "function_call", call_id: id, name: "write", arguments: JSON.stringify(input) },
        { type: "function_call_output", call_id: id, output: "ok" },
      ],
      inputOf: (item) => parsed(item.arguments),
    },
  ],
  [
    "Anthropic",
    {
      shape: anthropicShape,
      call: (id, input) => [
        {
          role: "assistant",
          content: [
            { type: "text", text: "I write." },
            { type: "tool_use", id, name: "write", input },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
      ],
      inputOf: ({ content }) => content[1].input,
    },
  ],
  [
    "the AI SDK",
    {
      shape: aiShape,
      call: (toolCallId, input) => [
        { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "write", input }] },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId, toolName: "write", output: { type: "text", value: "ok" } },
          ],
        },
      ],
      inputOf: ({ content }) => content[0].input,
    },
  ],
  [
    "LangChain",
    {
      shape: langChainShape,
      call: (id, args) => [
        new AIMessage({
          content: "",
          tool_calls: [{ type: "tool_call", id, name: "write", args: { ...args } }],
        }),
        new ToolMessage({ content: "ok", tool_call_id: id }),
      ],
      inputOf: ({ tool_calls }) => tool_calls[0].args,
    },
  ],
  [
    "Gemini",
    {
      shape: geminiShape,
      call: (id, args) => [
        { role: "model", parts: [{ text: "I write." }, { functionCall: { id, name: "write", args } }] },
        { role: "user", parts: [{ functionResponse: { id, name: "write", response: { output: "ok" } } }] },
      ],
      inputOf: ({ parts }) => parts[1].functionCall.args,
    },
  ],
  [
    "Ollama",
    {
      shape: ollamaShape,
      call: (_, input) => [
        { role: "assistant", content: "", tool_calls: [{ function: { name: "write", arguments: input } }] },
        { role: "tool", content: "ok", tool_name: "write" },
      ],
      inputOf: ({ tool_calls }) => tool_calls[0].function.arguments,
    },
  ],
];

describe.each(FORMATS)("the input of an old call in %s", (_, { shape, call, inputOf }) => {
  const store = new Map<string, string>();
  const guard = (inputs: boolean) =>
    new Conversation({
      identity: { harness: "h", session: "s" },
      shape,
      tokenizer: words,
      window: 5_000,
      policy: { mask: { inputs, keepTurns: 1 }, compact: null, restart: null },
      store: { put: (key, text) => void store.set(key, text), get: (key) => store.get(key) },
    });
  const history = Array.from({ length: 7 }, (_, at) =>
    call(`call-${at}`, { path: `src/f${at}.ts`, text: TEXT, options: { mode: "new" } }),
  ).flat();

  it("loses its long texts, keeps the others, and can be recalled", () => {
    const before = JSON.stringify(history);
    const one = guard(true);
    const { messages, actions } = one.prepare(history);
    expect(actions).toMatchObject([{ type: "mask", observations: 3 }]);
    expect(messages).toHaveLength(history.length);
    expect(inputOf(messages[0])).toEqual({
      path: "src/f0.ts",
      text: expect.stringMatching(/^\[2 lines, 2999 characters, left out of this history; recall key .+\]$/),
      options: { mode: "new" },
    });
    expect(messages.at(-2)).toBe(history.at(-2));
    expect(JSON.stringify(history)).toBe(before);
    const [mask] = one.state.masks;
    expect(JSON.parse(one.recall(mask!.key)!)).toEqual(inputOf(history[0]));
    expect(one.prepare(history).messages).toEqual(messages);
  });

  it("stays unless the policy says so", () => {
    expect(guard(false).prepare(history).messages).toEqual(history);
  });
});
