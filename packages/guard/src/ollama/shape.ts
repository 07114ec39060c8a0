import { mediaTokens } from "../measure/media.ts";
import { joined, type Part, type Shape, textOf } from "../view/shape.ts";

/** A chat message of Ollama. It has no call ids; results answer calls in order. */
export interface OllamaMessage {
  role: string;
  content: string;
  thinking?: string;
  images?: unknown[];
  tool_calls?: { function: { name: string; arguments: unknown } }[];
  tool_name?: string;
}

/** Ollama does not say how its models count images, so they count as OpenAI counts them. */
const imagesIn = ({ images = [] }: OllamaMessage) =>
  images.reduce((sum: number, image) => sum + (mediaTokens({ type: "image", image }, "openai") ?? 0), 0);

/** The shape of Ollama chat messages. */
export const ollamaShape: Shape<OllamaMessage> = {
  read(message) {
    if (message.role === "tool") return [{ kind: "result", text: message.content, tool: message.tool_name }];
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    const parts: Part[] = [];
    if (message.content !== "" || (message.tool_calls ?? []).length === 0) {
      parts.push({ kind, text: message.content, extraTokens: imagesIn(message) });
    }
    for (const { function: called } of message.tool_calls ?? []) {
      parts.push({
        kind: "call",
        tool: called.name,
        input: called.arguments,
        text: `${called.name} ${textOf(called.arguments)}`,
        editable: true,
      });
    }
    return parts;
  },
  replace(message, texts) {
    const calls = message.tool_calls ?? [];
    const first = message.content === "" && calls.length > 0 ? 0 : 1;
    const text = first === 0 ? undefined : texts.get(0);
    const tool_calls = calls.map((call, place) => {
      const input = texts.get(first + place);
      return input === undefined
        ? call
        : { ...call, function: { ...call.function, arguments: JSON.parse(input) as unknown } };
    });
    return {
      ...message,
      ...(text !== undefined && { content: text }),
      ...(message.tool_calls && { tool_calls }),
    };
  },
  user: (content) => ({ role: "user", content }),
  merge: (message, text, where) => ({ ...message, content: joined(message.content, text, where) }),
};
