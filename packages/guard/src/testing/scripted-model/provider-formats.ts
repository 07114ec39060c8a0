import type { ServerResponse } from "node:http";
import { geminiAnswer, geminiChunks } from "./gemini-format.ts";

/** The API that a request uses. */
export type ModelApi =
  | "openai_chat"
  | "openai_responses"
  | "anthropic"
  | "gemini"
  | "ollama"
  | "ollama_generate";

/** A call of a tool. */
export interface ScriptedCall {
  name: string;
  arguments: Record<string, unknown>;
  /** Where OpenAI Responses has the tool, unless among the others. The other APIs have no such groups. */
  namespace?: string | undefined;
}

/** A reply with all fields filled in. */
export interface FinishedReply {
  id: string;
  model: string;
  text: string;
  calls: readonly (ScriptedCall & { id: string })[];
  promptTokens: number;
  outputTokens: number;
  /** Undefined for the API's own share. */
  cachedTokens: number | undefined;
  fields: Record<string, unknown>;
}

/** Writes a reply in the provider's format, streamed if the request asks for it. */
export function writeReply(
  response: ServerResponse,
  api: ModelApi,
  reply: FinishedReply,
  body: Record<string, unknown>,
): void {
  // Ollama streams by default; the other APIs stream on request.
  const ollama = api === "ollama" || api === "ollama_generate";
  const stream = ollama ? body.stream !== false : body.stream === true;
  // Claude Code names a call by it in telemetry and transcript.
  if (api === "anthropic") response.setHeader("request-id", `req_${reply.id}`);
  if (!stream) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(WHOLE[api](reply)));
    return;
  }
  const lines = STREAMED[api](reply, body);
  response.writeHead(200, {
    "content-type": ollama ? "application/x-ndjson" : "text/event-stream",
  });
  for (const line of lines) response.write(line);
  response.end();
}

const WHOLE: Readonly<Record<ModelApi, (reply: FinishedReply) => unknown>> = {
  openai_chat: (reply) => ({
    id: reply.id,
    object: "chat.completion",
    created: 0,
    model: reply.model,
    choices: [
      {
        index: 0,
        finish_reason: reply.calls.length > 0 ? "tool_calls" : "stop",
        message: {
          role: "assistant",
          content: reply.text === "" ? null : reply.text,
          ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls.map(chatCall) }),
        },
      },
    ],
    usage: chatUsage(reply),
  }),
  openai_responses: (reply) => response(reply, "completed"),
  anthropic: (reply) => ({
    ...anthropicHead(reply, reply.outputTokens),
    content: anthropicBlocks(reply),
    stop_reason: anthropicStop(reply),
    ...reply.fields,
  }),
  gemini: geminiAnswer,
  ollama: (reply) => ollamaEnd(reply, true),
  ollama_generate: (reply) => generated(reply, true),
};

const STREAMED: Readonly<
  Record<ModelApi, (reply: FinishedReply, body: Record<string, unknown>) => string[]>
> = {
  openai_chat(reply, body) {
    const chunk = (delta: unknown, finish: string | null, more = {}) =>
      sse({
        id: reply.id,
        object: "chat.completion.chunk",
        created: 0,
        model: reply.model,
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...more,
      });
    const usage = (body.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true;
    return [
      chunk({ role: "assistant", content: "" }, null),
      ...(reply.text === "" ? [] : [chunk({ content: reply.text }, null)]),
      ...reply.calls.map((call, index) => chunk({ tool_calls: [{ index, ...chatCall(call) }] }, null)),
      chunk({}, reply.calls.length > 0 ? "tool_calls" : "stop"),
      ...(usage
        ? [
            sse({
              id: reply.id,
              object: "chat.completion.chunk",
              created: 0,
              model: reply.model,
              choices: [],
              usage: chatUsage(reply),
            }),
          ]
        : []),
      "data: [DONE]\n\n",
    ];
  },
  openai_responses(reply) {
    const completed = response(reply, "completed");
    const items = completed.output.flatMap((item, index) => [
      { type: "response.output_item.added", output_index: index, item },
      // Codex takes the items from here, the client of OpenAI from the end.
      { type: "response.output_item.done", output_index: index, item },
    ]);
    const events = [
      { type: "response.created", response: response(reply, "in_progress") },
      ...items,
      { type: "response.completed", response: completed },
    ];
    return events.map((event, place) => sse({ ...event, sequence_number: place }, event.type));
  },
  anthropic(reply) {
    const blocks = anthropicBlocks(reply);
    return [
      sse(
        { type: "message_start", message: { ...anthropicHead(reply, 1), content: [], stop_reason: null } },
        "message_start",
      ),
      ...blocks.flatMap((block, index) => {
        const tool = block.type === "tool_use";
        const delta = tool
          ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
          : { type: "text_delta", text: block.text };
        return [
          sse(
            {
              type: "content_block_start",
              index,
              content_block: tool ? { ...block, input: {} } : { type: "text", text: "" },
            },
            "content_block_start",
          ),
          sse({ type: "content_block_delta", index, delta }, "content_block_delta"),
          sse({ type: "content_block_stop", index }, "content_block_stop"),
        ];
      }),
      sse(
        {
          type: "message_delta",
          delta: { stop_reason: anthropicStop(reply), stop_sequence: null },
          usage: { output_tokens: reply.outputTokens },
          ...reply.fields,
        },
        "message_delta",
      ),
      sse({ type: "message_stop" }, "message_stop"),
    ];
  },
  gemini: (reply) => geminiChunks(reply).map((chunk) => sse(chunk)),
  ollama: (reply) => [
    `${JSON.stringify({ ...ollamaEnd(reply, false), done: false })}\n`,
    `${JSON.stringify({ ...ollamaEnd(reply, true), message: { role: "assistant", content: "" } })}\n`,
  ],
  ollama_generate: (reply) => [
    `${JSON.stringify({ ...generated(reply, false), done: false })}\n`,
    `${JSON.stringify({ ...generated(reply, true), response: "" })}\n`,
  ],
};

function sse(data: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function chatCall(call: FinishedReply["calls"][number]) {
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  };
}

function chatUsage({ promptTokens, outputTokens, cachedTokens = 0 }: FinishedReply) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

function response(reply: FinishedReply, status: "in_progress" | "completed") {
  const done = status === "completed";
  const text = { type: "output_text", text: reply.text, annotations: [] };
  return {
    id: reply.id,
    object: "response",
    created_at: 0,
    model: reply.model,
    status,
    output: done
      ? [
          ...(reply.text === ""
            ? []
            : [
                {
                  type: "message",
                  id: `${reply.id}-m`,
                  role: "assistant",
                  status: "completed",
                  content: [text],
                },
              ]),
          ...reply.calls.map((call) => ({
            type: "function_call",
            id: `fc_${call.id}`,
            call_id: call.id,
            name: call.name,
            namespace: call.namespace,
            arguments: JSON.stringify(call.arguments),
            status: "completed",
          })),
        ]
      : [],
    usage: done
      ? {
          input_tokens: reply.promptTokens,
          input_tokens_details: { cached_tokens: reply.cachedTokens ?? 0 },
          output_tokens: reply.outputTokens,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: reply.promptTokens + reply.outputTokens,
        }
      : null,
    ...reply.fields,
  };
}

/**
 * By default reports a tenth of the prompt as fresh input and the rest as cache read, so a test notices if the guard only
 * reads `input_tokens`.
 */
function anthropicHead(reply: FinishedReply, outputTokens: number) {
  const { promptTokens, cachedTokens = promptTokens - Math.ceil(promptTokens / 10) } = reply;
  return {
    id: `msg_${reply.id}`,
    type: "message",
    role: "assistant",
    model: reply.model,
    stop_sequence: null,
    usage: {
      input_tokens: promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: outputTokens,
    },
  };
}

function anthropicBlocks(reply: FinishedReply) {
  return [
    ...(reply.text === "" ? [] : [{ type: "text" as const, text: reply.text }]),
    ...reply.calls.map((call) => ({
      type: "tool_use" as const,
      id: `toolu_${call.id}`,
      name: call.name,
      input: call.arguments,
    })),
  ];
}

function anthropicStop(reply: FinishedReply): string {
  return reply.calls.length > 0 ? "tool_use" : "end_turn";
}

function ollamaEnd(reply: FinishedReply, done: boolean) {
  return {
    model: reply.model,
    created_at: "2026-11-20T10:00:00Z",
    message: {
      role: "assistant",
      content: reply.text,
      ...(reply.calls.length === 0
        ? {}
        : {
            tool_calls: reply.calls.map((call) => ({
              function: { name: call.name, arguments: call.arguments },
            })),
          }),
    },
    done,
    ...(done
      ? { done_reason: "stop", prompt_eval_count: reply.promptTokens, eval_count: reply.outputTokens }
      : {}),
  };
}

function generated(reply: FinishedReply, done: boolean) {
  const { message, ...rest } = ollamaEnd(reply, done);
  return { ...rest, response: message.content, ...(done && { context: [1, 2, 3] }) };
}
