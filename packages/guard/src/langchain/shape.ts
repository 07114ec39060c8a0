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

const KINDS: Readonly<Record<string, PartKind | undefined>> = { ai: "assistant", system: "system" };

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
    const parts = agentTexts(fields);
    // Blocks repeat the calls.
    const editable = !Array.isArray(message.content) && !hasItems(fields);
    for (const { id, name: tool, args } of calls)
      parts.push({ kind: "call", id, tool, input: args, text: `${tool} ${textOf(args)}`, editable });
    return parts;
  },
  replace(message, texts) {
    if (message.type !== "ai") return withFields(message, { content: texts.get(0) ?? message.content });
    const fields = message as Fields;
    const said = agentTexts(fields).length;
    const tool_calls = (fields.tool_calls ?? []).map((call, place) => {
      const input = texts.get(said + place);
      return input === undefined ? call : { ...call, args: JSON.parse(input) as unknown };
    });
    return withFields(message, { content: said === 0 ? "" : withTexts(message.content, texts), tool_calls });
  },
  user: (content) => ({ type: "human", content }),
  merge(message, text, where) {
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : withFields(message, { content });
  },
};

/** Whether the message has the provider's own items, which its client sends again instead of the content and the calls. */
const hasItems = ({ response_metadata: metadata }: Fields) => Array.isArray(metadata?.output);

/** The texts of an agent's message, one for each block. */
function agentTexts(fields: Fields): Part[] {
  const { content, tool_calls: calls = [] } = fields;
  const kind = "assistant";
  const fixed = hasItems(fields);
  if (!Array.isArray(content)) {
    const text = textOf(content);
    return text === "" && calls.length > 0 ? [] : [{ kind, text, fixed }];
  }
  return (content as Block[]).map((block) => {
    if (block.type === "text") return { kind, text: String(block.text ?? ""), fixed };
    if (CALL_BLOCK.test(block.type ?? "")) return { kind, text: "", fixed: true };
    return { kind, fixed: true, ...contentOf([block]) };
  });
}

/** Content with the texts of some blocks replaced. */
function withTexts(content: unknown, texts: ReadonlyMap<number, string>): unknown {
  if (!Array.isArray(content)) return texts.get(0) ?? content;
  return (content as Block[]).map((block, place) => {
    const text = texts.get(place);
    return text === undefined ? block : { ...block, text };
  });
}

function isText(content: unknown): boolean {
  return !Array.isArray(content) || (content as Block[]).every(({ type }) => type === "text");
}

/** Returns a copy of the same class. LangChain serializes a message from `lc_kwargs`, which gets the fields as well. */
function withFields(message: LangChainMessage, fields: object): LangChainMessage {
  const { lc_kwargs } = message as { lc_kwargs?: object };
  const prototype = Object.getPrototypeOf(message) as object;
  const kwargs = lc_kwargs === undefined ? {} : { lc_kwargs: { ...lc_kwargs, ...fields } };
  return Object.assign(Object.create(prototype), message, fields, kwargs) as LangChainMessage;
}
