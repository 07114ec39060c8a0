import { howToCompact, isExhausted, lineOfAction } from "../decide/decide.ts";
import { summaryTooLong } from "../error.ts";
import type { SummaryRequest } from "../fit.ts";
import type { CompactPolicy } from "../policy/policy.ts";
import { type ActionInput, askForSummary, expectedTokens } from "../respond/actions.ts";
import type { GuardState } from "../state/state.ts";
import { clip } from "../view/placeholder.ts";
import { BackgroundWork } from "./background-work.ts";
import { FAILURE_PAUSE_MS } from "./watcher.ts";

/** The beginning of a history that a summary covers. */
interface Covered {
  how: CompactPolicy["how"];
  /** Fingerprints of the messages after the leading system messages. */
  prints: readonly number[];
  /** What already stood in place of earlier messages. */
  head: string | undefined;
}

/** A summary that is ready. */
export interface Ready {
  text: string;
  how: CompactPolicy["how"];
  /** Index of the first message that it does not cover. */
  at: number;
}

/** How a summary is prepared. */
export interface SummaryOptions<M> {
  summarize: ((request: SummaryRequest<M>) => Promise<string> | string) | undefined;
  /** Time limit in ms. */
  patienceMs: number;
  /** Current time in epoch ms. */
  clock: () => number;
  onError: (error: unknown) => void;
}

/** Prepares the next summary of older turns while the agent continues. */
export class PreparedSummary<M> {
  readonly #options: SummaryOptions<M>;
  readonly #work = new BackgroundWork<Covered>();
  #covered: Covered | undefined;
  #text: string | undefined;
  #failedAt: number | undefined;

  constructor(options: SummaryOptions<M>) {
    this.#options = options;
  }

  /**
   * Has a summary written of what the guard would summarise now, unless one is there or under way, or it cannot save
   * enough. Never rejects.
   * @param fallbackLine in tokens, for a policy without a line of its own
   * @param leastGain in tokens, if it is more than that of the policy
   */
  async prepare(input: ActionInput<M>, fallbackLine: number, leastGain: number): Promise<void> {
    const { summarize, patienceMs, onError } = this.#options;
    if (summarize === undefined || this.#covered !== undefined || this.#isPaused()) return;
    const plan = planSummary(input, fallbackLine, leastGain);
    if (plan === undefined) return;
    const { covered, messages, maxChars } = plan;
    this.#covered = covered;
    try {
      const made = this.#work.call(covered, patienceMs, (signal) =>
        summarize({ messages, maxChars, signal }),
      );
      const outcome = typeof made === "string" ? ({ kind: "done", value: made } as const) : await made;
      if (this.#covered !== covered || outcome.kind === "dropped") return;
      if (outcome.kind === "failed") throw outcome.error;
      if (outcome.value.trim() === "") throw new Error("The summariser wrote nothing.");
      if (outcome.value.length > maxChars) onError(summaryTooLong(outcome.value.length, maxChars));
      this.#text = clip(outcome.value, maxChars);
    } catch (error) {
      this.drop();
      this.#failedAt = this.#options.clock();
      onError(error);
    }
  }

  /** True if a summary is ready. */
  get isReady(): boolean {
    return this.#text !== undefined;
  }

  /** True if a summary is ready or under way. */
  get isOpen(): boolean {
    return this.#covered !== undefined;
  }

  /** The summary, if it is ready. */
  ready({ seen }: GuardState): Ready | undefined {
    if (this.#covered === undefined || this.#text === undefined) return undefined;
    const { how, prints } = this.#covered;
    return { text: this.#text, how, at: prints.length + (seen?.pinned ?? 0) };
  }

  /** Drops the summary, and aborts the work on it, if the history no longer begins with what it covers. */
  dropStale(input: Pick<ActionInput<M>, "state" | "policy">): void {
    if (this.#covered !== undefined && !stillBegins(this.#covered, input)) this.drop();
  }

  /** Drops the summary, and aborts the work on it. */
  drop(): void {
    this.#covered = undefined;
    this.#text = undefined;
    this.#work.drop(() => true);
  }

  #isPaused(): boolean {
    const since = this.#options.clock() - (this.#failedAt ?? Number.NEGATIVE_INFINITY);
    return since >= 0 && since < FAILURE_PAUSE_MS;
  }
}

/** What a summary would cover now, and the messages to summarise; undefined if it would not help. */
function planSummary<M>(
  input: ActionInput<M>,
  fallbackLine: number,
  leastGain: number,
): { covered: Covered; messages: readonly M[]; maxChars: number } | undefined {
  const { editor, state, policy, limits } = input;
  const { compact } = policy;
  // The guard has asked the harness itself.
  if (compact === null || state.compactAsked !== undefined) return undefined;
  if (expectedTokens(input) < state.compactAfter) return undefined;
  const line = lineOfAction(limits).compact ?? fallbackLine;
  const how = howToCompact(state, compact, policy);
  const gain = editor.compactGain(state, line, { ...compact, how }, policy, input.archive);
  const least = compact.minGain * line * (isExhausted(state) ? 2 : 1);
  if (gain <= 0 || gain < Math.max(least, leastGain)) return undefined;
  const { messages, maxChars } = askForSummary(input, how, line);
  const { pinned = 0, exact = [] } = state.seen ?? {};
  const prints = exact.slice(0, editor.keepFrom(state, line, how, policy) - pinned);
  return { covered: { how, prints, head: state.cut?.head }, messages, maxChars };
}

function stillBegins<M>(
  { prints, head }: Covered,
  { state, policy }: Pick<ActionInput<M>, "state" | "policy">,
): boolean {
  return (
    policy.compact !== null &&
    head === state.cut?.head &&
    prints.every((print, index) => print === state.seen?.exact[index])
  );
}
