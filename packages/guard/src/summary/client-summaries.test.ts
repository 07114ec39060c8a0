import "../testing/clean-environment.ts";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard, type Guard } from "../guard.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import {
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { Shape } from "../view/shape.ts";

let model: ScriptedModel;
afterEach(() => model.close());

const POLICY = { thresholds: { ceiling: "50%", soft: null, hard: null }, mask: null, restart: null } as const;
const SUMMARY = { goal: "Answer all questions", open: ["the last one"] };

const talk = Array.from({ length: 12 }, (_, at) => [
  { role: "user", content: `question ${at} ${filler(300)}` },
  { role: "assistant", content: `answer ${at} ${filler(300)}` },
]).flat();
talk.push({ role: "user", content: "And the last one?" });

type Call = (guard: Guard<never>, summaryModel: string) => Promise<unknown>;

const CLIENTS: readonly [string, Shape<never>, Call][] = [
  [
    "guardChat",
    chatShape as Shape<never>,
    (guard, summaryModel) => {
      const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
      const { chat } = guardChat(client, guard as never, { summaryModel });
      return chat.completions.create({ model: "large", messages: talk as never });
    },
  ],
  [
    "guardResponses",
    responsesShape as Shape<never>,
    (guard, summaryModel) => {
      const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x", maxRetries: 0 });
      const { responses } = guardResponses(client, guard as never, { summaryModel });
      return responses.create({ model: "large", input: talk as never });
    },
  ],
  [
    "guardMessages",
    anthropicShape as Shape<never>,
    (guard, summaryModel) => {
      const client = new Anthropic({ baseURL: model.url, apiKey: "x", maxRetries: 0 });
      const { messages } = guardMessages(client, guard as never, { summaryModel });
      return messages.create({ model: "large", max_tokens: 100, messages: talk as never });
    },
  ],
  [
    "guardGemini",
    geminiShape as Shape<never>,
    (guard, summaryModel) => {
      const client = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: model.url } });
      const { models } = guardGemini(client, guard as never, { summaryModel });
      const role = (name: string) => (name === "assistant" ? "model" : name);
      const contents = talk.map((one) => ({ role: role(one.role), parts: [{ text: one.content }] }));
      return models.generateContent({ model: "large", contents });
    },
  ],
  [
    "guardOllama",
    ollamaShape as Shape<never>,
    (guard, summaryModel) => {
      const client = guardOllama(new Ollama({ host: model.url }), guard as never, { summaryModel });
      return client.chat({ model: "large", messages: talk as never });
    },
  ],
];

async function guarded(shape: Shape<never>, script: (request: ModelRequest) => object) {
  model = await startScriptedModel((request) => script(request), 10_000);
  const events: PlimsollEventInput[] = [];
  const guard = createGuard<never>({
    identity: { harness: "h" },
    shape,
    window: 10_000,
    policy: POLICY,
    onEvent: (event) => void events.push(event),
  });
  return { guard, events };
}

describe.each(CLIENTS)("summaryModel of %s", (_, shape, call) => {
  it("asks another model of the same client, and counts its call as one for a summary", async () => {
    const { guard, events } = await guarded(shape, ({ model: name }) => ({
      text: name === "small" ? JSON.stringify(SUMMARY) : "done",
    }));
    await call(guard, "small");
    expect(model.requests.map(({ model: name }) => name)).toEqual(["small", "large"]);
    const [asked, sent] = model.requests.map(({ body }) => JSON.stringify(body));
    expect(asked).toContain("one JSON object");
    expect(asked).toContain("question 0");
    expect(asked).toMatch(
      /"(?:max_completion_tokens|max_output_tokens|maxOutputTokens|max_tokens|num_predict)":1000/,
    );
    expect(sent).toContain("Goal: Answer all questions");
    expect(events.map(({ type }) => type)).toEqual(["turn", "compacted", "turn"]);
    expect(events[0]).toMatchObject({ model: "small", purpose: "compaction" });
  });

  it("that fails costs the summary, not the call", async () => {
    const { guard } = await guarded(shape, ({ model: name }) =>
      name === "small" ? { refuse: { status: 400, message: "no such model" } } : { text: "done" },
    );
    await call(guard, "small");
    expect(JSON.stringify(model.requests.at(-1)!.body)).toContain("summarised:]\\nAsked: question 0");
  });
});

it("a server that knows only the older name of the limit is asked with it", async () => {
  const { guard } = await guarded(chatShape as Shape<never>, ({ model: name, body }) => {
    if (name !== "small") return { text: "done" };
    return "max_completion_tokens" in body
      ? { refuse: { status: 400, message: "Unknown field: max_completion_tokens" } }
      : { text: JSON.stringify(SUMMARY) };
  });
  await CLIENTS[0]![2](guard, "small");
  expect(model.requests).toHaveLength(3);
  expect(JSON.stringify(model.requests.at(-1)!.body)).toContain("Goal: Answer all questions");
});
