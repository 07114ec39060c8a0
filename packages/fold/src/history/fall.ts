import { LOSABLE_KINDS, SURVIVALS, type Survived } from "@plimsoll/protocol/pure";
import type { TurnFacts } from "./turn.ts";
import { contextTokens, hourWrite, normaliseUsage } from "./usage.ts";

/** What is known of a fall with the first level after it. It judges the fall before, which this one ends. */
export interface FallFacts {
  /** Counted turns since the fall before, or since the first one. */
  turns: number;
  /** Of them, those until the level was `REFILLED` of what it had been before that fall; undefined if it never was. */
  refill: number | undefined;
  /** Of the first prompt after this fall. */
  model: string;
  /** Tokens of that prompt that were read from a cache; undefined if the turn does not say. */
  read: number | undefined;
  /** Tokens of that prompt that were written to a cache for an hour. Absent without any. */
  hour?: number;
  /** The calls that wrote what replaced the context; undefined if none was reported. */
  summary: SummaryCalls | undefined;
  /** What a recording shows of what was in the context before. Absent without it. */
  survived?: Survived;
}

/** Calls whose prompt only compacts a context, added up. Tokens. */
export interface SummaryCalls {
  /** Of the last of them. */
  model: string;
  calls: number;
  /** The longest prompt. */
  prompt: number;
  /** Sent and in no cache. */
  fresh: number;
  read: number;
  written: number;
  /** Of `written`, for an hour. Absent without any. */
  hour?: number | undefined;
  output: number;
}

/** What has happened since an agent's latest fall. */
export interface SinceFall {
  /** Counted turns. */
  turns: number;
  /** The level before the fall, tokens; undefined before the first fall, and if it was not known. */
  before: number | undefined;
  refill: number | undefined;
}

export const NO_FALL: SinceFall = { turns: 0, before: undefined, refill: undefined };

/** A window is full again at this share of the level before the fall. */
const REFILLED = 0.9;

/** Counts one more level. */
export function countLevel(since: SinceFall, level: number): SinceFall {
  const { before, refill } = since;
  const turns = since.turns + 1;
  const isFull = refill === undefined && before !== undefined && level >= REFILLED * before;
  return { turns, before, refill: isFull ? turns : refill };
}

/** Whether two falls are the same, as far as is known. */
export function sameFall(a: FallFacts | undefined, b: FallFacts | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.turns === b.turns &&
    a.refill === b.refill &&
    a.model === b.model &&
    a.read === b.read &&
    a.hour === b.hour &&
    sameCalls(a.summary, b.summary) &&
    sameSurvived(a.survived, b.survived)
  );
}

function sameSurvived(a: Survived | undefined, b: Survived | undefined): boolean {
  return LOSABLE_KINDS.every((kind) => SURVIVALS.every((one) => a?.[kind]?.[one] === b?.[kind]?.[one]));
}

function sameCalls(a: SummaryCalls | undefined, b: SummaryCalls | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const fields = Object.keys({ ...a, ...b }) as (keyof SummaryCalls)[];
  return fields.every((field) => a[field] === b[field]);
}

/** Adds a call that compacts. */
export function addSummaryCall(calls: SummaryCalls | undefined, { model, usage }: TurnFacts): SummaryCalls {
  const { fresh = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = normaliseUsage(usage);
  const hour = (calls?.hour ?? 0) + (hourWrite(usage) ?? 0);
  return {
    model,
    calls: (calls?.calls ?? 0) + 1,
    prompt: Math.max(calls?.prompt ?? 0, contextTokens(usage) ?? 0),
    fresh: (calls?.fresh ?? 0) + fresh,
    read: (calls?.read ?? 0) + cacheRead,
    written: (calls?.written ?? 0) + cacheWrite,
    output: (calls?.output ?? 0) + output,
    ...(hour > 0 && { hour }),
  };
}
