import { Conversation } from "../conversation/conversation.ts";
import type { SummaryRequest } from "../fit.ts";
import type { Guard } from "../guard.ts";
import { checkNames, type OptionNames } from "../policy/check-names.ts";
import type { TextModel } from "../summary/summarizer.ts";
import { resolveBudget, type TokenBudget } from "./budget.ts";
import { LiveWatch } from "./live-watch.ts";
import type { Compact } from "./watcher.ts";

/** Options of {@link optimistic}. */
export interface OptimisticOptions<M> {
  /**
   * Default of `total`: the lowest line at which the guard acts, or else the window. Preparation begins `reserveRatio`
   * below it (default 0.15) and goes `lowWaterRatio` further (default: 0.3, or more if the context grows fast, so that there
   * is room for `pace.roomTurns` turns). With a budget, each prompt is brought below the limit, whatever that costs. Without
   * one, what frees room for fewer turns waits for the guard's line.
   */
  budget?: Partial<TokenBudget>;
  /** Shortens one text that the policy lets the guard mask. Default: one line about it, without a model. */
  compact?: Compact;
  /**
   * Summarises older turns. Called when shorter texts are not enough. Without this and `summaryModel`, no summary is
   * prepared.
   */
  summarize?: (request: SummaryRequest<M>) => Promise<string> | string;
  /** Asks a model for the summary, with the guard's own prompt, if there is no `summarize`. */
  summaryModel?: TextModel;
  /** Time limit of each call of `compact` and `summarize`, in ms. Default: 30,000. */
  patienceMs?: number;
  /** Maximum number of texts shortened at once, which limits parallel model calls. Default: no limit. */
  perRound?: number;
  /** Receives the error of a failed call. The text is then shortened without a model, or the guard summarises itself. */
  onError?: (error: unknown) => void;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
}

const OPTIMISTIC_OPTIONS: OptionNames<OptimisticOptions<never>> = {
  budget: "optional",
  compact: "optional",
  summarize: "optional",
  summaryModel: "optional",
  patienceMs: "optional",
  perRound: "optional",
  onError: "optional",
  clock: "optional",
};

/** Preparation in the background, as {@link optimistic} starts it. */
export interface OptimisticCompaction {
  /** Resolves when nothing is being prepared. Never rejects. */
  settled(): Promise<void>;
  /** Ends the preparation, aborts its calls, and forgets what is not applied yet. */
  stop(): void;
}

/**
 * Compacts a conversation, or all conversations of a guard, before the guard has to. After each turn it prepares shorter
 * texts and summaries in the background. A later prompt gets those that are ready, and never waits for the others.
 * Replaces an earlier `optimistic` of the same conversation. What is prepared is not part of the guard's state: call it
 * again after a restart of the process.
 * @throws {RangeError} If `budget` has an invalid field.
 * @throws {GuardError} `invalid_option`
 * @example
 * const ahead = optimistic(guard, { summarize: ({ messages, signal }) => summarise(messages, signal) });
 * await callModel(guard); // each call through the guard as before
 * ahead.stop();
 */
export function optimistic<M>(
  target: Conversation<M> | Guard<M>,
  options: OptimisticOptions<M> = {},
): OptimisticCompaction {
  checkNames(options, OPTIMISTIC_OPTIONS);
  resolveBudget(options.budget ?? {});
  const watches = new Set<LiveWatch<M>>();
  let stopped = false;
  const companionOf = (conversation: Conversation<M>): LiveWatch<M> => {
    const watch = new LiveWatch(conversation, options, () => watches.delete(watch));
    watches.add(watch);
    if (stopped) watch.stop();
    return watch;
  };
  if (target instanceof Conversation) target.attach(companionOf(target));
  else target.attach(companionOf);
  return {
    settled: async () => {
      await Promise.all([...watches].map((watch) => watch.settled()));
    },
    stop() {
      stopped = true;
      for (const watch of [...watches]) watch.stop();
    },
  };
}
