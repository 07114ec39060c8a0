import type { MaskPolicy } from "../policy/policy.ts";
import type { Mask } from "../state/state.ts";
import type { MessageHistory, ResultPart } from "./history.ts";

/** Assumed size of a placeholder before it is written, in estimated tokens. */
export const PLACEHOLDER_TOKENS = 32;

export interface Candidate {
  part: ResultPart;
  /** Estimated tokens that masking it saves. */
  saves: number;
}

/** Lists what may be masked, oldest first. `slope` converts estimated tokens to real ones, the unit of the policy. */
export function candidates<M>(
  history: MessageHistory<M>,
  masks: ReadonlyMap<string, Mask>,
  policy: MaskPolicy,
  slope: number,
  from: number,
): Candidate[] {
  const { entries } = history;
  const end = protectedFrom(history, policy.keepTurns);
  const smallest = Math.max(policy.minTokens / slope, PLACEHOLDER_TOKENS * 1.25);
  const found: Candidate[] = [];
  const consider = (part: ResultPart, least: number) => {
    const known = masks.get(part.mark);
    const tokens = part.tokens - (known?.saved ?? 0);
    if (part.fixed || tokens < least || (known !== undefined && known.short !== true)) return;
    found.push({ part, saves: tokens - PLACEHOLDER_TOKENS });
  };
  for (let index = from; index < end; index++) {
    const entry = entries[index]!;
    for (const part of entry.results) {
      if (policy.exclude.includes(part.tool) || (policy.keepErrors && part.error)) continue;
      consider(part, smallest);
    }
    if (policy.inputs) for (const part of entry.inputs) consider(part, smallest);
    if (policy.longTexts === null) continue;
    // Never mask what the user said.
    const own = entry.longTexts.filter(({ tool }) => tool === "assistant");
    for (const part of own) consider(part, Math.max(policy.longTexts / slope, smallest));
  }
  let spared = policy.keepTokens / slope;
  if (spared <= 0) return found;
  // Protect the newest output up to keepTokens, counted from the end of the history.
  for (let index = entries.length - 1; index >= end; index--) {
    for (const part of entries[index]!.results) spared -= part.tokens;
  }
  let keep = found.length;
  while (keep > 0 && spared > 0) {
    spared -= found[keep - 1]!.part.tokens;
    if (spared >= 0) keep--;
  }
  return found.slice(0, keep);
}

/** A shortened result keeps at least so much, in estimated tokens. */
export const LEAST_UNREAD = 200;

/** A result that the agent has not read yet, with its estimated tokens as it is sent now. */
export interface Unread {
  part: ResultPart;
  tokens: number;
}

/** The results at the end of a history that may be shortened: nothing of the agent comes after them. */
export function unreadResults<M>(
  { entries }: MessageHistory<M>,
  masks: ReadonlyMap<string, Mask>,
  exclude: readonly string[],
): Unread[] {
  const found: Unread[] = [];
  for (let index = entries.length - 1; index >= 0; index--) {
    const { role, results } = entries[index]!;
    if (role === "assistant") break;
    for (const part of results) {
      const known = masks.get(part.mark);
      const tokens = part.tokens - (known?.saved ?? 0);
      const isWhole = known === undefined || known.short === true;
      if (isWhole && !part.fixed && tokens > LEAST_UNREAD && !exclude.includes(part.tool))
        found.push({ part, tokens });
    }
  }
  return found;
}

/** What stays of the results at least, in estimated tokens. */
export const leastOf = (unread: readonly Unread[]) => unread.length * LEAST_UNREAD;

/** The length to which the longest must be shortened, so that all together have at most `budget` tokens. */
export function evenLength(unread: readonly Unread[], budget: number): number {
  let left = budget;
  const sizes = unread.map(({ tokens }) => tokens).sort((one, other) => one - other);
  for (const [at, size] of sizes.entries()) {
    const share = left / (sizes.length - at);
    if (size > share) return Math.max(LEAST_UNREAD, share);
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** Index of the first message of the protected newest turns. */
export function protectedFrom<M>(history: MessageHistory<M>, turns: number): number {
  const { units, entries } = history;
  let seen = 0;
  for (let place = units.length - 1; place >= 0; place--) {
    if (!units[place]!.turn) continue;
    seen++;
    if (seen === turns) return units[place]!.from;
  }
  return turns === 0 ? entries.length : 0;
}
