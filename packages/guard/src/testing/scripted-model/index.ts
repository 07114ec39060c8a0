import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { estimateTokens } from "../../measure/estimate.ts";
import { geminiBody } from "./gemini-format.ts";
import { type FinishedReply, type ModelApi, type ScriptedCall, writeReply } from "./provider-formats.ts";

export type { ModelApi, ScriptedCall } from "./provider-formats.ts";

/** One inference call that the server received. */
export interface ModelRequest {
  api: ModelApi;
  /** Number of this call, from 1. */
  call: number;
  model: string;
  /** Messages or input items in the provider's format. */
  messages: readonly Record<string, unknown>[];
  /** The whole request body, for example to recognise a sub-agent by its system prompt. */
  body: Record<string, unknown>;
  /** Prompt tokens to report, unless the reply overrides them. */
  promptTokens: number;
}

/** The reply of a scripted model. */
export interface ModelReply {
  text?: string;
  calls?: readonly ScriptedCall[];
  /** Prompt tokens to report. Default: an estimate from the request. */
  promptTokens?: number;
  /** Those of the prompt tokens that the cache had. Default: none for OpenAI, half for Gemini, 9 of 10 for Anthropic. */
  cachedTokens?: number;
  /** Output tokens to report. Default: an estimate from the reply. */
  outputTokens?: number;
  /** Fields of the answer beside those above, such as `context_management`. OpenAI Responses and Anthropic alone have them. */
  fields?: Record<string, unknown>;
  /** Refuses the request instead, as a server does that demands a strict order of roles. */
  refuse?: { status: number; message: string };
}

/** Returns the reply to a request. */
export type Script = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

/** A running scripted model. */
export interface ScriptedModel {
  /** Base URL on loopback, without a trailing slash. */
  url: string;
  /** All requests so far. */
  requests: readonly ModelRequest[];
  /** Closes the server and all its connections. */
  close(): Promise<void>;
}

/**
 * Serves a scripted model over HTTP on loopback, for tests and demos with real clients. It supports OpenAI Chat
 * Completions and Responses, also under Azure's paths, Anthropic Messages, Gemini, and Ollama's chat and generate,
 * streamed or not. `contextLength` is Ollama's default window in tokens.
 * @example
 * const model = await startScriptedModel(({ call }) => ({ text: `answer ${call}` }));
 * const openai = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: "scripted" });
 * await model.close();
 */
export async function startScriptedModel(script: Script, contextLength = 32_768): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  /** Window of each loaded Ollama model, in tokens. A model loads with its first call. */
  const loaded = new Map<string, number>();
  const server = createServer((request, response) => {
    void handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else json(response, 500, { error: { message: String(error) } });
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://localhost").pathname.replace(AZURE_PREFIX, "/v1/");
    const sent = await bodyOf(request);
    const gemini = geminiBody(path, sent);
    const body = gemini ?? sent;
    if (path === "/api/ps") {
      const models = [...loaded].map(([name, tokens]) => ({ name, model: name, context_length: tokens }));
      return json(response, 200, { models });
    }
    if (path === "/v1/messages/count_tokens") return json(response, 200, { input_tokens: tokensOf(body) });
    const api = gemini === undefined ? APIS[path] : "gemini";
    if (api === undefined)
      return json(response, 404, { error: { message: `The scripted model does not serve ${path}.` } });
    const received: ModelRequest = {
      api,
      call: requests.length + 1,
      model: String(body.model ?? "scripted"),
      messages: [body.messages, body.input, body.contents].find(Array.isArray) ?? [],
      body,
      promptTokens: tokensOf(body),
    };
    requests.push(received);
    if (api.startsWith("ollama")) {
      const { num_ctx: asked } = (body.options ?? {}) as { num_ctx?: number };
      loaded.set(received.model, asked ?? contextLength);
    }
    const reply = await script(received);
    if (reply.refuse !== undefined) {
      const { status, message } = reply.refuse;
      if (api.startsWith("ollama")) return json(response, status, { error: message });
      const error = { type: "invalid_request_error", message };
      return json(response, status, { type: "error", error });
    }
    const replyText = JSON.stringify([reply.text ?? "", reply.calls ?? []]);
    const finished: FinishedReply = {
      id: `scripted-${Date.now().toString(36)}-${received.call}`,
      model: received.model,
      text: reply.text ?? "",
      calls: (reply.calls ?? []).map((call, place) => ({ id: `call_${received.call}_${place}`, ...call })),
      promptTokens: reply.promptTokens ?? received.promptTokens,
      outputTokens: reply.outputTokens ?? Math.ceil(estimateTokens(replyText)),
      cachedTokens: reply.cachedTokens,
      fields: reply.fields ?? {},
    };
    writeReply(response, api, finished, body);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const APIS: Readonly<Record<string, ModelApi | undefined>> = {
  "/v1/chat/completions": "openai_chat",
  "/v1/responses": "openai_responses",
  "/v1/messages": "anthropic",
  "/api/chat": "ollama",
  "/api/generate": "ollama_generate",
};

const AZURE_PREFIX = /^\/openai\/(?:v1\/|deployments\/[^/]+\/)?/;

/** Estimates the prompt: messages, system prompt and tools. */
function tokensOf(body: Record<string, unknown>): number {
  const { system, instructions, systemInstruction, messages, input, prompt, contents, tools } = body;
  const parts = [system, instructions, systemInstruction, messages, input, prompt, contents, tools];
  return Math.ceil(
    parts.reduce<number>((sum, part) => sum + (part === undefined ? 0 : estimateTokens(plain(part))), 0),
  );
}

/** Extracts the texts of a body, without the JSON syntax. */
function plain(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join("\n");
  if (typeof value === "object" && value !== null) return Object.values(value).map(plain).join(" ");
  return value === undefined || value === null ? "" : String(value);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
