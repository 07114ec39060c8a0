import "../testing/clean-environment.ts";

import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText, wrapLanguageModel } from "ai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aiShape, guardMiddleware } from "../ai-sdk/index.ts";
import { anthropicShape, guardMessages } from "../anthropic/index.ts";
import { Conversation } from "../conversation/conversation.ts";
import { GuardError } from "../error.ts";
import { guardOllama, ollamaShape } from "../ollama/index.ts";
import { chatShape, guardChat, guardResponses, responsesShape } from "../openai/index.ts";
import type { PolicyInput } from "../policy/policy.ts";
import { type ScriptedModel, startScriptedModel } from "../testing/scripted-model/index.ts";
import { filler } from "../testing/test-guard.ts";
import type { Shape } from "../view/shape.ts";
import type { AdapterOptions } from "./wrapped-client.ts";

let model: ScriptedModel;
beforeEach(async () => {
  model = await startScriptedModel(() => ({ text: "ok" }), 4_000);
});
afterEach(() => model.close());

interface Setup {
  policy: PolicyInput;
  onStop?: "throw" | "send";
  confirm?: () => boolean;
  said: string[];
}

function parts<M>({ policy, said, ...given }: Setup, shape: Shape<M>) {
  const guard = new Conversation<M>({
    identity: { harness: "h", session: "s" },
    shape,
    window: 4_000,
    policy: { mask: null, compact: null, ...policy },
  });
  const options: AdapterOptions<M> = { ...given, say: (text) => said.push(text) };
  return { guard, options };
}

type ClientCall = (setup: Setup, tokens: number) => Promise<unknown>;
const user = (tokens: number) => [{ role: "user" as const, content: filler(tokens) }];

/** The same call through each wrapped client. */
const CLIENTS: readonly (readonly [string, ClientCall])[] = [
  [
    "guardChat",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, chatShape);
      const client = guardChat(new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }), guard, options);
      return client.chat.completions.create({ model: "m", messages: user(tokens) });
    },
  ],
  [
    "guardResponses",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, responsesShape);
      const client = guardResponses(new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" }), guard, options);
      return client.responses.create({ model: "m", input: filler(tokens) });
    },
  ],
  [
    "guardMessages",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, anthropicShape);
      const client = guardMessages(new Anthropic({ baseURL: model.url, apiKey: "x" }), guard, options);
      return client.messages.create({ model: "m", max_tokens: 10, messages: user(tokens) });
    },
  ],
  [
    "guardOllama",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, ollamaShape);
      return guardOllama(new Ollama({ host: model.url }), guard, options).chat({
        model: "m",
        messages: user(tokens),
      });
    },
  ],
  [
    "guardMiddleware",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, aiShape);
      const openai = createOpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" });
      const wrapped = wrapLanguageModel({
        model: openai.chat("m"),
        middleware: guardMiddleware(guard, options),
      });
      return generateText({ model: wrapped, prompt: filler(tokens) });
    },
  ],
  [
    "guardMiddleware, streamed",
    async (setup, tokens) => {
      const { guard, options } = parts(setup, aiShape);
      const openai = createOpenAI({ baseURL: `${model.url}/v1`, apiKey: "x" });
      const wrapped = wrapLanguageModel({
        model: openai.chat("m"),
        middleware: guardMiddleware(guard, options),
      });
      let failure: unknown;
      const result = streamText({
        model: wrapped,
        prompt: filler(tokens),
        onError: ({ error }) => {
          failure = error;
        },
      });
      await result.consumeStream();
      if (failure !== undefined) throw failure;
      return result.text;
    },
  ],
];

const THRESHOLDS = { warning: null, ceiling: null, soft: null, hard: "50%" } as const;
const NO_RESTARTS: PolicyInput = { thresholds: THRESHOLDS, restart: { graceTurns: 0, max: 0 } };
const CONFIRMED_RESTARTS: PolicyInput = { thresholds: THRESHOLDS, restart: { graceTurns: 0, how: "ask" } };

describe.each(CLIENTS)("%s", (_, call) => {
  it("does not send once the maximum number of restarts is reached, and says what to do", async () => {
    const said: string[] = [];
    const failure = await call({ policy: NO_RESTARTS, said }, 5_000).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GuardError);
    expect(failure).toMatchObject({ name: "GuardError", code: "max_restarts" });
    expect((failure as Error).message).toMatch(/not sent.*maximum of 0.*new session.*onStop: "send"/);
    expect(said).toEqual(["Maximum of 0 restarts reached; stopping."]);
    expect(model.requests).toHaveLength(0);
  });

  it("sends the call anyway with `onStop: send`", async () => {
    await call({ policy: NO_RESTARTS, onStop: "send", said: [] }, 5_000);
    expect(model.requests).toHaveLength(1);
  });

  it("does not send a prompt that cannot fit without a confirmed restart", async () => {
    for (const confirm of [undefined, () => false]) {
      const setup = { policy: CONFIRMED_RESTARTS, said: [], ...(confirm === undefined ? {} : { confirm }) };
      await expect(call(setup, 5_000)).rejects.toMatchObject({ code: "restart_unconfirmed" });
    }
    expect(model.requests).toHaveLength(0);
    await call({ policy: CONFIRMED_RESTARTS, said: [], onStop: "send" }, 5_000);
    await call({ policy: CONFIRMED_RESTARTS, said: [], confirm: () => true }, 5_000);
    expect(model.requests).toHaveLength(2);
  });

  it("sends a prompt that still fits without confirmation", async () => {
    await call({ policy: CONFIRMED_RESTARTS, said: [] }, 2_500);
    expect(model.requests).toHaveLength(1);
  });
});
