import { OUTCOME_SIGNALS, type OutcomeSignal, type ToolOutcome } from "@plimsoll/protocol/pure";

/** Where a group of levels begins, tokens. */
export const LEVEL_BANDS = [0, 20_000, 50_000, 100_000, 200_000, 400_000] as const;
/** Where a group of shares of the line begins. */
export const SHARE_BANDS = [0, 0.25, 0.5, 0.75, 0.9, 1] as const;
/**
 * The first turn of a group of places in an agent's history. Within a group the level still rises with the place, so where calls fail more often
 * with the place, wide groups leave some of that to the level: groups that double in width left 1.2 points of 30, these 0.4.
 */
export const POSITION_BANDS = [1, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280] as const;

/** A source that tells one of these has seen the inputs of the calls. */
const COMPARED = ["repeated", "reedited", "corrected"] as const satisfies OutcomeSignal[];

/** The calls of a cell for which some source told what may have gone wrong; `asked` counts requests. */
export type KnownCalls = "calls" | "judged" | "compared" | "tested" | "asked";

/** Which calls could have shown a signal. */
const CALLS_OF: Record<OutcomeSignal, KnownCalls> = {
  failed: "judged",
  rejected: "judged",
  failed_tests: "tested",
  repeated: "compared",
  reedited: "compared",
  corrected: "compared",
  cut_off: "calls",
  retried: "asked",
};

/** What came of the calls that an agent made with contexts of about one level, at about one place in its history. */
export interface OutcomeCell {
  /** Indexes of the bands. `share` is one more; 0 if the line is unknown. */
  readonly level: number;
  readonly share: number;
  readonly position: number;
  calls: number;
  /** Calls with a result. */
  judged: number;
  /** Calls that were compared with those before, and with what the person said next. Telemetry tells neither. */
  compared: number;
  /** Calls with a result, of which is known whether they ran tests. */
  tested: number;
  /** Requests of which is known whether they were sent again. */
  asked: number;
  readonly found: Record<OutcomeSignal, number>;
}

/** Calls of a cell that could have shown a signal. */
export const callsOf = (cell: Pick<OutcomeCell, KnownCalls>, signal: OutcomeSignal) => cell[CALLS_OF[signal]];

export interface PlacedOutcome {
  /** From 1, among the agent's turns. */
  number: number;
  /** Tokens that the prompt filled. */
  level: number;
  /** Of the line; undefined if that is unknown. */
  share: number | undefined;
  outcome: ToolOutcome;
}

/** Sums what came of an agent's calls by level, share of the line and place. */
export class OutcomeCells {
  readonly #cells = new Map<number, OutcomeCell>();

  add({ number, level, share, outcome }: PlacedOutcome): void {
    const place = {
      level: bandOf(LEVEL_BANDS, level),
      share: share === undefined ? 0 : 1 + bandOf(SHARE_BANDS, share),
      position: bandOf(POSITION_BANDS, number),
    };
    const code = cellCode(place);
    let cell = this.#cells.get(code);
    if (cell === undefined) {
      cell = { ...place, calls: 0, judged: 0, compared: 0, tested: 0, asked: 0, found: noSignals() };
      this.#cells.set(code, cell);
    }
    const { calls = 0 } = outcome;
    cell.calls += calls;
    if (outcome.failed !== undefined) cell.judged += calls;
    if (outcome.failed_tests !== undefined) cell.tested += calls;
    if (outcome.retried !== undefined) cell.asked += 1;
    if (COMPARED.some((signal) => outcome[signal] !== undefined)) cell.compared += calls;
    for (const signal of OUTCOME_SIGNALS) cell.found[signal] += outcome[signal] ?? 0;
  }

  /** In the order of their codes. */
  cells(): OutcomeCell[] {
    return [...this.#cells].sort(([one], [other]) => one - other).map(([, cell]) => cell);
  }
}

const NO_SIGNALS = Object.fromEntries(OUTCOME_SIGNALS.map((signal) => [signal, 0])) as Record<
  OutcomeSignal,
  number
>;
export const noSignals = (): Record<OutcomeSignal, number> => ({ ...NO_SIGNALS });

const SHARES = SHARE_BANDS.length + 1;

/** One number for the place of a cell. Stored: the bands may only get more at their ends, and `POSITION_BANDS` not at all. */
export const cellCode = ({ level, share, position }: Pick<OutcomeCell, "level" | "share" | "position">) =>
  (level * SHARES + share) * POSITION_BANDS.length + position;

export function cellPlace(code: number): Pick<OutcomeCell, "level" | "share" | "position"> {
  const rest = Math.floor(code / POSITION_BANDS.length);
  return {
    level: Math.floor(rest / SHARES),
    share: rest % SHARES,
    position: code % POSITION_BANDS.length,
  };
}

/** The band that holds a value: the last that begins at or below it. */
const bandOf = (bands: readonly number[], value: number) =>
  Math.max(
    0,
    bands.findLastIndex((from) => value >= from),
  );
