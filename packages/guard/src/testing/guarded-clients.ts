import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { type AnthropicMessage, anthropicShape, guardMessages } from "../anthropic/index.ts";
import type { GuardOptions } from "../conversation/types.ts";
import type { FitOptions } from "../fit.ts";
import { type GeminiContent, geminiShape, guardGemini } from "../google-genai/index.ts";
import { createGuard, type Guard } from "../guard.ts";
import { type ChatMessage, chatShape, guardChat } from "../openai/index.ts";

export type ClientMessage = Record<string, unknown>;

/** What a harness asks of its client beside the messages. */
export interface CallOptions {
  /** Key of the conversation. */
  key: string | undefined;
  stream: boolean;
  /** The model, and those that it falls back to. */
  models: readonly [string, ...string[]];
  /** Most tokens of the answer. */
  answer: number;
  /** System prompt. */
  system: string;
}

/** How a harness of a provider writes its messages, and calls its client. */
export interface GuardedClient {
  user(text: string): ClientMessage;
  agent(text: string): ClientMessage;
  /** A call of a tool, and its result. */
  tool(id: string, text: string): ClientMessage[];
  /** An answer that is not streamed is over at once. */
  call(messages: readonly ClientMessage[], options: CallOptions): Promise<AsyncIterable<unknown>>;
}

/** A guard, and a client that it is wrapped around. Half of the calls go through the client's helpers. */
export interface GuardedHarness {
  // biome-ignore lint/suspicious/noExplicitAny: the messages differ by provider
  guard: Guard<any>;
  client: GuardedClient;
}

type Options = Omit<GuardOptions<never>, "shape" | "placeholder">;
/** Of any messages. */
type Fitting = Pick<FitOptions<unknown>, "summarize">;

async function* none() {}

/** @param url of a scripted model */
export function chatHarness(url: string, options: Options, fitting: Fitting): GuardedHarness {
  const guard = createGuard<ChatMessage>({ ...options, shape: chatShape });
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "x", maxRetries: 0 });
  const conversation = ({ user }: { user?: string }) => user;
  const { completions } = guardChat(openai, guard, { ...fitting, conversation }).chat;
  const client: GuardedClient = {
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
    async call(messages, { key, stream, models, answer, system }) {
      const [model, ...others] = models;
      const params = {
        model,
        messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages] as never,
        max_completion_tokens: answer,
        ...(others.length > 0 && { models }),
        ...(key !== undefined && { user: key }),
      };
      const helper = messages.length % 2 === 0;
      if (stream) return helper ? completions.stream(params) : completions.create({ ...params, stream });
      await (helper ? completions.parse(params) : completions.create(params));
      return none();
    },
  };
  return { guard, client };
}

/** @param url of a scripted model */
export function anthropicHarness(url: string, options: Options, fitting: Fitting): GuardedHarness {
  const guard = createGuard<AnthropicMessage>({ ...options, shape: anthropicShape });
  const anthropic = new Anthropic({ baseURL: url, apiKey: "x", maxRetries: 0 });
  const conversation = ({ metadata }: { metadata?: { user_id?: string } }) => metadata?.user_id;
  const { messages: api } = guardMessages(anthropic, guard, { ...fitting, conversation });
  const client: GuardedClient = {
    user: (content) => ({ role: "user", content }),
    agent: (text) => ({ role: "assistant", content: [{ type: "text", text }] }),
    tool: (id, content) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
    ],
    async call(messages, { key, stream, models, answer, system }) {
      const [model, ...others] = models;
      const params = {
        model,
        max_tokens: answer,
        messages: messages as never,
        ...(system !== "" && { system }),
        ...(others.length > 0 && { fallbacks: others.map((one) => ({ model: one })) }),
        ...(key !== undefined && { metadata: { user_id: key } }),
      };
      const helper = messages.length % 2 === 0;
      if (stream) return helper ? api.stream(params) : api.create({ ...params, stream });
      await (helper ? api.parse(params) : api.create(params));
      return none();
    },
  };
  return { guard, client };
}

/** A gateway in front of Gemini has the other models; the client does not name them. @param url of a scripted model */
export function geminiHarness(url: string, options: Options, fitting: Fitting): GuardedHarness {
  const guard = createGuard<GeminiContent>({ ...options, shape: geminiShape });
  const gemini = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: url } });
  type Params = { config?: { httpOptions?: { headers?: Record<string, string> } } };
  const conversation = ({ config }: Params) => config?.httpOptions?.headers?.["x-thread"];
  const { models } = guardGemini(gemini, guard, { ...fitting, conversation });
  const client: GuardedClient = {
    user: (text) => ({ role: "user", parts: [{ text }] }),
    agent: (text) => ({ role: "model", parts: [{ text }] }),
    tool: (id, output) => [
      { role: "model", parts: [{ functionCall: { id, name: "read", args: {} }, thoughtSignature: "AAAA" }] },
      { role: "user", parts: [{ functionResponse: { id, name: "read", response: { output } } }] },
    ],
    async call(contents, { key, stream, models: [model], answer, system }) {
      const headers: Record<string, string> = key === undefined ? {} : { "x-thread": key };
      const config = {
        httpOptions: { headers },
        maxOutputTokens: answer,
        ...(system !== "" && { systemInstruction: system }),
      };
      const params = { model, contents: contents as never, config };
      if (stream) return models.generateContentStream(params);
      await models.generateContent(params);
      return none();
    },
  };
  return { guard, client };
}
