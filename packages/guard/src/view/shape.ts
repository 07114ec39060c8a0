import { GuardError } from "../error.ts";

/** The kind of a message part. */
export type PartKind = "system" | "user" | "assistant" | "call" | "result";

/** One part of a message, as a {@link Shape} reads it. */
export interface Part {
  kind: PartKind;
  /** The text that the model reads. For a call, its name and arguments. */
  text: string;
  /** The id that a call and its result share. Without ids, results are matched in order. */
  id?: string | undefined;
  /** The tool's name, for a call or result. */
  tool?: string | undefined;
  /** The arguments of a call, parsed if possible. */
  input?: unknown;
  /** True for a call whose input `replace` can replace. It must be an object. */
  editable?: boolean | undefined;
  /** True if the tool failed. By default such a result is never masked. Undefined if the message cannot say it. */
  error?: boolean | undefined;
  /** Tokens of non-text content, such as an image. */
  extraTokens?: number | undefined;
  /** True if the provider signs or structures the content and rejects other text. Such a part is never masked. */
  fixed?: boolean | undefined;
  /** True if an agent message directly after this one belongs to the same reply. */
  joins?: boolean | undefined;
}

/** Reads and rewrites the messages of one provider. Never changes a message in place. */
export interface Shape<M> {
  /** Splits a message into its parts. */
  read(message: M): readonly Part[];
  /**
   * Returns a copy of a message with the texts of some parts replaced, by their index in `read`. For an editable call the text
   * is its new input as JSON.
   */
  replace(message: M, texts: ReadonlyMap<number, string>): M;
  /** Creates a user message for a text of the guard. */
  user(text: string): M;
  /**
   * Returns a copy of a message with a text added to what it says. Servers that demand a strict order of roles refuse a user
   * message of its own. Without this function, and for a message that returns `undefined`, the guard looks for another one.
   */
  merge?(message: M, text: string, where: "before" | "after"): M | undefined;
}

/** Joins two texts as paragraphs. */
export function joined(said: string, text: string, where: "before" | "after"): string {
  if (said === "") return text;
  return where === "before" ? `${text}\n\n${said}` : `${said}\n\n${text}`;
}

/** Adds a part to content in parts, or a paragraph to content that is a text. */
export function joinedContent(
  content: unknown,
  text: string,
  where: "before" | "after",
  part: (text: string) => unknown,
): unknown {
  if (content === undefined || content === null || typeof content === "string")
    return joined(content ?? "", text, where);
  if (!Array.isArray(content)) return undefined;
  return where === "before" ? [part(text), ...content] : [...content, part(text)];
}

/** A tool call in a {@link Message}. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

/** A message of a harness without its own format. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  toolCalls?: readonly ToolCall[];
  /** For role `tool`: the id of the call that this answers. */
  toolCallId?: string;
  toolName?: string;
  error?: boolean;
}

const NO_SHAPE =
  "shape: the content of a message is no text, so its format is not that of a guard without a shape. Pass shape to createGuard, " +
  "such as chatShape of @plimsoll/guard/openai.";

/** The shape of {@link Message}, and the default of a guard. */
export const plainShape: Shape<Message> = {
  read(message) {
    if (typeof message?.content !== "string") throw new GuardError("invalid_option", NO_SHAPE);
    if (message.role === "tool") {
      return [
        {
          kind: "result",
          text: message.content,
          id: message.toolCallId,
          tool: message.toolName,
          error: message.error === true,
        },
      ];
    }
    const parts: Part[] = [];
    if (message.content !== "" || (message.toolCalls ?? []).length === 0) {
      parts.push({ kind: message.role, text: message.content });
    }
    for (const call of message.toolCalls ?? []) {
      parts.push({
        kind: "call",
        text: `${call.name} ${textOf(call.arguments)}`,
        id: call.id,
        tool: call.name,
        input: call.arguments,
        editable: true,
      });
    }
    return parts;
  },
  replace(message, texts) {
    const calls = message.toolCalls ?? [];
    const first = message.role !== "tool" && message.content === "" && calls.length > 0 ? 0 : 1;
    const text = first === 0 ? undefined : texts.get(0);
    const toolCalls = calls.map((call, place) => {
      const input = texts.get(first + place);
      return input === undefined ? call : { ...call, arguments: JSON.parse(input) as unknown };
    });
    return {
      ...message,
      ...(text !== undefined && { content: text }),
      ...(message.toolCalls && { toolCalls }),
    };
  },
  user: (content) => ({ role: "user", content }),
  merge: (message, text, where) => ({ ...message, content: joined(message.content, text, where) }),
};

/**
 * Converts a value to the text that a model reads.
 * @example
 * textOf({ path: "a.ts" }); // '{"path":"a.ts"}'
 */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}

/**
 * Parses arguments that a provider sends as JSON text. Returns text that is not JSON unchanged.
 * @example
 * parsedInput('{"path":"a.ts"}'); // { path: "a.ts" }
 */
export function parsedInput(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
