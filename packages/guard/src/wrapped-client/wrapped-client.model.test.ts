import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import fc from "fast-check";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { type GeminiContent, geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard, type Guard } from "../guard.ts";
import { type ChatMessage, chatShape, guardChat } from "../openai/index.ts";
import type { GuardState } from "../state/state.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { ClientOptions } from "./wrapped-client.ts";

type Json = Record<string, unknown>;
type Provider = keyof typeof MESSAGE_RULES;

let provider: Provider = "openai";
let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel(({ messages }) => {
    const message = MESSAGE_RULES[provider](messages);
    return message === undefined ? { text: "ok" } : { refuse: { status: 400, message } };
  });
});
afterAll(() => model.close());

const idsIn = (value: unknown) => [...JSON.stringify(value).matchAll(/#[a-z]+-\d+/g)].map(([id]) => id);

/** How a harness of each provider writes its messages, and calls its client. */
interface Client {
  user(text: string): Json;
  agent(text: string): Json;
  /** A call of a tool, and its result. */
  tool(id: string, text: string): Json[];
  system?: Json;
  call(messages: readonly Json[], key: string | undefined, stream: boolean): Promise<AsyncIterable<unknown>>;
}

const POLICY = {
  thresholds: { warning: null, ceiling: "50%", soft: "40%", hard: null, reserve: null },
  mask: { minTokens: 40, keepTurns: 1 },
  compact: { keepTurns: 2, minGain: 0.01 },
  restart: null,
} as const;

function optionsOf<M>(): ClientOptions<M> {
  return {
    summarize: ({ messages }) => `summary of ${[...new Set(idsIn(messages))].join(" ")}`,
    conversation: ({ user, metadata, config }) =>
      user ?? metadata?.user_id ?? config?.httpOptions?.headers?.["x-thread"],
  };
}

/** As another process reads it from a file. */
const copied = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** An answer that is not streamed is over at once. */
async function* none() {}

function chatClient(guard: Guard<ChatMessage>): Client {
  const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
  const { completions } = guardChat(openai, guard, optionsOf()).chat;
  return {
    user: (content) => ({ role: "user", content }),
    agent: (content) => ({ role: "assistant", content }),
    tool: (id, content) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: id, content },
    ],
    system: { role: "system", content: "Obey." },
    async call(messages, user, stream) {
      const params = { model: "m", messages: messages as never, ...(user !== undefined && { user }) };
      const helper = messages.length % 2 === 0;
      if (stream) return helper ? completions.stream(params) : completions.create({ ...params, stream });
      await (helper ? completions.parse(params) : completions.create(params));
      return none();
    },
  };
}

function messagesClient(guard: Guard<{ role: string; content: unknown }>): Client {
  const anthropic = new Anthropic({ baseURL: model.url, apiKey: "x", maxRetries: 0 });
  const { messages: api } = guardMessages(anthropic, guard, optionsOf());
  return {
    user: (content) => ({ role: "user", content }),
    agent: (text) => ({ role: "assistant", content: [{ type: "text", text }] }),
    tool: (id, content) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
    ],
    async call(messages, user_id, stream) {
      const params = {
        model: "m",
        max_tokens: 100,
        messages: messages as never,
        ...(user_id !== undefined && { metadata: { user_id } }),
      };
      const helper = messages.length % 2 === 0;
      if (stream) return helper ? api.stream(params) : api.create({ ...params, stream });
      await (helper ? api.parse(params) : api.create(params));
      return none();
    },
  };
}

function geminiClient(guard: Guard<GeminiContent>): Client {
  const client = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: model.url } });
  const { models } = guardGemini(client, guard, optionsOf());
  return {
    user: (text) => ({ role: "user", parts: [{ text }] }),
    agent: (text) => ({ role: "model", parts: [{ text }] }),
    tool: (id, output) => [
      { role: "model", parts: [{ functionCall: { id, name: "read", args: {} }, thoughtSignature: "AAAA" }] },
      { role: "user", parts: [{ functionResponse: { id, name: "read", response: { output } } }] },
    ],
    async call(contents, key, stream) {
      const headers: Record<string, string> = key === undefined ? {} : { "x-thread": key };
      const params = { model: "m", contents: contents as never, config: { httpOptions: { headers } } };
      if (stream) return models.generateContentStream(params);
      await models.generateContent(params);
      return none();
    },
  };
}

interface Harness {
  client: Client;
  /** Every state, by key of the conversation. */
  snapshot(): Map<string, GuardState>;
  sideCalls(): number;
}

function harness(states?: ReadonlyMap<string, GuardState>): Harness {
  const wrap = <M>(guard: Guard<M>, client: Client): Harness => {
    for (const [key, state] of states ?? []) guard.conversation(key, { state });
    return {
      client,
      snapshot: () => new Map(guard.conversations().map(([key, one]) => [key, one.snapshot()])),
      sideCalls: () => guard.sideCalls,
    };
  };
  const options = { identity: { harness: "h" }, window: 3_000, policy: POLICY };
  if (provider === "anthropic") {
    const guard = createGuard({ ...options, shape: anthropicShape });
    return wrap(guard, messagesClient(guard));
  }
  if (provider === "gemini") {
    const guard = createGuard({ ...options, shape: geminiShape });
    return wrap(guard, geminiClient(guard));
  }
  const guard = createGuard({ ...options, shape: chatShape });
  return wrap(guard, chatClient(guard));
}

/** What a harness may do next to one of its conversations. */
const step = fc.record({
  who: fc.nat({ max: 1 }),
  what: fc.constantFrom(
    "turn",
    "turn",
    "turn",
    "tools",
    "trim",
    "edit",
    "back",
    "retry",
    "abort",
    "title",
    "restart",
  ),
  size: fc.integer({ min: 20, max: 300 }),
  where: fc.nat({ max: 20 }),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class Talk {
  readonly name: string;
  messages: { ids: string[]; json: Json; begins: boolean; edited?: string[] }[] = [];
  /** Ids of messages that the harness dropped from the beginning. */
  readonly dropped = new Set<string>();
  #said = 0;

  constructor(name: string) {
    this.name = name;
  }

  id(): string {
    return `#${this.name}-${++this.#said}`;
  }

  add(json: Json, begins: boolean): void {
    this.messages.push({ ids: idsIn(json), json, begins });
  }

  /** Indexes where a question begins. */
  questions(): number[] {
    return this.messages.flatMap(({ begins }, index) => (begins ? [index] : []));
  }
}

async function run(steps: readonly Step[], keyed: boolean): Promise<void> {
  const first = model.requests.length;
  let harnessNow = harness();
  let sideCalls = 0;
  const talks = [new Talk("a"), new Talk("b")];

  const call = async (talk: Talk, stream = false) => {
    const { client } = harnessNow;
    const given = [...(client.system ? [client.system] : []), ...talk.messages.map(({ json }) => json)];
    const before = JSON.stringify(given);
    for await (const _ of await client.call(given, keyed ? talk.name : undefined, stream)) break;
    expect(JSON.stringify(given)).toBe(before);
    for (const message of talk.messages) message.edited = [];
    const { messages } = model.requests.at(-1)!;
    const sent = new Set(idsIn(messages));
    const results = new Set(talk.messages.filter(({ json }) => isResult(json)).flatMap(({ ids }) => ids));
    const lost = talk.messages.flatMap(({ ids }) => ids).filter((id) => !sent.has(id) && !results.has(id));
    expect(lost, "messages that were not summarised").toEqual([]);
    const own = new Set([...talk.messages.flatMap(({ ids }) => ids), ...talk.dropped]);
    expect(
      [...sent].filter((id) => !own.has(id)),
      "of another history",
    ).toEqual([]);
  };

  for (const { who, what, size, where } of steps) {
    const talk = talks[who]!;
    const { client } = harnessNow;
    const questions = talk.questions();
    const ask = () => talk.add(client.user(`${talk.id()} ${filler(size, talk.name)}`), true);
    const answer = () => talk.add(client.agent(`${talk.id()} ${filler(size >> 1, talk.name)}`), false);
    switch (what) {
      case "turn":
      case "tools": {
        ask();
        await call(talk);
        for (let n = 0; what === "tools" && n < 3; n++) {
          for (const json of client.tool(`call_${n}`, `${talk.id()} ${filler(size, talk.name)}`))
            talk.add(json, false);
          await call(talk);
        }
        answer();
        break;
      }
      case "trim": {
        const at = questions[where % Math.max(1, questions.length)] ?? 0;
        // What was edited and then dropped without a call was never seen to be edited.
        for (const { ids, edited = [] } of talk.messages.splice(0, at))
          for (const id of [...ids, ...edited]) talk.dropped.add(id);
        break;
      }
      case "back": {
        const at = questions.at(-1 - (where % 3));
        if (at !== undefined) talk.messages.length = at;
        break;
      }
      case "edit": {
        const at = questions[where % Math.max(1, questions.length)];
        if (at !== undefined) {
          const json = client.user(`${talk.id()} ${filler(size, talk.name)}`);
          const { ids, edited = [] } = talk.messages[at]!;
          talk.messages[at] = { ids: idsIn(json), json, begins: true, edited: [...edited, ...ids] };
        }
        break;
      }
      case "retry":
      case "abort":
        // Only a question can be sent again.
        if (questions.length === 0) break;
        ask();
        await call(talk, what === "abort");
        await call(talk);
        answer();
        break;
      case "title": {
        const title = [client.user(`Write a title. ${filler(10, "t")}`)];
        await client.call(title, undefined, false);
        expect(model.requests.at(-1)!.messages).toEqual(title);
        break;
      }
      case "restart":
        sideCalls += harnessNow.sideCalls();
        harnessNow = harness(new Map(copied([...harnessNow.snapshot()])));
        for (const one of talks) one.messages = copied(one.messages);
        break;
    }
  }
  sideCalls += harnessNow.sideCalls();
  const turns = [...harnessNow.snapshot().values()].reduce((sum, { allTurns }) => sum + allTurns, 0);
  expect(turns + sideCalls, "counted calls").toBe(model.requests.length - first);
}

const isResult = ({ role, content, parts }: Json) =>
  role === "tool" ||
  (Array.isArray(content) && (content as Json[]).some(({ type }) => type === "tool_result")) ||
  (Array.isArray(parts) && (parts as Json[]).some(({ functionResponse }) => functionResponse !== undefined));

describe.each(Object.keys(MESSAGE_RULES) as Provider[])(
  "a harness that does anything, on a server of %s",
  (name) => {
    it.each([true, false])("loses nothing, mixes nothing and is never refused; keys: %s", async (keyed) => {
      provider = name;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => run(steps, keyed)),
        { numRuns: 10 },
      );
    });
  },
);
