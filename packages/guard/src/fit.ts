import type { Conversation } from "./conversation/conversation.ts";
import type { Action, Prepared } from "./conversation/types.ts";
import { summaryTooLong } from "./error.ts";
import { checkFitOptions } from "./policy/check-options.ts";
import { inTime } from "./summary/in-time.ts";
import { modelSummarizer, type TextModel } from "./summary/summarizer.ts";
import { clip } from "./view/placeholder.ts";

export interface FitOptions<M> {
  /**
   * Writes a summary of older messages, at most `maxChars` characters long. `signal` ends with the caller's own signal and
   * after `summarizeMs`. If it throws, takes longer or saves too little, the guard writes a short summary without a model.
   * `"without_model"` has the guard always do so. Without this and `summaryModel`, the guard never summarises.
   */
  summarize?: ((request: SummaryRequest<M>) => Promise<string> | string) | "without_model";
  /** Asks a model for the summary, with the guard's own prompt, if there is no `summarize`. */
  summaryModel?: TextModel;
  /** Longest time that a summary may take, in ms. Default: 60,000. */
  summarizeMs?: number;
  /** Ends the wait for a summary. */
  signal?: AbortSignal | undefined;
  /**
   * Counts the tokens of the prompt exactly, for example with a provider's API. Called only when the estimate is near
   * or above a line. If it fails, the guard uses the estimate.
   */
  countTokens?: (messages: readonly M[]) => Promise<number> | number;
  /** What the request holds beside the messages, such as tool definitions. See `PrepareFacts`. */
  besides?: unknown;
  /**
   * The model that will answer, or all that may. A wrapped client adds them to those that the call names. See `PrepareFacts`.
   */
  model?: string | readonly string[] | undefined;
  /** Most tokens that the answer may have. A wrapped client reads it from the call. See `PrepareFacts`. */
  outputTokens?: number | undefined;
  /** Receives text to show to the user. */
  say?: (text: string) => void;
  /** Called when a restart needs confirmation; return `true` to restart. */
  confirm?: () => Promise<boolean> | boolean;
  /**
   * Receives the error of a failed `summarize`, after which the guard writes its own summary, and a {@link GuardError}
   * `summary_too_long` for one that was cut.
   */
  onSummaryError?: (error: unknown) => void;
}

/** What `summarize` is given. */
export interface SummaryRequest<M> {
  messages: readonly M[];
  /** Characters. */
  maxChars: number;
  signal: AbortSignal;
}

/**
 * Runs `prepare` and carries out the asynchronous actions: exact counts, summaries and confirmations.
 * @returns The messages to send, and every action taken or required.
 * @example
 * const { messages } = await fit(guard, history, { summarize: ({ messages }) => summarise(messages) });
 */
export async function fit<M>(
  guard: Conversation<M>,
  messages: readonly M[],
  options: FitOptions<M> = {},
): Promise<Prepared<M>> {
  checkFitOptions(options);
  const done: Action<M>[] = [];
  const { besides, model, outputTokens } = options;
  await countExactly(guard, messages, options);
  for (let round = 0; ; round++) {
    const summaries = canSummarise(options);
    const facts = { summaries, besides, model, outputTokens, sameCall: round > 0 };
    const prepared = guard.prepare(messages, facts);
    done.push(...prepared.actions);
    const open = prepared.actions.find(needsWork);
    if (open === undefined || round === 3) return { ...prepared, actions: done };
    if (open.type === "confirm_restart") {
      options.say?.(open.say);
      if ((await options.confirm?.()) !== true) return { ...prepared, actions: done };
      done.push(guard.restart(open.reason));
      continue;
    }
    options.say?.(open.say);
    const summary = await summaryFor(guard, open, options);
    guard.compacted(summary, open.type, () => clip(guard.digest(open.maxChars), open.maxChars));
  }
}

function canSummarise<M>({ summarize, summaryModel }: FitOptions<M>): boolean {
  return summarize !== undefined || summaryModel !== undefined;
}

type OpenAction<M> = Extract<Action<M>, { type: "compact" | "fresh_session" | "confirm_restart" }>;

function needsWork<M>(action: Action<M>): action is OpenAction<M> {
  return action.type === "compact" || action.type === "fresh_session" || action.type === "confirm_restart";
}

async function summaryFor<M>(
  guard: Conversation<M>,
  action: Extract<Action<M>, { type: "compact" | "fresh_session" }>,
  options: FitOptions<M>,
): Promise<string> {
  const { messages, maxChars } = action;
  const { summaryModel, onSummaryError } = options;
  if (options.summarize === "without_model") return guard.digest(maxChars);
  const summarize = options.summarize ?? (summaryModel && modelSummarizer(guard.shape, summaryModel));
  if (summarize === undefined) return guard.digest(maxChars);
  try {
    const work = (signal: AbortSignal) => summarize({ messages, maxChars, signal });
    const summary = await inTime(work, options.summarizeMs, options.signal);
    if (summary.length > maxChars) onSummaryError?.(summaryTooLong(summary.length, maxChars));
    if (summary.trim() !== "") return clip(summary, maxChars);
  } catch (error) {
    // The caller gave up: nothing will be sent.
    options.signal?.throwIfAborted();
    onSummaryError?.(error);
  }
  return guard.digest(maxChars);
}

/** From this fraction of a line on, the true count may be on either side of it. */
const NEAR_LINE = 0.85;

async function countExactly<M>(
  guard: Conversation<M>,
  messages: readonly M[],
  { countTokens, besides, model, outputTokens }: FitOptions<M>,
): Promise<void> {
  if (countTokens === undefined) return;
  const { limits, level } = guard.estimate(messages, { besides, model, outputTokens });
  const lines = Object.values(limits);
  if (level.source === "measured" || lines.length === 0 || level.tokens < Math.min(...lines) * NEAR_LINE)
    return;
  try {
    guard.counted(await countTokens(guard.view(messages)));
  } catch {
    // Keep the estimate.
  }
}
