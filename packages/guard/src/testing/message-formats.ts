import { expect } from "vitest";
import { type AiMessage, aiShape } from "../ai-sdk/index.ts";
import { type AnthropicMessage, anthropicShape } from "../anthropic/index.ts";
import { type OllamaMessage, ollamaShape } from "../ollama/index.ts";
import { type ChatMessage, chatShape, type InputItem, responsesShape } from "../openai/index.ts";
import { type Message, plainShape, type Shape } from "../view/shape.ts";
import { filler } from "./test-guard.ts";

/** One step of an agent: the length of its text and the sizes of the results of its parallel calls. */
interface Step {
  says: number;
  results: readonly number[];
  asks: boolean;
}

/** A provider's message format and its rules. */
export interface MessageFormat<M> {
  shape: Shape<M>;
  system: M;
  ask: (text: string) => M;
  step: (step: Step, at: number) => M[];
  /** Throws for messages that the provider would reject. */
  accepts: (messages: readonly M[]) => void;
}

/** The format-independent sequence of calls and results in a conversation. */
type Token = { call: string } | { result: string } | { other: true } | { needsNext: true };

function paired(tokens: readonly Token[]): void {
  const open = new Set<string>();
  for (const [place, token] of tokens.entries()) {
    if ("call" in token) open.add(token.call);
    else if ("result" in token)
      expect(open.delete(token.result), `result ${token.result} has no call`).toBe(true);
    else if ("needsNext" in token)
      expect(tokens[place + 1], "reasoning without its call").toHaveProperty("call");
    else expect([...open], "calls without results").toEqual([]);
  }
  expect([...open], "calls without results").toEqual([]);
}

export const plain: MessageFormat<Message> = {
  shape: plainShape,
  system: { role: "system", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  step: ({ says, results }, at) => [
    {
      role: "assistant",
      content: filler(says),
      toolCalls: results.map((_, n) => ({ id: `c${at}.${n}`, name: "read", arguments: {} })),
    },
    ...results.map(
      (size, n): Message => ({ role: "tool", content: filler(size), toolCallId: `c${at}.${n}` }),
    ),
  ],
  accepts: (messages) =>
    paired(
      messages.flatMap((message): Token[] =>
        message.role === "tool"
          ? [{ result: message.toolCallId! }]
          : [{ other: true }, ...(message.toolCalls ?? []).map(({ id }) => ({ call: id }))],
      ),
    ),
};

export const chat: MessageFormat<ChatMessage> = {
  shape: chatShape,
  system: { role: "system", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  // Some servers restart call numbering with each answer.
  step: ({ says, results }) => [
    {
      role: "assistant",
      content: says === 0 ? null : filler(says),
      ...(results.length === 0
        ? {}
        : {
            tool_calls: results.map((_, n) => ({
              id: `call_${n}`,
              type: "function",
              function: { name: "read", arguments: "{}" },
            })),
          }),
    },
    ...results.map((size, n) => ({ role: "tool", content: filler(size), tool_call_id: `call_${n}` })),
  ],
  accepts: (messages) =>
    paired(
      messages.flatMap((message): Token[] =>
        message.role === "tool"
          ? [{ result: message.tool_call_id! }]
          : [
              { other: true },
              ...((message.tool_calls ?? []) as { id: string }[]).map(({ id }) => ({ call: id })),
            ],
      ),
    ),
};

/** The older function format: one call per message, answered by name. */
export const functions: MessageFormat<ChatMessage> = {
  shape: chatShape,
  system: { role: "system", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  step: ({ says, results, asks }) => {
    const name = (n: number) => (asks ? `read_${n}` : "read");
    const call = (n: number): ChatMessage => ({
      role: "assistant",
      content: n > 0 || says === 0 ? null : filler(says),
      function_call: { name: name(n), arguments: "{}" },
    });
    const result = (n: number): ChatMessage => ({
      role: "function",
      name: name(n),
      content: filler(results[n]!),
    });
    const each = results.map((_, n) => n);
    if (each.length === 0) return [{ role: "assistant", content: filler(says) }];
    // Functions with distinct names may be answered later, in any order.
    return asks ? [...each.map(call), ...each.map(result)] : each.flatMap((n) => [call(n), result(n)]);
  },
  accepts: (messages) =>
    paired(
      messages.map((message): Token => {
        const called = message.function_call as { name: string } | undefined;
        if (called !== undefined) return { call: called.name };
        return message.role === "function" ? { result: message.name! } : { other: true };
      }),
    ),
};

export const responses: MessageFormat<InputItem> = {
  shape: responsesShape,
  system: { role: "developer", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  // Each call is a separate item, and a reasoning item must be followed by its calls.
  step: ({ says, results }, at) => [
    ...(results.length > 0 ? [{ type: "reasoning", id: `rs${at}`, summary: [] }] : []),
    ...results.map((_, n) => ({
      type: n === 1 ? "local_shell_call" : "function_call",
      call_id: `c${at}.${n}`,
      name: "read",
      arguments: "{}",
    })),
    ...results.map((size, n) => ({
      // A local shell's output refers to its call in another field.
      ...(n === 1
        ? { type: "local_shell_call_output", id: `c${at}.${n}` }
        : { type: "function_call_output", call_id: `c${at}.${n}` }),
      output: filler(size),
    })),
    ...(says > 0 || results.length === 0
      ? [{ type: "message", role: "assistant", content: [{ type: "output_text", text: filler(says) }] }]
      : []),
  ],
  accepts: (items) =>
    paired(
      items.map((item): Token => {
        if (item.type === "reasoning") return { needsNext: true };
        if (String(item.type).endsWith("_call")) return { call: String(item.call_id) };
        if (String(item.type).endsWith("_output")) return { result: String(item.call_id ?? item.id) };
        return { other: true };
      }),
    ),
};

export const anthropic: MessageFormat<AnthropicMessage> = {
  shape: anthropicShape,
  system: { role: "user", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  // A server-side tool's result is in the same message as its call.
  step: ({ says, results }, at) => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: filler(says), signature: "sealed" },
        { type: "server_tool_use", id: `s${at}`, name: "web_search", input: {} },
        {
          type: "web_search_tool_result",
          tool_use_id: `s${at}`,
          content: [{ type: "web_search_result", encrypted_content: filler(150) }],
        },
        { type: "text", text: filler(says + 1) },
        ...results.map((_, n) => ({ type: "tool_use", id: `c${at}.${n}`, name: "read", input: {} })),
      ],
    },
    ...(results.length === 0
      ? []
      : [
          {
            role: "user",
            content: results.map((size, n) => ({
              type: "tool_result",
              tool_use_id: `c${at}.${n}`,
              content: filler(size),
            })),
          },
        ]),
  ],
  accepts: (messages) =>
    paired(
      messages.flatMap((message): Token[] => {
        if (typeof message.content === "string") return [{ other: true }];
        return (message.content as Record<string, unknown>[]).map((block): Token => {
          if (block.type === "thinking") expect(block).not.toHaveProperty("content");
          if (block.type === "web_search_tool_result") expect(block.content).toBeInstanceOf(Array);
          if (String(block.type).endsWith("tool_use")) return { call: String(block.id) };
          if (typeof block.tool_use_id === "string") return { result: block.tool_use_id };
          return { other: true };
        });
      }),
    ),
};

export const ai: MessageFormat<AiMessage> = {
  shape: aiShape,
  system: { role: "system", content: "rules" },
  ask: (text) => ({ role: "user", content: [{ type: "text", text }] }),
  step: ({ says, results }, at) => [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: filler(says), providerOptions: { anthropic: { signature: "sealed" } } },
        {
          type: "tool-call",
          toolCallId: `s${at}`,
          toolName: "web_search",
          input: {},
          providerExecuted: true,
        },
        {
          type: "tool-result",
          toolCallId: `s${at}`,
          toolName: "web_search",
          output: { type: "json", value: { found: filler(150) } },
        },
        { type: "text", text: filler(says + 1) },
        ...results.map((_, n) => ({
          type: "tool-call",
          toolCallId: `c${at}.${n}`,
          toolName: "read",
          input: {},
        })),
      ],
    },
    ...results.map((size, n) => ({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: `c${at}.${n}`,
          toolName: "read",
          output: { type: "text", value: filler(size) },
        },
      ],
    })),
  ],
  accepts: (messages) =>
    paired(
      messages.flatMap((message): Token[] => {
        if (typeof message.content === "string") return [{ other: true }];
        return (message.content as Record<string, unknown>[]).map((part): Token => {
          if (part.type === "reasoning") expect(part.text).not.toContain("[");
          if (part.type === "tool-call") return { call: String(part.toolCallId) };
          if (part.type !== "tool-result") return { other: true };
          const { type } = part.output as { type: string };
          if (message.role === "assistant") expect(type, "a result of the provider").toBe("json");
          return { result: String(part.toolCallId) };
        });
      }),
    ),
};

export const ollama: MessageFormat<OllamaMessage> = {
  shape: ollamaShape,
  system: { role: "system", content: "rules" },
  ask: (content) => ({ role: "user", content }),
  step: ({ says, results }) => [
    {
      role: "assistant",
      content: filler(says),
      ...(results.length === 0
        ? {}
        : { tool_calls: results.map(() => ({ function: { name: "read", arguments: {} } })) }),
    },
    ...results.map((size) => ({ role: "tool", content: filler(size), tool_name: "read" })),
  ],
  accepts: (messages) => {
    let number = 0;
    let answered = 0;
    paired(
      messages.flatMap((message): Token[] => {
        if (message.role === "tool") return [{ result: `${answered++}` }];
        return [{ other: true }, ...(message.tool_calls ?? []).map(() => ({ call: `${number++}` }))];
      }),
    );
  },
};
