import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { estimateTokens } from "../measure/estimate.ts";
import { type Api, answer, type Finished } from "./wire.ts";

export type { Api } from "./wire.ts";

/** One inference call, as the server saw it. */
export interface ModelRequest {
  api: Api;
  /** Number of this call, from 1. */
  call: number;
  model: string;
  /** The provider's own messages (or input items). */
  messages: readonly Record<string, unknown>[];
  /** The whole body: a call of a sub-agent can be told by its system prompt. */
  body: Record<string, unknown>;
  /** What the server will report as the prompt, unless the reply says otherwise. Tokens. */
  promptTokens: number;
}

export interface ModelReply {
  text?: string;
  calls?: readonly { name: string; arguments: Record<string, unknown> }[];
  /** Tokens; counted from the texts when left out. */
  promptTokens?: number;
  outputTokens?: number;
}

export type Script = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

export interface ScriptedModel {
  /** Base address on loopback, without a trailing slash. */
  url: string;
  requests: readonly ModelRequest[];
  close(): Promise<void>;
}

/**
 * A model that does as it is told, served over HTTP on loopback in the formats of OpenAI (chat and responses),
 * Anthropic and Ollama, streamed or whole. For tests and demos: the clients that talk to it are the real ones.
 */
export async function startScriptedModel(script: Script, contextLength = 32_768): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  /** Windows that Ollama's models are loaded with: none is before its first call. Tokens. */
  const loaded = new Map<string, number>();
  const server = createServer((request, response) => {
    void handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else json(response, 500, { error: { message: String(error) } });
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const body = await bodyOf(request);
    if (path === "/api/ps") {
      const models = [...loaded].map(([name, tokens]) => ({ name, model: name, context_length: tokens }));
      return json(response, 200, { models });
    }
    if (path === "/v1/messages/count_tokens") return json(response, 200, { input_tokens: tokensOf(body) });
    const api = APIS[path];
    if (api === undefined) return json(response, 404, { error: { message: `no such path: ${path}` } });
    const seen: ModelRequest = {
      api,
      call: requests.length + 1,
      model: String(body.model ?? "scripted"),
      messages: (Array.isArray(body.messages)
        ? body.messages
        : Array.isArray(body.input)
          ? body.input
          : []) as Record<string, unknown>[],
      body,
      promptTokens: tokensOf(body),
    };
    requests.push(seen);
    if (api === "ollama") {
      const { num_ctx: asked } = (body.options ?? {}) as { num_ctx?: number };
      loaded.set(seen.model, asked ?? contextLength);
    }
    const reply = await script(seen);
    const said = JSON.stringify([reply.text ?? "", reply.calls ?? []]);
    const finished: Finished = {
      id: `scripted-${Date.now().toString(36)}-${seen.call}`,
      model: seen.model,
      text: reply.text ?? "",
      calls: (reply.calls ?? []).map((call, place) => ({ id: `call_${seen.call}_${place}`, ...call })),
      promptTokens: reply.promptTokens ?? seen.promptTokens,
      outputTokens: reply.outputTokens ?? Math.ceil(estimateTokens(said)),
    };
    answer(response, api, finished, body);
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

const APIS: Readonly<Record<string, Api | undefined>> = {
  "/v1/chat/completions": "openai_chat",
  "/v1/responses": "openai_responses",
  "/v1/messages": "anthropic",
  "/api/chat": "ollama",
};

/** Everything that goes into a prompt: messages, system, tools. */
function tokensOf(body: Record<string, unknown>): number {
  const parts = [body.system, body.instructions, body.messages, body.input, body.tools];
  return Math.ceil(
    parts.reduce<number>((sum, part) => sum + (part === undefined ? 0 : estimateTokens(plain(part))), 0),
  );
}

/** The texts of a body without the JSON around them. */
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
