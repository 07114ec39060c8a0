import type { MaskPolicy } from "../policy/policy.ts";
import type { Mask } from "../state/state.ts";
import type { MessageHistory, ResultPart } from "./history.ts";

/** Assumed size of a placeholder before it is written, in estimated tokens. */
const PLACEHOLDER_TOKENS = 32;

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
    if (part.fixed || part.tokens < least || masks.has(part.mark)) return;
    found.push({ part, saves: part.tokens - PLACEHOLDER_TOKENS });
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
