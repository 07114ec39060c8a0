import type { NormalisedUsage } from "@plimsoll/fold";
import { predict } from "../measure/calibrate.ts";
import type { UsageFlag } from "./observe-turn.ts";
import type { Doubt, GuardState } from "./state.ts";

/** What is taken from a count. */
export interface CountJudgement {
  /** Tokens. */
  level: number | undefined;
  flags: UsageFlag[];
  /** `learned` corrects offset and slope of the estimate, `anchored` the offset alone. `refused`: the level is an estimate. */
  count: "learned" | "anchored" | "refused";
  doubt: Doubt | undefined;
}

/** Least share of the expected count that is believed of a prompt like those before. */
const LEAST_SHARE = 0.7;
/** The same after the guard shortened the prompt, when the prediction is less exact. */
const LEAST_SHARE_LOWERED = 0.5;
/** The same for the first count, when the estimate was never checked. */
const LEAST_SHARE_FIRST = 0.25;
/** The same while the server is doubted. */
const LEAST_SHARE_DOUBTED = 0.9;
/** The same for a count that is just that of the new messages. */
const LEAST_SHARE_NEW = 0.97;
/** Estimates of smaller prompts are not good enough to doubt a first count. Tokens. */
const LEAST_FIRST = 1_000;
/** Counts in a row that grew as the prompt did, after which a lower level is believed. */
const FOLLOWING = 2;

/**
 * Judges a count. A prompt that grew cannot shrink: a count far below the expected one is accepted only if the answer or the
 * harness says that the prompt was shortened, or if the following counts grow as the prompt does.
 * @param isEdited the provider or the harness shortened what the model sees
 */
export function judgeCount(
  state: GuardState,
  counted: NormalisedUsage,
  windowTokens: number | undefined,
  isEdited: boolean,
): CountJudgement {
  const { sent, calibration, lowered } = state;
  const expected = sent === undefined ? undefined : predict(calibration, sent).tokens;
  const tokens = counted.contextTokens;
  const refused = (level: number | undefined, flag: UsageFlag, doubt = state.doubt): CountJudgement => ({
    level,
    flags: [...flags, flag],
    count: "refused",
    doubt,
  });
  const flags: UsageFlag[] = [];
  // A prompt that was sent has tokens: some servers and caches answer with zeros.
  if (tokens === undefined || (tokens === 0 && sent !== undefined && sent > 0))
    return refused(expected ?? state.level, "count_missing");
  if (windowTokens !== undefined && tokens > windowTokens) flags.push("window_suspect");
  if (isEdited) return { level: tokens, flags, count: "anchored", doubt: undefined };
  const grounded = calibration.counts > 0 ? expected : undefined;
  // The level before says nothing of a prompt that was shortened since.
  const before = lowered && grounded !== undefined ? undefined : state.level;
  if (looksTruncated(tokens, grounded ?? before, windowTokens))
    return refused(Math.max(grounded ?? 0, before ?? 0, tokens), "truncation_suspected");
  if (expected === undefined || tokens >= expected * leastShare(state, tokens, expected))
    return { level: tokens, flags, count: "learned", doubt: undefined };
  const doubt = followedBy(state.doubt, sent!, tokens, calibration.slope);
  if (doubt.follows >= FOLLOWING) return { level: tokens, flags, count: "anchored", doubt: undefined };
  return refused(expected, "implausible", doubt);
}

function leastShare({ calibration, sent, lowered, doubt }: GuardState, tokens: number, expected: number) {
  const { counts, anchor, slope } = calibration;
  if (doubt !== undefined) return LEAST_SHARE_DOUBTED;
  if (counts === 0 || anchor === undefined) return expected < LEAST_FIRST ? 0 : LEAST_SHARE_FIRST;
  const added = slope * (sent! - anchor.estimate);
  if (added > 0 && Math.abs(tokens - added) <= added * 0.1) return LEAST_SHARE_NEW;
  return lowered ? LEAST_SHARE_LOWERED : LEAST_SHARE;
}

/**
 * Compares a doubted count with the one before. A server that counts new tokens alone never adds the last count to them. Growth
 * below 5 % of the last count, and above all of it, proves nothing.
 */
function followedBy(before: Doubt | undefined, sent: number, tokens: number, slope: number): Doubt {
  const times = (before?.times ?? 0) + 1;
  if (before === undefined) return { sent, tokens, follows: 0, times };
  const added = slope * (sent - before.sent);
  if (added >= 0 && added < before.tokens * 0.05) return { ...before, times };
  const proves = added > 0 && added <= before.tokens;
  const isFollowing = Math.abs(tokens - (before.tokens + added)) <= added * 0.35;
  const follows = !proves ? before.follows : isFollowing ? before.follows + 1 : 0;
  return { sent, tokens, follows, times };
}

/** After truncation, Ollama reports half its window plus two tokens, or stays at the full window. */
function looksTruncated(
  tokens: number,
  expected: number | undefined,
  windowTokens: number | undefined,
): boolean {
  if (windowTokens === undefined || expected === undefined || tokens >= expected) return false;
  const half = Math.abs(tokens - (windowTokens / 2 + 2)) <= 2;
  return (
    (half && expected > tokens * 1.2) || (tokens >= windowTokens * 0.98 && expected > windowTokens * 1.02)
  );
}
