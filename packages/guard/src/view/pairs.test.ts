import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import { fit } from "../fit.ts";
import { type ChatMessage, chatShape } from "../openai/index.ts";
import {
  ai,
  anthropic,
  chat,
  functions,
  type MessageFormat,
  ollama,
  plain,
  responses,
} from "../testing/message-formats.ts";
import { filler, words } from "../testing/test-guard.ts";
import { MessageHistory } from "./history.ts";
import { MessageReader } from "./reader.ts";

const step = fc.record({
  says: fc.integer({ min: 0, max: 260 }),
  results: fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 3 }),
  asks: fc.boolean(),
});

/** Policies that cover every response: masking, a summary, a fresh session, and a wind-down with a restart. */
const policy = fc.constantFrom(
  { thresholds: { ceiling: null, soft: "50%", hard: "90%" }, mask: { longTexts: 200, minTokens: 40 } },
  { thresholds: { ceiling: "50%", soft: null, hard: null }, mask: null },
  {
    thresholds: { ceiling: "50%", soft: null, hard: null },
    mask: null,
    compact: { how: "fresh_session" as const },
  },
  {
    thresholds: { ceiling: null, soft: null, hard: "60%" },
    mask: null,
    compact: null,
    restart: { graceTurns: 1 },
  },
);

async function expectAccepted<M>(format: MessageFormat<M>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), policy, async (steps, one) => {
      const { shape, system, ask } = format;
      const guard = new Conversation<M>({
        identity: { harness: "test", session: "s" },
        shape,
        tokenizer: words,
        window: 4_000,
        policy: { ...one, thresholds: { warning: null, reserve: null, ...one.thresholds } },
      });
      const history: M[] = [system, ask("begin")];
      for (const [at, made] of steps.entries()) {
        history.push(...format.step(made, at));
        if (made.asks) history.push(ask(`go on ${filler(made.says > 200 ? 5_000 : 1)}`));
        const before = JSON.stringify(history);
        const { messages } = await fit(guard, history, { summarize: "without_model" });
        format.accepts(messages);
        expect(JSON.stringify(history)).toBe(before);
      }
    }),
    { numRuns: 20 },
  );
}

it("masks the older of two results with the same id", () => {
  const guard = new Conversation<ChatMessage>({
    identity: { harness: "test", session: "s" },
    shape: chatShape,
    tokenizer: words,
    window: 4_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "50%", hard: null } },
  });
  const history = [
    chat.ask("begin"),
    ...[900, 800, 500, 400].flatMap((size, at) => chat.step({ says: 1, results: [size], asks: false }, at)),
  ];
  const { messages, actions } = guard.prepare(history);
  expect(actions).toMatchObject([{ type: "mask", observations: 2 }]);
  const results = messages.filter(({ role }) => role === "tool");
  expect(results.map(({ content }) => words(String(content)) < 100)).toEqual([true, true, false, false]);
});

it.each([
  ["the nearest call with its name", ["call a", "call b", "result a", "result b"], [[0, 4]]],
  ["an earlier call, across a user message", ["call a", "user", "result a"], [[0, 3]]],
  [
    "its own call when the name repeats",
    ["call a", "result a", "call a", "result a"],
    [
      [0, 2],
      [2, 4],
    ],
  ],
  ["no call when none is open", ["user", "result a"], [[0, 2]]],
])("a function's result stays with %s, whether read at once or message by message", (_, spoken, units) => {
  const messages = spoken.map((words): ChatMessage => {
    const [kind, name = ""] = words.split(" ");
    if (kind === "call")
      return { role: "assistant", content: null, function_call: { name, arguments: "{}" } };
    return kind === "result" ? { role: "function", name, content: "found" } : { role: "user", content: "go" };
  });
  const whole = new MessageHistory(new MessageReader(chatShape, words));
  whole.sync(messages);
  expect(whole.units.map(({ from, to }) => [from, to])).toEqual(units);
  const grown = new MessageHistory(new MessageReader(chatShape, words));
  for (const at of messages.keys()) grown.sync(messages.slice(0, at + 1));
  expect(grown.units).toEqual(whole.units);
  expect(grown.entries).toEqual(whole.entries);
});

describe("the provider accepts the messages after any edit", () => {
  it("plain messages", () => expectAccepted(plain));
  it("OpenAI chat, with repeated ids", () => expectAccepted(chat));
  it("OpenAI chat, with functions called by name", () => expectAccepted(functions));
  it("OpenAI responses, with parallel calls and reasoning", () => expectAccepted(responses));
  it("Anthropic, with server-side tools", () => expectAccepted(anthropic));
  it("the AI SDK, with provider-executed tools", () => expectAccepted(ai));
  it("Ollama, without ids", () => expectAccepted(ollama));
});
