import { contentOf } from "../openai/shape.ts";
import { joinedContent, type Part, type PartKind, type Shape, textOf } from "../view/shape.ts";

/** A message of LangChain. `BaseMessage` and its subclasses are assignable to it. */
export interface LangChainMessage {
  type: string;
  content: unknown;
}

type Block = Record<string, unknown> & { type?: string };

/** What the subclasses add to a message. */
type Fields = LangChainMessage & {
  tool_calls?: readonly { id?: string; name: string; args: unknown }[];
  tool_call_id?: string;
  name?: string;
  status?: string;
  response_metadata?: { output?: unknown };
};

const KINDS: Readonly<Record<string, PartKind | undefined>> = {
  ai: "assistant",
  system: "system",
  developer: "system",
};

/** Blocks that repeat a call of `tool_calls`. */
const CALL_BLOCK = /^(?:tool_use|tool_call|tool_call_chunk|function_call|input_json_delta)$/;

/** The shape of LangChain messages. */
export const langChainShape: Shape<LangChainMessage> = {
  read(message) {
    const fields = message as Fields;
    const kind = KINDS[message.type] ?? "user";
    if (message.type === "tool" || message.type === "function") {
      const { tool_call_id: id, name: tool, status } = fields;
      return [{ kind: "result", id, tool, error: status === "error", ...contentOf(message.content) }];
    }
    if (kind !== "assistant") {
      const { text, extraTokens } = contentOf(message.content);
      return [{ kind, text, extraTokens, fixed: !isText(message.content) }];
    }
    const calls = fields.tool_calls ?? [];
    const parts = [...agentTexts(fields, calls.length > 0)];
    for (const { id, name: tool, args } of calls)
      parts.push({ kind: "call", id, tool, input: args, text: `${tool} ${textOf(args)}` });
    return parts;
  },
  replace(message, texts) {
    if (message.type === "ai" && Array.isArray(message.content)) {
      const blocks = (message.content as Block[]).map((block, place) => {
        const text = texts.get(place);
        return text === undefined ? block : { ...block, text };
      });
      return withContent(message, blocks);
    }
    const text = texts.get(0);
    return text === undefined ? message : withContent(message, text);
  },
  user: (content) => ({ type: "human", content }),
  merge(message, text, where) {
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : withContent(message, content);
  },
};

/** The texts of an agent's message, one for each block. */
function agentTexts({ content, response_metadata: metadata }: Fields, calls: boolean): Part[] {
  const kind = "assistant";
  // The client sends the provider's own items again, so an edit of the content would not be sent.
  const fixed = Array.isArray(metadata?.output);
  if (!Array.isArray(content)) {
    const text = textOf(content);
    return text === "" && calls ? [] : [{ kind, text, fixed }];
  }
  return (content as Block[]).map((block) => {
    if (block.type === "text") return { kind, text: String(block.text ?? ""), fixed };
    if (CALL_BLOCK.test(block.type ?? "")) return { kind, text: "", fixed: true };
    return { kind, fixed: true, ...contentOf([block]) };
  });
}

function isText(content: unknown): boolean {
  return !Array.isArray(content) || (content as Block[]).every(({ type }) => type === "text");
}

/** Returns a copy of the same class. The fields that LangChain serializes a message from get the content as well. */
function withContent(message: LangChainMessage, content: unknown): LangChainMessage {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(message) as object), message, { content });
  if (typeof copy.lc_kwargs === "object") copy.lc_kwargs = { ...copy.lc_kwargs, content };
  return copy as LangChainMessage;
}
