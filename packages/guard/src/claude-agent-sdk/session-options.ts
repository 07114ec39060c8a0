import type { ConversationOptions } from "../conversation/types.ts";
import type { Message } from "../view/shape.ts";
import type { HandoffOptions } from "./handoff-writer.ts";
import type { SdkMessage, SdkQuery } from "./sdk-types.ts";

/** Options of {@link ClaudeSession}. */
export interface ClaudeSessionOptions<M extends SdkMessage>
  extends Omit<ConversationOptions<Message>, "shape">,
    HandoffOptions {
  /** The SDK's `query` function. */
  query: SdkQuery<M>;
  /**
   * The SDK's options. Hooks in them run in addition to the guard's. `resume`, `continue` and `forkSession` choose the
   * first session; a fresh session after it never resumes it.
   */
  options?: Record<string, unknown>;
  /** Maximum length of each text in a tool's output, in characters. Default: 40,000. */
  maxToolOutputChars?: number;
  /** Receives text to show to the user. */
  say?: (text: string) => void;
  /** Called before a restart at the hard line when restarts need confirmation. Without it, restarts are declined. */
  confirm?: () => Promise<boolean> | boolean;
  /**
   * What to do at or above the hard line when no restart is left: `throw` a `GuardError` before the next call, or `send`
   * it anyway. Below that line the session continues in either case. Default: `throw`.
   */
  onStop?: "throw" | "send";
}

/** The options beside those of a conversation. */
export const SESSION_OPTIONS = Object.keys({
  query: true,
  options: true,
  maxToolOutputChars: true,
  say: true,
  confirm: true,
  onStop: true,
  summarize: true,
  summarizeMs: true,
  onSummaryError: true,
  getSessionMessages: true,
} satisfies Record<
  Exclude<keyof ClaudeSessionOptions<SdkMessage>, keyof ConversationOptions<Message>>,
  true
>);

/** The SDK's options, as the caller gave them. */
export type SdkOptions = Readonly<Record<string, unknown>>;

/** These choose the session to open. */
const CHOOSE_SESSION = [
  "resume",
  "continue",
  "forkSession",
  "sessionId",
  "resumeSessionAt",
  "resumeDropsTurn",
];

/** Which session a query opens: the one that the caller chose, a known one, or a new one. */
export type SessionChoice = "given" | "new" | { resume: string };

/** Whether the caller's options open a stored session. */
export function opensStored({ resume, continue: last }: SdkOptions): boolean {
  return resume !== undefined || last === true;
}

/** What a query may still use of the limits of one call of `send`. */
export interface LimitsUsed {
  /** Responses for the current prompt in earlier sessions. */
  turns: number;
  spentUsd: number;
}

/** The options of a query. A session that the caller chose is opened once, and a new one never resumes it. */
export function optionsFor(given: SdkOptions, choice: SessionChoice, used: LimitsUsed): SdkOptions {
  const options: Record<string, unknown> = { ...given };
  if (choice !== "given") {
    for (const key of CHOOSE_SESSION) delete options[key];
    if (choice !== "new") options.resume = choice.resume;
  }
  const { maxTurns, maxBudgetUsd } = given;
  if (typeof maxTurns === "number" && used.turns > 0) options.maxTurns = Math.max(1, maxTurns - used.turns);
  if (typeof maxBudgetUsd === "number" && used.spentUsd > 0) {
    options.maxBudgetUsd = Math.max(LEAST_BUDGET_USD, maxBudgetUsd - used.spentUsd);
  }
  return options;
}

/** The SDK takes no budget of 0: with this one it stops after its first call. */
const LEAST_BUDGET_USD = 1e-6;
