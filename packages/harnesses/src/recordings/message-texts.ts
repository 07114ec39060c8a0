import { estimateTokens } from "@plimsoll/guard/measure";
import { asArray, asCount, asObject, asText, type JsonObject } from "./json.ts";
import { isPrompt } from "./text.ts";
import { type ContentItem, type ContentKind, LONGEST_PROMPT } from "./transcript-parts.ts";

/** A part of a prompt before it is measured. */
export interface PromptText extends Pick<ContentItem, "kind" | "call" | "tool" | "file"> {
  /** Empty for a deferred tool: the provider puts no word of it into the prompt. */
  text: string;
}

const ROLES: ReadonlyMap<unknown, ContentKind> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["assistant", "assistant"],
  ["model", "assistant"],
  ["ai", "assistant"],
  ["tool", "tool_result"],
  ["toolResult", "tool_result"],
  ["function", "tool_result"],
]);
const THINKING = /^(?:thinking|think|reasoning)$/;
const CALL = /^(?:tool[_-]?call|tool_use|function_call)$/i;
const RESULT = /^(?:tool[_-]call[_-]response|tool[_-]result|function_call_output)$/;
const OUTPUT = /^(?:(?:error-)?(?:text|json)|content)$/;
const TEXT = /^(?:text|input_text|output_text)$/;
/** One of these says that a block holds an image or another file. */
const MEDIA_TYPES = ["mediaType", "mimeType", "mime_type", "media_type"];

/** The texts in the messages of a prompt, whatever provider or library they are of. What has no text, such as an image, is left out. */
export function messageTexts(messages: readonly unknown[]): PromptText[] {
  const found: PromptText[] = [];
  const calls = new Map<string, string | undefined>();
  for (const message of messages) {
    const fields = asObject(message) ?? { content: message };
    const isCalled = asArray(fields.tool_calls ?? fields.toolCalls);
    const id = firstText(fields.tool_call_id, fields.toolCallId);
    const role = id === undefined ? (ROLES.get(fields.role) ?? "user") : "tool_result";
    const addResult = (content: unknown, call = id, name = firstText(fields.name, fields.toolName)) => {
      const tool = (call === undefined ? undefined : calls.get(call)) ?? name;
      for (const text of resultTexts(content)) found.push({ kind: "tool_result", call, tool, text });
    };
    const addCall = (call: JsonObject) => {
      const { name, input } = calledTool(call);
      const key = firstText(call.id, call.toolCallId, call.tool_call_id, call.call_id, call.ref);
      if (key !== undefined) calls.set(key, name);
      const text = `${name ?? ""} ${textOf(input)}`;
      found.push({ kind: "tool_call", call: key, tool: name, file: fileIn(input), text });
    };
    const isTyped = CALL.test(String(fields.type)) || RESULT.test(String(fields.type));
    for (const block of isTyped ? [fields] : blocksIn(fields)) {
      const part = asObject(block) ?? { text: block };
      const type = asText(part.type) ?? "text";
      const asked = asObject(part.toolRequest) ?? asObject(part.functionCall);
      const answered = asObject(part.toolResponse) ?? asObject(part.functionResponse);
      if (asked !== undefined || CALL.test(type)) addCall(asked ?? part);
      else if (answered !== undefined || RESULT.test(type)) {
        const { id: own, toolCallId, tool_use_id, call_id, ref, toolName, name, ...rest } = answered ?? part;
        const content = rest.response ?? rest.result ?? rest.output ?? rest.content;
        addResult(
          content,
          firstText(toolCallId, tool_use_id, call_id, ref, own) ?? id,
          firstText(toolName, name),
        );
      } else if (THINKING.test(type) || part.thought === true) {
        const text = firstText(part.thinking, part.think, part.reasoning, part.text, part.content);
        if (text !== undefined) found.push({ kind: "thinking", text });
      } else if (TEXT.test(type)) {
        const text = firstText(part.text, part.content);
        if (text === undefined) continue;
        if (role === "tool_result") addResult(text);
        else found.push({ kind: role, text });
      }
    }
    for (const call of isCalled) addCall(asObject(call) ?? {});
  }
  return found;
}

/**
 * What a message adds to the context. Prompts keep their texts.
 * @param as what its own texts are, if they are not those of its role
 */
export const messageItems = (message: JsonObject, as?: ContentKind): ContentItem[] =>
  messageTexts([message]).map((found): ContentItem => {
    const isOwn = found.kind === "user" || found.kind === "assistant" || found.kind === "system";
    return measuredItem(as !== undefined && isOwn ? { ...found, kind: as } : found);
  });

export function measuredItem({ text, ...item }: PromptText): ContentItem {
  const isKept =
    item.kind === "summary" || (item.kind === "user" && text.length <= LONGEST_PROMPT && isPrompt(text));
  return { ...item, tokens: estimateTokens(text), ...(isKept && { text }) };
}

/** Items of a text of which only the beginning was read. @param length of all of it, in characters */
export function wholeItems(items: readonly ContentItem[], begin: unknown, length: unknown): ContentItem[] {
  const read = asText(begin)?.length;
  const factor = read === undefined ? 1 : Math.max(1, (asCount(length) ?? read) / read);
  return items.map((item) => ({ ...item, tokens: Math.ceil(item.tokens * factor) }));
}

const FILES = ["file_path", "filePath", "path", "absolute_path", "notebook_path"] as const;

/** The file that a call is about. */
function fileIn(input: unknown): string | undefined {
  const given = asObject(input);
  return given && firstText(...FILES.map((name) => given[name]));
}

export function definitionTexts(definitions: readonly unknown[]): PromptText[] {
  return definitions.flatMap((one): PromptText[] => {
    const fields = asObject(one);
    if (fields === undefined) return [];
    const declared = asArray(fields.functionDeclarations);
    if (declared.length > 0) return definitionTexts(declared);
    if (fields.defer_loading === true) return [{ kind: "deferred_tool", text: "" }];
    const tool = firstText(fields.name, asObject(fields.function)?.name);
    return [{ kind: "tool_definition", tool, text: textOf(fields) }];
  });
}

function blocksIn({ content, contents, parts }: JsonObject): readonly unknown[] {
  const held = content ?? contents ?? parts;
  return Array.isArray(held) ? held : [held];
}

function calledTool(call: JsonObject): { name: string | undefined; input: unknown } {
  const { name, arguments: given } = asObject(call.function) ?? {};
  return {
    name: firstText(call.name, call.toolName, call.tool_name, name),
    input: call.input ?? call.args ?? call.arguments ?? given,
  };
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);

/** The AI SDK sends the value of an output, and MCP has blocks in the content. */
function resultTexts(content: unknown): string[] {
  if (Array.isArray(content)) return content.flatMap(resultTexts);
  const block = asObject(content);
  if (block === undefined) return [textOf(content)];
  const type = asText(block.type) ?? "";
  if (MEDIA_TYPES.some((name) => name in block) || /image|audio|document/.test(type)) return [];
  if (OUTPUT.test(type) && "value" in block) return resultTexts(block.value);
  if (Array.isArray(block.content)) return resultTexts(block.content);
  return [asText(block.text) ?? textOf(block)];
}

const firstText = (...values: readonly unknown[]): string | undefined => values.map(asText).find(Boolean);
