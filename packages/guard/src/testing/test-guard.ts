import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import { expect } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import type { ConversationOptions } from "../conversation/types.ts";
import type { Message } from "../view/shape.ts";

/** Tokenizer for tests: one token per word. */
export const words = (text: string) => text.split(/\s+/).filter((word) => word !== "").length;

/** Returns a text of `tokens` tokens as counted by {@link words}. */
export const filler = (tokens: number, word = "word") => Array.from({ length: tokens }, () => word).join(" ");

export const START = Date.UTC(2026, 10, 20, 10);

export function testGuard(options: Partial<ConversationOptions<Message>> = {}) {
  const events: PlimsollEventInput[] = [];
  let now = START;
  const guard = new Conversation<Message>({
    identity: { harness: "test", session: "s" },
    tokenizer: words,
    model: "test-model",
    window: 10_000,
    noticeCounts: "always",
    clock: () => now++,
    onEvent: (event) => {
      const parsed = parseEvent(event);
      expect(parsed, JSON.stringify(event)).toMatchObject({ ok: true });
      events.push(event);
    },
    ...options,
  });
  return { guard, events, of: (type: string) => events.filter((event) => event.type === type) as never[] };
}

let calls = 0;

/** Returns one turn of an agent: a tool call and its result of `tokens` tokens. */
export function toolTurn(
  tokens: number,
  tool = "file_read",
  input: unknown = { path: "src/a.ts" },
): Message[] {
  const id = `call-${++calls}`;
  return [
    { role: "assistant", content: "", toolCalls: [{ id, name: tool, arguments: input }] },
    { role: "tool", content: filler(tokens), toolCallId: id, toolName: tool },
  ];
}

/** Simulates a provider's count: the words, four tokens per message, and a fixed overhead. */
export function counted(messages: readonly Message[], overhead = 0): number {
  let sum = overhead;
  for (const message of messages) {
    sum += 4 + (message.content === "" ? 0 : words(message.content));
    for (const call of message.toolCalls ?? [])
      sum += words(`${call.name} ${JSON.stringify(call.arguments)}`);
  }
  return sum;
}

/** Asserts that each result directly follows its call, and that each call has a result. */
export function expectPaired(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      expect(open.delete(message.toolCallId!), `result ${message.toolCallId} without its call`).toBe(true);
      continue;
    }
    expect([...open], "a call without its result").toEqual([]);
    open = new Set((message.toolCalls ?? []).map((call) => call.id));
  }
}

export const SYSTEM: Message = { role: "system", content: filler(100, "rule") };
export const ASK: Message = { role: "user", content: "please look at the code" };

/** Returns a history in which an agent read `files` files of `tokens` tokens each. */
export const readingFiles = (files: number, tokens: number): Message[] => [
  SYSTEM,
  ASK,
  ...Array.from({ length: files }, () => toolTurn(tokens)).flat(),
];

/** The thresholds of Ouroboros: masking at 70 % and a restart at 90 % of the window. */
export const OUROBOROS = {
  thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" },
} as const;

/** Returns a provider's usage for one call. */
export function usage(tokens: number, id: string) {
  return { id, usage: { prompt_tokens: tokens, completion_tokens: 10 } };
}

/** A policy that only summarises, at half of the window. */
export const CEILING_ONLY = {
  thresholds: { warning: null, ceiling: "50%", soft: null, hard: null, reserve: null },
  mask: null,
  restart: null,
} as const;

/** Questions and answers of 300 words each. */
export const longTalk = (turns: number): Message[] =>
  Array.from({ length: turns }, (_, n): Message[] => [
    { role: "user", content: `question ${n} ${filler(300)}` },
    { role: "assistant", content: `answer ${n} ${filler(300)}` },
  ]).flat();
