import type { ContextGuard } from "./guard.ts";
import type { Action, Prepared } from "./types.ts";
import { clip } from "./view/placeholder.ts";

export interface FitOptions<M> {
  /**
   * Writes a summary of older messages, at most `maxChars` long. When it is left out, throws or saves too little, a
   * summary made without a model takes its place.
   */
  summarize?: (request: { messages: readonly M[]; maxChars: number }) => Promise<string> | string;
  /**
   * Counts the prompt exactly, such as an API for it. Asked only when the estimate stands near a line or above it; when
   * it fails the estimate is used.
   */
  countTokens?: (messages: readonly M[]) => Promise<number> | number;
  /** Receives what is to be shown to the person. */
  say?: (text: string) => void;
  /** Asked when restarts must be confirmed. */
  confirm?: () => Promise<boolean> | boolean;
  /** Told why a summariser failed; the harness goes on with the built-in one. */
  onSummaryError?: (error: unknown) => void;
}

/** `prepare`, with everything carried out that needs waiting: summaries and confirmations. */
export async function fit<M>(
  guard: ContextGuard<M>,
  messages: readonly M[],
  options: FitOptions<M> = {},
): Promise<Prepared<M>> {
  const done: Action<M>[] = [];
  await countExactly(guard, messages, options);
  for (let round = 0; ; round++) {
    const prepared = guard.prepare(messages);
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

type OpenAction<M> = Extract<Action<M>, { type: "compact" | "fresh_session" | "confirm_restart" }>;

function needsWork<M>(action: Action<M>): action is OpenAction<M> {
  return action.type === "compact" || action.type === "fresh_session" || action.type === "confirm_restart";
}

async function summaryFor<M>(
  guard: ContextGuard<M>,
  action: Extract<Action<M>, { type: "compact" | "fresh_session" }>,
  options: FitOptions<M>,
): Promise<string> {
  if (options.summarize !== undefined) {
    try {
      const summary = await options.summarize({ messages: action.messages, maxChars: action.maxChars });
      if (summary.trim() !== "") return clip(summary, action.maxChars);
    } catch (error) {
      options.onSummaryError?.(error);
    }
  }
  return guard.digest(action.maxChars);
}

/** An estimate this close to a line may be on either side of it. */
const NEAR = 0.85;

async function countExactly<M>(
  guard: ContextGuard<M>,
  messages: readonly M[],
  { countTokens }: FitOptions<M>,
): Promise<void> {
  if (countTokens === undefined) return;
  const { limits, level } = guard.estimate(messages);
  const lines = Object.values(limits);
  if (level.source === "measured" || lines.length === 0 || level.tokens < Math.min(...lines) * NEAR) return;
  try {
    guard.counted(await countTokens(guard.view(messages)));
  } catch {
    // The estimate is as good as it was.
  }
}
