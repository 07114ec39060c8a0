import { estimateTokens } from "@plimsoll/guard/measure";
import type { SizedItem } from "../recordings/held-things.ts";
import { asArray, asObject, asText, type JsonObject } from "../recordings/json.ts";
import { type ContentKind, textTokens } from "../recordings/transcript-parts.ts";

const ROLES: ReadonlyMap<unknown, ContentKind> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["assistant", "assistant"],
  ["model", "assistant"],
  ["ai", "assistant"],
  ["tool", "tool_result"],
  ["function", "tool_result"],
]);
const CALL = /^(?:tool[_-]call|tool_use|function_call)$/;
const RESULT = /^(?:tool[_-]call[_-]response|tool[_-]result|function_call_output)$/;
const OUTPUT = /^(?:(?:error-)?(?:text|json)|content)$/;
const TEXT = /^(?:text|input_text|output_text)$/;
/** One of these says that a block holds an image or another file. */
const MEDIA_TYPES = ["mediaType", "mimeType", "mime_type", "media_type"];

/**
 * What the messages of a prompt hold, in estimated tokens, whatever provider or library they are of. What has no text, such as an image,
 * is left out, and so is thinking.
 */
export function messageItems(messages: readonly unknown[]): SizedItem[] {
  const items: SizedItem[] = [];
  const calls = new Map<string, string | undefined>();
  for (const message of messages) {
    const fields = asObject(message) ?? { content: message };
    const isCalled = asArray(fields.tool_calls);
    const id = firstText(fields.tool_call_id, fields.toolCallId);
    const role = id === undefined ? (ROLES.get(fields.role) ?? "user") : "tool_result";
    const result = (content: unknown, call = id, name = asText(fields.name)) =>
      items.push({
        kind: "tool_result",
        tokens: resultTokens(content),
        tool: (call === undefined ? undefined : calls.get(call)) ?? name,
      });
    const addCall = (call: JsonObject) => {
      const { name, input } = calledTool(call);
      const key = firstText(call.id, call.toolCallId, call.tool_call_id, call.call_id, call.ref);
      if (key !== undefined) calls.set(key, name);
      items.push({ kind: "tool_call", tokens: textTokens(name) + inputTokens(input), tool: name });
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
        result(
          content,
          firstText(toolCallId, tool_use_id, call_id, ref, own) ?? id,
          firstText(toolName, name),
        );
      } else if (TEXT.test(type)) {
        const text = firstText(part.text, part.content);
        if (text === undefined) continue;
        if (role === "tool_result") result(text);
        else items.push({ kind: role, tokens: estimateTokens(text) });
      }
    }
    for (const call of isCalled) addCall(asObject(call) ?? {});
  }
  return items;
}

/** What the definitions of tools take, in estimated tokens. */
export function definitionItems(definitions: unknown): SizedItem[] {
  return asArray(definitions).flatMap((one): SizedItem[] => {
    const fields = asObject(one);
    if (fields === undefined) return [];
    const declared = asArray(fields.functionDeclarations);
    if (declared.length > 0) return definitionItems(declared);
    const tool = firstText(fields.name, asObject(fields.function)?.name);
    return [{ kind: "tool_definition", tool, tokens: estimateTokens(JSON.stringify(fields)) }];
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

const inputTokens = (input: unknown): number =>
  typeof input === "string"
    ? estimateTokens(input)
    : input === undefined
      ? 0
      : estimateTokens(JSON.stringify(input));

/** The AI SDK sends the value of an output, and MCP has blocks in the content. */
function resultTokens(content: unknown): number {
  if (Array.isArray(content)) return content.reduce((sum: number, one) => sum + resultTokens(one), 0);
  const block = asObject(content);
  if (block === undefined) return textTokens(content);
  if (MEDIA_TYPES.some((name) => name in block)) return 0;
  if (OUTPUT.test(asText(block.type) ?? "") && "value" in block) return resultTokens(block.value);
  return Array.isArray(block.content) ? resultTokens(block.content) : textTokens(block);
}

const firstText = (...values: readonly unknown[]): string | undefined => values.map(asText).find(Boolean);
