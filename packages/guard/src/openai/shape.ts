import { type ImageRule, mediaTokens } from "../measure/media.ts";
import { joinedContent, type Part, parsedInput, type Shape, textOf } from "../view/shape.ts";

/** A chat message of OpenAI and compatible servers. The `openai` package's types are assignable to it. */
export interface ChatMessage {
  role: string;
  content?: unknown;
  tool_calls?: unknown;
  tool_call_id?: string;
  /** The older form of a tool call: at most one per message, without an id. */
  function_call?: unknown;
  /** For role `function`: the function's name. */
  name?: string;
}

interface ChatCall {
  id?: string;
  function?: { name?: string; arguments?: unknown };
  custom?: { name?: string; input?: unknown };
}

/** The shape of Chat Completions messages. */
export const chatShape: Shape<ChatMessage> = {
  read(message) {
    const { text, extraTokens } = contentOf(message.content);
    if (message.role === "tool") return [{ kind: "result", text, extraTokens, id: message.tool_call_id }];
    if (message.role === "function") return [{ kind: "result", text, extraTokens, tool: message.name }];
    const kind =
      message.role === "assistant"
        ? "assistant"
        : message.role === "system" || message.role === "developer"
          ? "system"
          : "user";
    const calls = Array.isArray(message.tool_calls) ? [...(message.tool_calls as ChatCall[])] : [];
    if (message.function_call != null) calls.push({ function: message.function_call });
    const fixed = kind === "user" && !isText(message.content);
    const parts: Part[] = text === "" && calls.length > 0 ? [] : [{ kind, text, extraTokens, fixed }];
    for (const { id, function: called, custom } of calls) {
      const tool = called?.name ?? custom?.name;
      const input = called?.arguments ?? custom?.input;
      const spoken = `${tool ?? ""} ${textOf(input)}`;
      // The input of a custom tool is free text.
      const editable = called !== undefined;
      parts.push({ kind: "call", id, tool, input: parsedInput(input), text: spoken, editable });
    }
    return parts;
  },
  replace(message, texts) {
    const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as ChatCall[]) : [];
    const hasCall = calls.length > 0 || message.function_call != null;
    const first = hasCall && contentOf(message.content).text === "" ? 0 : 1;
    const text = first === 0 ? undefined : texts.get(0);
    const withInput = (called: object, place: number) => {
      const input = texts.get(first + place);
      return input === undefined ? called : { ...called, arguments: input };
    };
    return {
      ...message,
      ...(text !== undefined && { content: text }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call, place) =>
          call.function === undefined ? call : { ...call, function: withInput(call.function, place) },
        ),
      }),
      ...(message.function_call != null && {
        function_call: withInput(message.function_call, calls.length),
      }),
    };
  },
  user: (content) => ({ role: "user", content }),
  merge(message, text, where) {
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : { ...message, content };
  },
};

/** An item of the Responses API's `input`. */
export interface InputItem {
  type?: string;
  role?: string;
  content?: unknown;
  [key: string]: unknown;
}

/** Outputs that are plain text and may be replaced. */
const PLAIN_OUTPUT = /^(?:function|custom_tool|local_shell|apply_patch)_call_output$/;

/** The shape of Responses API items. */
export const responsesShape: Shape<InputItem> = {
  read(item) {
    const id = item.call_id as string | undefined;
    if (item.type?.endsWith("_call_output") === true) {
      // Screenshots and the output of hosted shells are structured.
      const fixed = !PLAIN_OUTPUT.test(item.type);
      return [{ kind: "result", id: id ?? (item.id as string), fixed, ...contentOf(item.output) }];
    }
    if (item.type?.endsWith("_call") === true && id !== undefined) {
      const called = item.arguments ?? item.input ?? item.action ?? item.operation;
      const tool = (item.name as string | undefined) ?? item.type.slice(0, -"_call".length);
      const spoken = `${tool} ${textOf(called)}`;
      const editable = item.type === "function_call";
      return [{ kind: "call", id, tool, input: parsedInput(called), text: spoken, joins: true, editable }];
    }
    if (item.type === "mcp_approval_request") {
      const asked = parsedInput(item.arguments);
      return [{ kind: "call", id: String(item.id), input: asked, text: textOf(item.arguments), joins: true }];
    }
    if (item.type === "mcp_approval_response") {
      const request = String(item.approval_request_id);
      return [{ kind: "result", id: request, fixed: true, text: textOf(item.reason) }];
    }
    const { text, extraTokens } = contentOf(item.content ?? item.summary ?? item.encrypted_content);
    const kind =
      item.role === "system" || item.role === "developer"
        ? "system"
        : item.role === "user"
          ? "user"
          : "assistant";
    // Only text can be rewritten. The items of one reply stay together, because the API accepts only all of them.
    const fixed = kind === "user" ? !isText(item.content) : kind === "assistant" && item.role !== "assistant";
    return [{ kind, text, extraTokens, fixed, joins: kind === "assistant" }];
  },
  replace(item, texts) {
    const text = texts.get(0);
    if (text === undefined) return item;
    if ("output" in item) return { ...item, output: text };
    if (item.type === "function_call") return { ...item, arguments: text };
    const said = Array.isArray(item.content) && item.role === "assistant";
    return { ...item, content: said ? [{ type: "output_text", text, annotations: [] }] : text };
  },
  user: (content) => ({ role: "user", content }),
  merge(item, text, where) {
    const field = "output" in item ? "output" : "content";
    if (field === "output" && !PLAIN_OUTPUT.test(item.type ?? "")) return undefined;
    if (field === "content" && item.role === undefined) return undefined;
    const part = (said: string) => ({ type: "input_text", text: said });
    const content = joinedContent(item[field], text, where, part);
    return content === undefined ? undefined : { ...item, [field]: content };
  },
};

/** True if the content is text only, with no image, file or audio that a replacement would remove. */
function isText(content: unknown): boolean {
  if (!Array.isArray(content)) return true;
  return (content as { type?: string }[]).every(({ type }) => type === "text" || type === "input_text");
}

/** Returns the text of a string or list of parts. Images, documents and recordings count as `extraTokens`. */
export function contentOf(
  content: unknown,
  rule: ImageRule = "openai",
): { text: string; extraTokens: number } {
  if (!Array.isArray(content)) return { text: textOf(content ?? ""), extraTokens: 0 };
  const texts: string[] = [];
  let extraTokens = 0;
  for (const part of content as Record<string, unknown>[]) {
    if (typeof part?.text === "string") {
      texts.push(part.text);
      continue;
    }
    const tokens = typeof part === "object" && part !== null ? mediaTokens(part, rule) : undefined;
    if (tokens === undefined) texts.push(textOf(part));
    else extraTokens += tokens;
  }
  return { text: texts.join("\n"), extraTokens };
}
