import { contextTokens } from "@plimsoll/fold";
import { estimateTokens, tokenizerScale } from "@plimsoll/guard/measure";
import type { PlimsollEventInput, TurnContents, Usage } from "@plimsoll/protocol/events";
import { partsOf, type SizedItem } from "../recordings/held-things.ts";
import { asArray, asObject, type JsonObject } from "../recordings/json.ts";
import { definitionTexts, messageTexts, type PromptText } from "../recordings/message-texts.ts";
import { scaledItems, withoutEarlierThinking } from "../recordings/transcript-parts.ts";

/** The attributes of a span that hold the prompt of its call. Nothing of them is kept but sizes and names of tools. */
export interface SentPrompt {
  readonly names: Pick<ReadonlyMap<string, unknown>, "has" | "keys">;
  /** A text, or what a list or a map holds. Undefined if there is none, or if it is too large. Decodes it each time. */
  read(name: string): unknown;
  /** Undefined for a text that is not JSON, or has too many values. */
  parse(text: string): unknown;
}

const GEN_AI = "gen_ai.input.messages";
const INSTRUCTIONS = "gen_ai.system_instructions";
/** Attributes with a list of messages, or an object with `messages` and `tools`. In order of preference. */
const MESSAGES = [GEN_AI, "ai.prompt.messages", "genkit:input", "langfuse.observation.input"];
/** Attributes with a list of definitions, or an object with `function_tools`. In order of preference. */
const TOOLS = ["gen_ai.tool.definitions", "ai.prompt.tools", "model_request_parameters"];
const WHOLE = new Set([...MESSAGES, ...TOOLS, INSTRUCTIONS]);

/** Attributes of OpenInference and OpenLLMetry, which have one for each field of a message. */
const MESSAGE_FIELD =
  /^(?:llm\.input_messages|gen_ai\.prompt)\.(\d{1,6})\.(?:message\.)?(role|content|name|tool_call_id|contents\.\d{1,6}\.message_content\.text|tool_calls\.(\d{1,6})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments))$/;
const TOOL_FIELD =
  /^(?:llm\.tools\.(\d{1,6})\.tool\.json_schema|llm\.request\.functions\.(\d{1,6})\.(name|description|parameters))$/;

/** Few attributes begin so; asked of every attribute of every span. */
const START =
  /^(?:llm\.[irt]|gen_ai\.(?:input\.|prompt\.|system_|tool\.d)|ai\.prompt\.|genkit:i|langfuse\.o|model_request_)/;

/** Whether an attribute may hold a part of a prompt. */
export const isOfPrompt = (key: string): boolean =>
  START.test(key) && (WHOLE.has(key) || MESSAGE_FIELD.test(key) || TOOL_FIELD.test(key));

/** What the window held at a turn; undefined if the prompt of its call is unknown or cut. */
export function promptContents(
  prompt: SentPrompt,
  { usage, model }: Extract<PlimsollEventInput, { type: "turn" }>,
): TurnContents | undefined {
  // Dialects leave out what is unknown, and never say null.
  const level = contextTokens(usage as Usage);
  const sent = level === undefined ? undefined : (listedMessages(prompt) ?? fieldMessages(prompt));
  if (sent === undefined || sent.messages.length === 0) return undefined;
  const texts = withoutEarlierThinking(messageTexts(sent.messages));
  if (prompt.names.has(INSTRUCTIONS) && !texts.some(({ kind }) => kind === "system"))
    texts.push(...messageTexts([{ role: "system", content: jsonIn(prompt, INSTRUCTIONS) }]));
  texts.push(...definitionTexts(sent.tools ?? definitions(prompt)));
  const scaled = scaledItems(measured(texts), { level: level!, scale: tokenizerScale(model) });
  return scaled && { parts: partsOf(scaled), largest: [] };
}

/** Characters of a prompt that are read to measure it: a call sends all of it again, and reading it whole takes longer than decoding. */
const READ_CHARS = 65_536;
/** Characters that are read of each text, at least, and in one piece, at most. */
const LEAST_CHARS = 256;
const PIECE_CHARS = 1_024;

function measured(texts: readonly PromptText[]): SizedItem[] {
  const share = READ_CHARS / texts.reduce((sum, { text }) => sum + text.length, 0);
  return texts.map(({ kind, tool, text }) => ({ kind, tool, tokens: sampledTokens(text, share) }));
}

function sampledTokens(text: string, share: number): number {
  const chars = Math.max(LEAST_CHARS, Math.floor(text.length * share));
  if (chars >= text.length) return estimateTokens(text);
  const pieces = Math.ceil(chars / PIECE_CHARS);
  const length = Math.floor(chars / pieces);
  const stride = text.length / pieces;
  let sum = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const from = Math.floor(piece * stride + (stride - length) / 2);
    sum += estimateTokens(text.slice(from, from + length));
  }
  return (sum * text.length) / (pieces * length);
}

interface SentMessages {
  messages: readonly unknown[];
  tools?: readonly unknown[];
}

/** @returns undefined if no attribute lists the messages; no messages if its JSON is cut */
function listedMessages(prompt: SentPrompt): SentMessages | undefined {
  const name = MESSAGES.find((one) => prompt.names.has(one));
  if (name === undefined) return undefined;
  const value = jsonIn(prompt, name);
  if (Array.isArray(value)) return { messages: value };
  const { messages, tools } = asObject(value) ?? {};
  return { messages: asArray(messages), ...(Array.isArray(tools) && { tools }) };
}

interface FieldMessage {
  fields: JsonObject;
  contents: unknown[];
  calls: Map<string, JsonObject>;
}

/** Messages that have an attribute for each field. */
function fieldMessages(prompt: SentPrompt): SentMessages {
  const found = new Map<number, FieldMessage>();
  for (const name of prompt.names.keys()) {
    const [, index, field, call, ofCall] = MESSAGE_FIELD.exec(name) ?? [];
    if (field === undefined) continue;
    const message = entryOf(found, Number(index), () => ({ fields: {}, contents: [], calls: new Map() }));
    const value = prompt.read(name);
    if (ofCall !== undefined) entryOf(message.calls, call!, (): JsonObject => ({}))[ofCall] = value;
    else if (field.startsWith("contents.")) message.contents.push(value);
    else message.fields[field] = field === "content" ? blocksOr(prompt, value) : value;
  }
  return {
    messages: [...found]
      .sort(([a], [b]) => a - b)
      .map(([, { fields, contents, calls }]) => ({
        ...fields,
        content: fields.content ?? contents,
        tool_calls: [...calls.values()],
      })),
  };
}

/** OpenLLMetry writes a list of blocks as JSON. */
function blocksOr(prompt: SentPrompt, content: unknown): unknown {
  if (typeof content !== "string" || !content.startsWith("[{")) return content;
  const blocks = prompt.parse(content);
  return asObject(asArray(blocks)[0])?.type === undefined ? content : blocks;
}

function definitions(prompt: SentPrompt): readonly unknown[] {
  const name = TOOLS.find((one) => prompt.names.has(one));
  if (name !== undefined) {
    const value = jsonIn(prompt, name);
    const listed = Array.isArray(value) ? value : asArray(asObject(value)?.function_tools);
    return listed.map((one) => (typeof one === "string" ? prompt.parse(one) : one));
  }
  const found = new Map<string, JsonObject>();
  for (const key of prompt.names.keys()) {
    const [, ofSchema, index, field] = TOOL_FIELD.exec(key) ?? [];
    if (ofSchema !== undefined) found.set(key, asObject(jsonIn(prompt, key)) ?? {});
    else if (field !== undefined) entryOf(found, index!, (): JsonObject => ({}))[field] = prompt.read(key);
  }
  return [...found.values()];
}

function jsonIn(prompt: SentPrompt, name: string): unknown {
  const value = prompt.read(name);
  return typeof value === "string" ? prompt.parse(value) : value;
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
