import type { Fact } from "../state/state.ts";
import { inTime } from "../summary/in-time.ts";
import { clip } from "../view/placeholder.ts";
import type { Message } from "../view/shape.ts";
import { blocksOf, type SdkUserMessage } from "./sdk-types.ts";
import { digestOf, HANDOFF_CHARS, messagesOf, textOfPrompt, toSummarise, withHandoff } from "./transcript.ts";

/** How the handoff to a fresh session is written. */
export interface HandoffOptions {
  /**
   * Writes the handoff for a fresh session, at most `maxChars` characters long. If it is missing, throws or takes longer
   * than `summarizeMs`, the guard writes one without a model.
   */
  summarize?: (request: {
    messages: readonly Message[];
    maxChars: number;
    signal: AbortSignal;
  }) => Promise<string> | string;
  /** Longest time that `summarize` may take, in ms. Default: 60,000. */
  summarizeMs?: number;
  /** Receives the error of a failed `summarize` or `getSessionMessages`. */
  onSummaryError?: (error: unknown) => void;
  /**
   * The SDK's function of that name. With it, the handoff of a session that `options.resume` or `options.continue` opened
   * also covers what was said in it before.
   */
  getSessionMessages?: (
    sessionId: string,
    options?: { dir?: string },
  ) => Promise<readonly { type: string; message: unknown }[]>;
}

/** The session that ends. */
export interface EndedSession {
  id: string | undefined;
  /** It began before this process. */
  stored: boolean;
  cwd: unknown;
  signal: AbortSignal | undefined;
}

/** Prompts of the user that are remembered; of more, the first and the newest. */
const MOST_SAID = 300;

/** Follows a conversation, and hands it on to a fresh session. */
export class HandoffWriter {
  readonly #options: HandoffOptions;
  #messages: Message[] = [];
  #said: string[] = [];
  /** Summary of the sessions before. */
  #summary: string | undefined;
  /** No session has received the summary yet. */
  #due = false;
  #underWay = false;

  constructor(options: HandoffOptions) {
    this.#options = options;
  }

  /** The user said something. */
  prompted(prompt: SdkUserMessage): void {
    const text = textOfPrompt(prompt);
    this.#messages.push({ role: "user", content: text });
    this.#said.push(text);
    if (this.#said.length > MOST_SAID) this.#said.splice(1, 1);
  }

  /** The agent or a tool said something. */
  take(message: { type?: unknown }): void {
    this.#messages.push(...messagesOf(message));
  }

  /** A session has begun with the handoff. */
  delivered(): void {
    this.#due = false;
  }

  /**
   * Summarises the session that ends.
   * @param underWay the last prompt is not answered yet
   */
  async write(session: EndedSession, underWay: boolean): Promise<void> {
    if (session.stored) await this.#readStored(session);
    this.#summary = await this.#summarised(session.signal);
    this.#messages = [];
    this.#due = true;
    this.#underWay = underWay;
  }

  /**
   * The prompt to send, with the handoff if one is due.
   * @param wordsTokens most of what the user said that is kept word for word
   */
  onto(prompt: SdkUserMessage, facts: readonly Fact[], wordsTokens: number): SdkUserMessage {
    if (!this.#due || this.#summary === undefined) return prompt;
    const [underWay, summary] = [this.#underWay, this.#summary];
    // A later prompt is not the one that was under way.
    this.#underWay = false;
    const said = this.#said.slice(0, -1);
    return withHandoff(prompt, { summary, said, facts, wordsTokens, underWay });
  }

  async #readStored({ id, cwd }: EndedSession): Promise<void> {
    const { getSessionMessages, onSummaryError } = this.#options;
    if (getSessionMessages === undefined || id === undefined) return;
    try {
      const stored = await getSessionMessages(id, typeof cwd === "string" ? { dir: cwd } : {});
      const prompts = stored.filter(isPrompt).map((one) => textOfPrompt(one as unknown as SdkUserMessage));
      if (stored.length > 0) this.#messages = stored.flatMap(messagesOf);
      if (prompts.length > this.#said.length) this.#said = prompts;
    } catch (error) {
      // What was said in this process remains.
      onSummaryError?.(error);
    }
  }

  async #summarised(signal: AbortSignal | undefined): Promise<string> {
    const { summarize, summarizeMs, onSummaryError } = this.#options;
    const messages = toSummarise(this.#messages, this.#summary);
    try {
      const work = (limit: AbortSignal) => summarize?.({ messages, maxChars: HANDOFF_CHARS, signal: limit });
      const made = await inTime(work, summarizeMs, signal);
      if (made !== undefined && made.trim() !== "") return clip(made, HANDOFF_CHARS);
    } catch (error) {
      signal?.throwIfAborted();
      onSummaryError?.(error);
    }
    return digestOf(this.#messages, this.#summary);
  }
}

/** Whether the user wrote a stored message, not a tool. */
function isPrompt(stored: { type: string; message: unknown }): boolean {
  return stored.type === "user" && blocksOf(stored).every(({ type }) => type !== "tool_result");
}
