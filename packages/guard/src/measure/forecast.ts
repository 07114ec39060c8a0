import { BesidesReader } from "./besides.ts";
import { type Calibration, calibrate, newCalibration, type Prediction, predict } from "./calibrate.ts";
import { estimateTokens, type Tokenizer } from "./estimate.ts";

/** What a call sends beyond the call before it. */
export interface CallGrowth {
  /** Texts or messages, whose size is estimated. */
  content?: unknown;
  /** What is known exactly, such as the length of the last answer. Tokens. */
  tokens?: number;
}

/**
 * Predicts the prompt of the next call of an agent whose history is out of reach, from the last count and what was
 * added since. Learns from each count how many tokens the added content really had.
 * @example
 * const forecast = new CallForecast();
 * forecast.counted(12_000);
 * forecast.grow({ content: "the result of a tool", tokens: 350 });
 * console.log(forecast.next().tokens);
 */
export class CallForecast {
  readonly #reader: BesidesReader;
  #calibration: Calibration = newCalibration();
  /** Added since the last count: estimated, and known. Tokens. */
  #estimated = 0;
  #known = 0;

  constructor(tokenizer: Tokenizer = estimateTokens) {
    this.#reader = new BesidesReader(tokenizer);
  }

  /** Adds what the next call sends in addition. */
  grow({ content, tokens = 0 }: CallGrowth): void {
    this.#estimated += this.#reader.tokensOf(content);
    this.#known += tokens;
  }

  /**
   * Takes the count of a call that sent all that was added. Tokens.
   * @param complete false if the call also sent things that nobody added; the count then says nothing about estimates
   */
  counted(tokens: number, complete = true): void {
    const { anchor, slope } = this.#calibration;
    const actual = tokens - this.#known;
    const grew = anchor !== undefined && this.#estimated > 0 && actual > anchor.actual;
    if (grew && complete) this.#calibration = calibrate(this.#calibration, this.#estimated, actual);
    if (anchor === undefined) {
      const overhead = Math.max(0, actual - slope * this.#estimated);
      this.#calibration = { ...this.#calibration, overhead };
    }
    const counts = Math.max(1, this.#calibration.counts);
    this.#calibration = { ...this.#calibration, counts, anchor: { estimate: 0, actual: tokens } };
    this.#estimated = 0;
    this.#known = 0;
  }

  /** Predicts the next call, if it also sends `more`. */
  next({ content, tokens = 0 }: CallGrowth = {}): Prediction {
    const { tokens: predicted, ...about } = predict(
      this.#calibration,
      this.#estimated + this.#reader.tokensOf(content),
    );
    return { ...about, tokens: predicted + this.#known + tokens };
  }

  /** Begins an empty context. What was learned about system prompt, tools and estimates stays. */
  fresh(): void {
    this.#calibration = { ...this.#calibration, anchor: undefined };
    this.#estimated = 0;
    this.#known = 0;
  }
}
