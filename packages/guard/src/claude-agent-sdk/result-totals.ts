/** The counts in the SDK's message at the end of a prompt. */
type SdkResult = Record<string, unknown>;

/** These run on over all prompts of a session. */
const OF_SESSION = ["total_cost_usd", "duration_api_ms", "modelUsage"];
/** These count one prompt. */
const OF_PROMPT = ["num_turns", "duration_ms", "usage", "permission_denials"];
/** Sizes of a model, not counts. */
const SIZES = new Set(["contextWindow", "maxOutputTokens"]);

/**
 * Counts over several sessions of the SDK, so that a caller sees one conversation: the cost never falls when a fresh
 * session begins, and a prompt that two sessions answered has the turns of both.
 */
export class ResultTotals {
  /** The last result of each session that ended. */
  readonly #sessions: SdkResult[] = [];
  /** Results of the current prompt that the caller does not see. */
  #parts: SdkResult[] = [];
  #last: SdkResult | undefined;
  #spentUsd = 0;

  /** Cost of the results since `begin`, in US dollars. */
  get spentUsd(): number {
    return this.#spentUsd;
  }

  /** A call of the caller begins. */
  begin(): void {
    this.#spentUsd = 0;
    this.#parts = [];
  }

  /** Takes every result as the SDK gave it. */
  add(result: SdkResult): void {
    this.#last = result;
    const models = Object.values((result.model_usage_since_last_result ?? {}) as Record<string, SdkResult>);
    for (const { costUSD } of models) if (typeof costUSD === "number") this.#spentUsd += costUSD;
  }

  /** The current prompt continues in another session, so this result is partial. */
  hide(result: SdkResult): void {
    this.#parts.push(result);
  }

  /** The session ended, and a fresh one begins. */
  retire(): void {
    if (this.#last !== undefined) this.#sessions.push(this.#last);
    this.#last = undefined;
  }

  /** Returns the result for the caller, and begins the next prompt. */
  whole<R extends object>(result: R): R {
    const whole = { ...result } as SdkResult;
    for (const key of OF_SESSION)
      whole[key] = this.#sessions.reduce((sum, one) => add(one[key], sum), whole[key]);
    for (const key of OF_PROMPT)
      whole[key] = this.#parts.reduce((sum, one) => add(one[key], sum), whole[key]);
    const isSame = this.#sessions.length === 0 && this.#parts.length === 0;
    this.#parts = [];
    return isSame ? result : (whole as R);
  }
}

/** Adds two counts, lists, or objects of these. Anything else is taken from the later one. */
function add(earlier: unknown, later: unknown): unknown {
  if (later === undefined) return earlier;
  if (typeof earlier === "number" && typeof later === "number") return earlier + later;
  if (Array.isArray(earlier) && Array.isArray(later)) return [...earlier, ...later];
  if (!isRecord(earlier) || !isRecord(later)) return later;
  const keys = new Set([...Object.keys(earlier), ...Object.keys(later)]);
  const sums = [...keys].map((key) => [
    key,
    SIZES.has(key) ? (later[key] ?? earlier[key]) : add(earlier[key], later[key]),
  ]);
  return Object.fromEntries(sums);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
