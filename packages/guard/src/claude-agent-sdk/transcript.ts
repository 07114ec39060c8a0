import { type Limits, lineOfAction } from "../decide/decide.ts";
import { estimateTokens } from "../measure/estimate.ts";
import type { CallGrowth } from "../measure/forecast.ts";
import { mediaTokens } from "../measure/media.ts";
import { DEFAULT_POLICY, type GuardPolicy } from "../policy/policy.ts";
import { handoffHead, verbatimPart } from "../respond/texts.ts";
import type { Fact } from "../state/state.ts";
import { digest } from "../view/digest.ts";
import { MessageHistory } from "../view/history.ts";
import { clip } from "../view/placeholder.ts";
import { MessageReader } from "../view/reader.ts";
import { type Message, plainShape } from "../view/shape.ts";
import { wordsWithin } from "../view/user-words.ts";
import { blocksOf, type SdkBlock, type SdkUserMessage } from "./sdk-types.ts";

/** Extracts the messages that a summary needs from an SDK message. */
export function messagesOf(message: { type?: unknown }): Message[] {
  return blocksOf(message).flatMap((block): Message[] => {
    if (block.type === "text") {
      return [{ role: message.type === "assistant" ? "assistant" : "user", content: block.text ?? "" }];
    }
    if (block.type === "tool_use") {
      const call = { id: block.id ?? "", name: block.name ?? "", arguments: block.input };
      return [{ role: "assistant", content: "", toolCalls: [call] }];
    }
    if (block.type === "tool_result") {
      const text = typeof block.content === "string" ? block.content : JSON.stringify(block.content ?? "");
      return [{ role: "tool", content: text, toolCallId: block.tool_use_id ?? "" }];
    }
    return [];
  });
}

/** The text of a prompt, without its images. */
export function textOfPrompt(prompt: SdkUserMessage): string {
  return blocksOf(prompt)
    .flatMap((block) => (block.type === "text" ? [block.text ?? ""] : []))
    .join("\n");
}

/** What a block, a prompt's content or a tool's output adds to the next call. */
export function growthOf(value: unknown): Required<CallGrowth> {
  const content: string[] = [];
  let tokens = 0;
  walk(value, 0);
  return { content, tokens };

  function walk(one: unknown, depth: number): void {
    if (typeof one === "string") content.push(one);
    if (typeof one !== "object" || one === null || depth > 8) return;
    const media = mediaTokens(one as Record<string, unknown>, "anthropic");
    if (media !== undefined) tokens += media;
    else for (const inner of Object.values(one)) walk(inner, depth + 1);
  }
}

/** What a block of a message adds to the next call. Signatures and ids are not read. */
export function growthOfBlock({ text, thinking, name, input, content }: SdkBlock): Required<CallGrowth> {
  return growthOf([text, thinking, name, input, content]);
}

/** Puts text before the content of a prompt. */
export function withText(prompt: SdkUserMessage, text: string): SdkUserMessage {
  const { content } = prompt.message;
  const joined =
    typeof content === "string"
      ? `${text}\n\n${content}`
      : [{ type: "text", text } satisfies SdkBlock, ...content];
  return { ...prompt, message: { ...prompt.message, content: joined } };
}

/** Longest handoff, in characters. */
export const HANDOFF_CHARS = 6_000;
const CONTINUE =
  "[This session replaces one that worked on the following request. Continue that work: what the handoff lists as done is done.]";

/** What a fresh session gets from the sessions before it. */
export interface Handoff {
  summary: string;
  /** What the user said in them. */
  said: readonly string[];
  facts: readonly Fact[];
  /** Most of what the user said that is kept word for word. Tokens. */
  wordsTokens: number;
  /** The prompt was under way when the session ended. */
  underWay: boolean;
}

/** Puts the handoff before the first prompt of a fresh session. */
export function withHandoff(prompt: SdkUserMessage, handoff: Handoff): SdkUserMessage {
  const { summary, said, facts, wordsTokens, underWay } = handoff;
  const { kept, left } = wordsWithin(said, wordsTokens, estimateTokens);
  const head = handoffHead(summary, verbatimPart(kept, left, facts));
  if (!underWay) return withText(prompt, head);
  // The same id twice would make the SDK drop the second message.
  const { uuid: _, ...again } = prompt as SdkUserMessage & { uuid?: string };
  return withText(again, `${head}\n\n${CONTINUE}`);
}

/** Tokens for what the user said, if no line is known. */
const WORDS_TOKENS = 2_000;

/** Most of what the user said that a handoff keeps word for word. Tokens. */
export function wordsTokens(limits: Limits, { compact }: GuardPolicy): number {
  const line = lineOfAction(limits).compact ?? limits.hard;
  const { keepUserWords } = compact ?? DEFAULT_POLICY.compact!;
  return line === undefined ? WORDS_TOKENS : line * keepUserWords;
}

/** The messages to summarise, with the summary of the sessions before them. */
export function toSummarise(messages: readonly Message[], earlier: string | undefined): readonly Message[] {
  if (earlier === undefined) return messages;
  return [{ role: "user", content: handoffHead(earlier) }, ...messages];
}

/** Summarises a session without a model. */
export function digestOf(messages: readonly Message[], earlier: string | undefined): string {
  const before = earlier === undefined ? "" : `${clip(earlier, HANDOFF_CHARS >> 1)}\n`;
  const history = new MessageHistory(new MessageReader(plainShape, (text) => text.length / 4));
  history.sync(messages);
  return before + digest(history, plainShape, 0, messages.length, HANDOFF_CHARS - before.length);
}
