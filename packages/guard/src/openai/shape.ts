import { type Part, parsedInput, type Shape, textOf } from "../view/shape.ts";

/** A chat message as OpenAI and compatible servers take it; the package's own types fit. */
export interface ChatMessage {
  role: string;
  content?: unknown;
  tool_calls?: unknown;
  tool_call_id?: string;
}

/** An image is counted as some tiles of it would be. */
const IMAGE_TOKENS = 800;

export const chatShape: Shape<ChatMessage> = {
  read(message) {
    const { text, extraTokens } = contentOf(message.content);
    if (message.role === "tool") return [{ kind: "result", text, extraTokens, id: message.tool_call_id }];
    const kind =
      message.role === "assistant"
        ? "assistant"
        : message.role === "system" || message.role === "developer"
          ? "system"
          : "user";
    const parts: Part[] =
      text === "" && message.tool_calls !== undefined ? [] : [{ kind, text, extraTokens }];
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
      const { id, function: called } = call as {
        id?: string;
        function?: { name?: string; arguments?: unknown };
      };
      parts.push({
        kind: "call",
        id,
        tool: called?.name,
        input: parsedInput(called?.arguments),
        text: `${called?.name ?? ""} ${textOf(called?.arguments)}`,
      });
    }
    return parts;
  },
  replace(message, texts) {
    const text = texts.get(0);
    return text === undefined ? message : { ...message, content: text };
  },
  user: (content) => ({ role: "user", content }),
};

/** An item of the Responses API's `input`. */
export interface InputItem {
  type?: string;
  role?: string;
  content?: unknown;
  [key: string]: unknown;
}

export const responsesShape: Shape<InputItem> = {
  read(item) {
    const id = item.call_id as string | undefined;
    if (typeof item.type === "string" && item.type.endsWith("_call_output")) {
      return [{ kind: "result", id, text: contentOf(item.output).text }];
    }
    if (item.type === "function_call" || item.type === "custom_tool_call") {
      const called = item.arguments ?? item.input;
      const tool = item.name as string | undefined;
      return [
        { kind: "call", id, tool, input: parsedInput(called), text: `${tool ?? ""} ${textOf(called)}` },
      ];
    }
    const { text, extraTokens } = contentOf(item.content ?? item.summary ?? item.encrypted_content);
    const kind =
      item.role === "system" || item.role === "developer"
        ? "system"
        : item.role === "user"
          ? "user"
          : "assistant";
    return [{ kind, text, extraTokens }];
  },
  replace(item, texts) {
    const text = texts.get(0);
    if (text === undefined) return item;
    return "output" in item ? { ...item, output: text } : { ...item, content: text };
  },
  user: (content) => ({ role: "user", content }),
};

/** Text of a content that is a string or a list of parts; images are counted beside it. */
export function contentOf(content: unknown): { text: string; extraTokens: number } {
  if (!Array.isArray(content)) return { text: textOf(content ?? ""), extraTokens: 0 };
  const texts: string[] = [];
  let extraTokens = 0;
  for (const part of content as Record<string, unknown>[]) {
    if (typeof part?.text === "string") texts.push(part.text);
    else if (typeof part?.type === "string" && part.type.includes("image")) extraTokens += IMAGE_TOKENS;
    else texts.push(textOf(part));
  }
  return { text: texts.join("\n"), extraTokens };
}
