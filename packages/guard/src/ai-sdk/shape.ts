import { mediaTokens } from "../measure/media.ts";
import { contentOf } from "../openai/shape.ts";
import { joined, joinedContent, type Part, type Shape, textOf } from "../view/shape.ts";

/** A message of the AI SDK. `ModelMessage` and a language model's prompt messages are assignable to it. */
export interface AiMessage {
  role: string;
  content: unknown;
}

type AiPart = Record<string, unknown> & { type?: string };

/** Pairs an approval request with its response, like a call with its result. */
const approval = (part: AiPart) => `approval:${String(part.approvalId)}`;

/** The shape of AI SDK messages. */
export const aiShape: Shape<AiMessage> = {
  read(message) {
    const kind = message.role === "assistant" ? "assistant" : message.role === "system" ? "system" : "user";
    if (!Array.isArray(message.content)) return [{ kind, text: textOf(message.content) }];
    return (message.content as AiPart[]).map((part): Part => {
      switch (part.type) {
        case "tool-call": {
          const tool = part.toolName as string;
          return {
            kind: "call",
            id: part.toolCallId as string,
            tool,
            input: part.input,
            text: `${tool} ${textOf(part.input)}`,
            editable: part.providerExecuted !== true && part.providerOptions === undefined,
          };
        }
        case "tool-result": {
          const output = part.output as { type?: string; value?: unknown } | undefined;
          const error = output?.type?.startsWith("error") === true || output?.type === "execution-denied";
          const id = part.toolCallId as string;
          // A result in an assistant message comes from a provider-executed tool; the provider validates it.
          const fixed = message.role === "assistant";
          const tool = part.toolName as string;
          return { kind: "result", id, tool, error, fixed, ...contentOf(output?.value) };
        }
        case "tool-approval-request":
          return { kind: "call", id: approval(part), text: "" };
        case "tool-approval-response":
          // Never mask a user's answer.
          return { kind: "result", id: approval(part), fixed: true, text: textOf(part.reason) };
        case "text":
          return { kind, text: String(part.text ?? "") };
        case "reasoning":
          // Providers sign reasoning.
          return { kind, fixed: true, text: String(part.text ?? "") };
        default:
          return { kind, text: "", extraTokens: mediaTokens(part, "openai") ?? 0 };
      }
    });
  },
  replace(message, texts) {
    if (!Array.isArray(message.content)) {
      const text = texts.get(0);
      return text === undefined ? message : { ...message, content: text };
    }
    const content = (message.content as AiPart[]).map((part, place) => {
      const text = texts.get(place);
      if (text === undefined) return part;
      if (part.type === "tool-call") return { ...part, input: JSON.parse(text) as unknown };
      return part.type === "tool-result"
        ? { ...part, output: { type: "text", value: text } }
        : { ...part, text };
    });
    return { ...message, content };
  },
  user: (text) => ({ role: "user", content: [{ type: "text", text }] }),
  merge(message, text, where) {
    if (message.role === "tool") return mergedResult(message, text, where);
    const content = joinedContent(message.content, text, where, (said) => ({ type: "text", text: said }));
    return content === undefined ? undefined : { ...message, content };
  },
};

/** The messages to send, with texts for the system prompt. */
export function withSystem({
  system,
  messages,
}: {
  system: readonly string[];
  messages: readonly AiMessage[];
}): AiMessage[] {
  return [...system.map((content): AiMessage => ({ role: "system", content })), ...messages];
}

/** Adds a text to the last result of a tool message, which can hold nothing else. */
function mergedResult(message: AiMessage, text: string, where: "before" | "after"): AiMessage | undefined {
  const content = message.content as AiPart[];
  const place = content.findLastIndex(({ type }) => type === "tool-result");
  const output = content[place]?.output as { type?: string; value?: unknown } | undefined;
  if (output === undefined) return undefined;
  const merged = mergedOutput(output, text, where);
  return merged && { ...message, content: content.with(place, { ...content[place]!, output: merged }) };
}

function mergedOutput(output: { type?: string; value?: unknown }, text: string, where: "before" | "after") {
  const { type, value } = output;
  switch (type) {
    case "text":
    case "error-text":
      return { ...output, value: joined(String(value), text, where) };
    // Providers receive JSON as text.
    case "json":
    case "error-json":
      return { ...output, type: type.replace("json", "text"), value: joined(textOf(value), text, where) };
    case "content":
      return {
        ...output,
        value: joinedContent(value, text, where, (said) => ({ type: "text", text: said })),
      };
    default:
      return undefined;
  }
}
