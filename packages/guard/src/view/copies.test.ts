import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AiMessage, aiShape } from "../ai-sdk/index.ts";
import { type AnthropicMessage, anthropicShape } from "../anthropic/index.ts";
import { createGuard, type Guard } from "../guard.ts";
import { counted, filler, testGuard, toolTurn, words } from "../testing/test-guard.ts";
import type { Message } from "./shape.ts";

const copied = <T>(messages: readonly T[]): T[] => JSON.parse(JSON.stringify(messages)) as T[];

/** A guard that counts the texts it estimates. */
function counting(options: object = {}) {
  const seen = { texts: 0 };
  const tokenizer = (text: string) => {
    seen.texts += 1;
    return words(text);
  };
  const guard: Guard<Message> = createGuard<Message>({
    ...{ identity: { harness: "h" }, tokenizer, window: 10_000_000, onWarning() {} },
    ...options,
  });
  const send = (messages: readonly Message[]) => {
    const before = seen.texts;
    const { messages: sent } = guard.route(messages)!.prepare(messages, { summaries: false });
    return { sent, texts: seen.texts - before };
  };
  return { guard, send };
}

const thread = (name: string, turns: number): Message[] => [
  { role: "system", content: `You read files. It is ${turns} o'clock.` },
  { role: "user", content: `Read ${name}.` },
  ...Array.from({ length: turns }, (_, at) => toolTurn(30 + at, "read", { path: `${name}/${at}` })).flat(),
];

describe("a history that arrives as a fresh copy with every call", () => {
  it("costs only its new messages", () => {
    const { send } = counting();
    const history = thread("a", 200);
    expect(send(copied(history)).texts).toBeGreaterThan(400);
    history.push({ role: "assistant", content: "Done." }, { role: "user", content: "Go on." });
    expect(send(copied(history)).texts).toBeLessThan(8);
    history.push(...toolTurn(50));
    expect(send(copied(history)).texts).toBeLessThan(8);
  });

  it("costs only its new messages if its system prompt is new too", () => {
    const { send } = counting();
    const history = thread("a", 200);
    send(copied(history));
    history[0] = { role: "system", content: "You read files. It is late." };
    history.push(...toolTurn(50));
    expect(send(copied(history)).texts).toBeLessThan(8);
  });

  it("costs only the answer that is asked for again", () => {
    const { send } = counting();
    const history = thread("a", 200);
    send([...copied(history), { role: "user", content: "first wording" }]);
    expect(send([...copied(history), { role: "user", content: "second wording" }]).texts).toBeLessThan(8);
  });

  it("costs only its new messages while other threads run beside it", () => {
    const { guard, send } = counting();
    const threads = Array.from({ length: 20 }, (_, at) => thread(`t${at}`, 40 + at));
    for (const [at, one] of threads.entries()) guard.conversation(`t${at}`).prepare(copied(one));
    for (const one of threads) send(copied(one));
    for (const one of threads) {
      one.push(...toolTurn(20));
      expect(send(copied(one)).texts).toBeLessThan(8);
    }
  });

  it("is read again where a message says something else", () => {
    const { guard } = testGuard({ window: 1_000_000 });
    const history = thread("a", 20);
    guard.prepare(copied(history));
    const changed = copied(history);
    changed[21] = { ...changed[21]!, content: filler(900) };
    const { sent } = guard.prepare(changed);
    const { guard: other } = testGuard({ window: 1_000_000 });
    expect(sent).toBe(other.prepare(changed).sent);
  });

  it("is sent as the harness passed it last, with markers that no part of it shows", () => {
    const { guard } = testGuard({ window: 1_000_000 });
    const history = thread("a", 20);
    guard.prepare(copied(history));
    const marked = copied(history).map((message) => ({ ...message, providerOptions: { cache: true } }));
    const { messages } = guard.prepare(marked);
    expect(messages).toHaveLength(marked.length);
    for (const [at, message] of messages.entries()) expect(message).toBe(marked[at]);
  });

  it("gives the same messages as the history itself, whatever is masked", () => {
    const size = fc.integer({ min: 1, max: 900 });
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 40 }), (sizes) => {
        const policy = { compact: null, restart: { graceTurns: 1 } } as const;
        const [same, fresh] = [testGuard({ policy }).guard, testGuard({ policy }).guard];
        const history: Message[] = [{ role: "user", content: "Read." }];
        for (const [at, tokens] of sizes.entries()) {
          history.push(...toolTurn(tokens));
          const [one, other] = [same.prepare(history), fresh.prepare(copied(history))];
          expect(other.messages).toEqual(one.messages);
          expect(other.sent).toBe(one.sent);
          const usage = { id: `t${at}`, usage: { prompt_tokens: counted(one.messages) } };
          same.observe(usage);
          fresh.observe(usage);
        }
      }),
      { numRuns: 30 },
    );
  });

  it.each<[string, () => { first: object; other: object }]>([
    [
      "another image of the same size",
      () => {
        const image = (data: string) => ({
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data } }],
        });
        return { first: image("aaaa"), other: image("bbbb") };
      },
    ],
    [
      "a text block for a plain text",
      () => ({
        first: { role: "user", content: "hello" },
        other: { role: "user", content: [{ type: "text", text: "hello" }] },
      }),
    ],
  ])("with %s is sent with what is new", (_, make) => {
    const { first, other } = make();
    const guard = createGuard<AnthropicMessage>({
      identity: { harness: "h" },
      shape: anthropicShape,
      window: 9_000,
    });
    const thread = guard.conversation();
    thread.prepare([first] as AnthropicMessage[]);
    expect(thread.prepare([other] as AnthropicMessage[]).messages[0]).toEqual(other);
  });

  it("of the AI SDK costs only its new messages", () => {
    let texts = 0;
    const guard = createGuard<AiMessage>({
      ...{ identity: { harness: "h" }, shape: aiShape, window: 1_000_000, onWarning() {} },
      tokenizer: (text) => {
        texts += 1;
        return words(text);
      },
    });
    const history: AiMessage[] = [{ role: "user", content: [{ type: "text", text: "Read." }] }];
    for (let at = 0; at < 100; at++) {
      const call = { toolCallId: `c${at}`, toolName: "read" };
      const output = { type: "json", value: { lines: [filler(20)] } };
      history.push({ role: "assistant", content: [{ type: "tool-call", ...call, input: { at } }] });
      history.push({ role: "tool", content: [{ type: "tool-result", ...call, output }] });
    }
    const send = () => guard.route(copied(history))!.prepare(copied(history), { summaries: false });
    send();
    texts = 0;
    history.push({ role: "user", content: [{ type: "text", text: "Go on." }] });
    send();
    expect(texts).toBeLessThan(8);
  });
});
