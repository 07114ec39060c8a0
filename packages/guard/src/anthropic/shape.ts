import { contentOf } from "../openai/shape.ts";
import { joinedContent, type Part, type Shape, textOf } from "../view/shape.ts";

/** A message of the Messages API. The package's `MessageParam` is assignable to it. */
export interface AnthropicMessage {
  role: string;
  content: unknown;
}

type ContentBlock = Record<string, unknown> & { type?: string };

/** The shape of Messages API messages. */
export const anthropicShape: Shape<AnthropicMessage> = {
  read(message) {
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    if (!Array.isArray(message.content)) return [{ kind, text: textOf(message.content) }];
    return (message.content as ContentBlock[]).map((block): Part => {
      if (block.type?.endsWith("tool_use") === true) {
        const tool = block.name as string;
        return {
          kind: "call",
          id: block.id as string,
          tool,
          input: block.input,
          text: `${tool} ${textOf(block.input)}`,
          // The API validates the input of server-side tools when it is sent back.
          editable: block.type === "tool_use",
        };
      }
      if (typeof block.tool_use_id === "string") {
        const id = block.tool_use_id;
        // Results of server-side tools are structured, and the API validates them when they are sent back.
        const fixed = block.type !== "tool_result";
        return {
          kind: "result",
          id,
          fixed,
          error: block.is_error === true,
          ...contentOf(block.content, "anthropic"),
        };
      }
      if (block.type === "text") return { kind, text: String(block.text ?? "") };
      return { kind, fixed: true, ...contentOf([block], "anthropic") };
    });
  },
  replace(message, texts) {
    if (!Array.isArray(message.content)) {
      const text = texts.get(0);
      return text === undefined ? message : { ...message, content: text };
    }
    const content = (message.content as ContentBlock[]).map((block, place) => {
      const text = texts.get(place);
      if (text === undefined) return block;
      if (block.type === "tool_use") return { ...block, input: JSON.parse(text) as unknown };
      return block.type === "text" ? { ...block, text } : { ...block, content: text };
    });
    return { ...message, content };
  },
  user: (content) => ({ role: "user", content }),
  merge(message, text, where) {
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : { ...message, content };
  },
};
