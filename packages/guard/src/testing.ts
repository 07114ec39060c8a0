import type { PlimsollEventInput } from "@plimsoll/protocol";
import { parseEvent } from "@plimsoll/protocol";
import { expect } from "vitest";
import { ContextGuard } from "./guard.ts";
import type { GuardOptions } from "./types.ts";
import type { Message } from "./view/shape.ts";

/** One real token per word: counts in tests can be read off the text. */
export const words = (text: string) => text.split(/\s+/).filter((word) => word !== "").length;

/** A text of so many tokens by {@link words}. */
export const filler = (tokens: number, word = "word") => Array.from({ length: tokens }, () => word).join(" ");

export const START = Date.UTC(2026, 10, 20, 10);

export function testGuard(options: Partial<GuardOptions<Message>> = {}) {
  const events: PlimsollEventInput[] = [];
  let now = START;
  const guard = new ContextGuard<Message>({
    identity: { harness: "test", session: "s" },
    tokenizer: words,
    model: "test-model",
    window: 10_000,
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

/** One turn of an agent: a call of a tool and its result of so many tokens. */
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

/** What a provider would count for some messages: the words, four a message, and a fixed overhead. */
export function counted(messages: readonly Message[], overhead = 0): number {
  let sum = overhead;
  for (const message of messages) {
    sum += 4 + (message.content === "" ? 0 : words(message.content));
    for (const call of message.toolCalls ?? [])
      sum += words(`${call.name} ${JSON.stringify(call.arguments)}`);
  }
  return sum;
}

/** Every result has its call directly before it, and every call its result. */
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

/** A history in which an agent read so many files, each of so many tokens. */
export const readingFiles = (files: number, tokens: number): Message[] => [
  SYSTEM,
  ASK,
  ...Array.from({ length: files }, () => toolTurn(tokens)).flat(),
];

/** Only the two thresholds of Ouroboros: masking at 70 %, restart at 90 % of 10,000 tokens. */
export const OUROBOROS = {
  thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" },
} as const;

/** What a provider says of one call. */
export function usage(tokens: number, id: string) {
  return { id, usage: { prompt_tokens: tokens, completion_tokens: 10 } };
}
