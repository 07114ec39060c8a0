import type { Conversation } from "@plimsoll/guard/conversation";
import type { CallForecast, CallGrowth } from "@plimsoll/guard/measure";
import { thresholdTokens } from "@plimsoll/protocol/pure";

/**
 * What the next call sends beyond the last prompt and its answer: its tokens if they are known, or else its texts or
 * messages, whose size is estimated; or both.
 */
export type NextCall = number | string | readonly unknown[] | CallGrowth;

/** Keeps the calls of one tick below its share of the window, by predicting each before it is made. */
export class TickBudget {
  readonly #guard: Conversation;
  readonly #forecast: CallForecast;
  readonly #share: string;
  /** What the tick said about the call that it is about to make. */
  #announced: NextCall | undefined;
  #calls = 0;
  /** Level and answer of the last call. Tokens. */
  #level = 0;
  #answer = 0;
  #largestAnswer = 0;
  #largestGrowth = 0;

  /**
   * @param forecast shared by the ticks of a loop, so that a tick profits from what an earlier one learned
   * @param prompt the first prompt of the tick
   * @param share of the window, such as `15%`
   */
  constructor(guard: Conversation, forecast: CallForecast, prompt: string, share: string) {
    this.#guard = guard;
    this.#forecast = forecast;
    this.#share = share;
    forecast.fresh();
    forecast.grow({ content: prompt });
  }

  /** Takes over what the guard observed of a call. `again`: it is the same call, with more known about it. */
  observed(again: boolean): void {
    const { level, recent } = this.#guard.state;
    const answer = recent.at(-1)?.usage.output_tokens ?? 0;
    if (!again) this.#counted(level);
    this.#forecast.grow({ tokens: Math.max(0, answer - this.#answer) });
    this.#answer = answer;
    this.#largestAnswer = Math.max(this.#largestAnswer, answer);
  }

  /** Returns true if the next call would exceed the tick's share of the window. */
  isOver(next: NextCall | undefined): boolean {
    this.#announced = next;
    const left = this.left();
    // A fresh context would be no smaller than the first call.
    if (left === undefined || this.#calls === 0) return false;
    if (this.#level >= this.#limit()!) return true;
    const growth = next === undefined ? { tokens: this.#largestGrowth } : growthOf(next);
    return this.#predicted(growth) > this.#limit()!;
  }

  /** Tokens that the next call may add, or `undefined` while the window size is unknown. */
  left(): number | undefined {
    const limit = this.#limit();
    return limit === undefined ? undefined : Math.max(0, limit - this.#predicted({}));
  }

  /** The next call, with room for an answer as long as the longest so far. Tokens. */
  #predicted(growth: CallGrowth): number {
    return this.#forecast.next(growth).tokens + this.#largestAnswer;
  }

  #counted(level: number | undefined): void {
    const announced = this.#announced;
    this.#announced = undefined;
    this.#calls += 1;
    if (level === undefined) return;
    if (announced !== undefined) this.#forecast.grow(growthOf(announced));
    this.#forecast.counted(level, announced !== undefined);
    if (this.#calls > 1) {
      this.#largestGrowth = Math.max(this.#largestGrowth, level - this.#level - this.#answer);
    }
    this.#level = level;
    this.#answer = 0;
  }

  #limit(): number | undefined {
    return thresholdTokens("ceiling", this.#share, this.#guard.read().windowTokens);
  }
}

function growthOf(next: NextCall): CallGrowth {
  if (typeof next === "number") return { tokens: next };
  return typeof next === "string" || isList(next) ? { content: next } : next;
}

const isList = (next: readonly unknown[] | CallGrowth): next is readonly unknown[] => Array.isArray(next);
