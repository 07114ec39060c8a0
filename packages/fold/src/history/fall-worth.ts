import type { FallOutcome } from "@plimsoll/protocol/pure";
import type { BoundaryReading } from "./agent-state.ts";
import type { FallFacts } from "./fall.ts";
import { callsPrice, priceLevel, readPrice, rebuildPrice } from "./prices.ts";

/** What followed a fall, up to the next one or until now. */
export interface FallSequel {
  /** Counted turns. */
  turns: number;
  /** Of them, those until the level was nine tenths of what it had been; undefined if it was not. */
  refill: number | undefined;
  /** Whether the next fall has come. */
  isOver: boolean;
}

/** What a fall cost and saved, at list prices in US dollars. */
export interface FallWorth {
  outcome: FallOutcome;
  /** The calls that wrote a summary; undefined if none was reported, or without a price. */
  summaryUsd: number | undefined;
  /** What the first prompt had to write to the cache, above reading it. */
  rewriteUsd: number | undefined;
  /** What each later turn costs less, because the prompt that the cache has to read is shorter. */
  savedPerTurnUsd: number | undefined;
  /** Turns after which the cost is saved; undefined if it never is. */
  breakEvenTurns: number | undefined;
}

const UNKNOWN: FallWorth = {
  outcome: "unknown",
  summaryUsd: undefined,
  rewriteUsd: undefined,
  savedPerTurnUsd: undefined,
  breakEvenTurns: undefined,
};

type Fall = Pick<BoundaryReading, "tokensBefore" | "tokensAfter"> & { fall: FallFacts };

/** Compares a fall with going on without it, where each prompt would have been read from the cache. */
export function fallWorth({ tokensBefore, tokensAfter, fall }: Fall, sequel: FallSequel): FallWorth {
  const { model, read, hour = 0, summary } = fall;
  const summaryUsd = summary && callsPrice(summary);
  if (tokensBefore === undefined || tokensAfter === undefined) return { ...UNKNOWN, summaryUsd };
  const [before, after] = [readPrice(model, tokensBefore), readPrice(model, tokensAfter)];
  const rewritten = read === undefined ? undefined : Math.max(0, tokensAfter - read);
  const rewriteUsd =
    rewritten === undefined
      ? undefined
      : rebuildPrice({
          model,
          tokens: rewritten,
          level: priceLevel(tokensAfter),
          hour: Math.min(hour, rewritten),
        });
  if (before === undefined || after === undefined || rewriteUsd === undefined)
    return { ...UNKNOWN, summaryUsd };
  const savedPerTurnUsd = before - after;
  const costUsd = rewriteUsd + (summaryUsd ?? 0);
  const breakEvenTurns = savedPerTurnUsd > 0 ? Math.ceil(costUsd / savedPerTurnUsd) : undefined;
  return {
    outcome: outcomeOf(breakEvenTurns, sequel),
    summaryUsd,
    rewriteUsd,
    savedPerTurnUsd,
    breakEvenTurns,
  };
}

function outcomeOf(breakEvenTurns: number | undefined, { turns, isOver }: FallSequel): FallOutcome {
  if (breakEvenTurns === undefined) return "not_paid_back";
  if (turns >= breakEvenTurns) return "paid_back";
  return isOver ? "not_paid_back" : "pending";
}

/** Compactions in a row, and turns within which each is refilled, that make up a thrash. */
const THRASH = { falls: 3, turns: 5 };

/** Of each fall of one agent, oldest first, whether it completes three compactions in a row that were each full again at once. */
export function thrashes(falls: readonly { type: string; sequel: FallSequel }[]): boolean[] {
  let inRow = 0;
  return falls.map(({ type, sequel: { refill } }) => {
    inRow = type === "compacted" && refill !== undefined && refill <= THRASH.turns ? inRow + 1 : 0;
    return inRow >= THRASH.falls;
  });
}
