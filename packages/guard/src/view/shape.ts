/** What one piece of a message is. A call and its result are never sent one without the other. */
export type PartKind = "system" | "user" | "assistant" | "call" | "result";

export interface Part {
  kind: PartKind;
  /** What the model reads. For a call, its arguments. */
  text: string;
  /** Joins a result to its call. Where a provider gives none, they are matched in order. */
  id?: string | undefined;
  tool?: string | undefined;
  /** Arguments of a call, as far as they could be read. */
  input?: unknown;
  /** The tool failed; such a result is never masked away by default. */
  error?: boolean | undefined;
  /** Tokens of content that is not text, such as an image. */
  extraTokens?: number | undefined;
  /** Sealed or structured by the provider, which refuses other text in its place: never masked. */
  fixed?: boolean | undefined;
  /** The agent's next message, when it follows directly, is part of the same reply and stays with this one. */
  joins?: boolean | undefined;
}

/** How to read and rewrite the messages of one provider. Never changes a message in place. */
export interface Shape<M> {
  read(message: M): readonly Part[];
  /** A copy in which the text of some parts (by their place in `read`) is replaced. */
  replace(message: M, texts: ReadonlyMap<number, string>): M;
  /** A message in the user's role: how the guard speaks to the agent. */
  user(text: string): M;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

/** A message of a harness that has no format of its own. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  toolCalls?: readonly ToolCall[];
  /** For role `tool`: which call this answers. */
  toolCallId?: string;
  toolName?: string;
  error?: boolean;
}

export const plainShape: Shape<Message> = {
  read(message) {
    if (message.role === "tool") {
      return [
        {
          kind: "result",
          text: message.content,
          id: message.toolCallId,
          tool: message.toolName,
          error: message.error,
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

/** Any value as the text a model would read of it. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}

/** Arguments that some providers send as JSON text; text that is not JSON stays text. */
export function parsedInput(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
