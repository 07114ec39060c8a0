import type { ChangeAtFallsView, FallSums, FallView } from "@plimsoll/protocol/api";
import { LOSABLE_KINDS, type LosableKind, type Survival } from "@plimsoll/protocol/pure";
import { compact, exact, loadPercent, money, NONE, plural } from "../format.ts";
import { boundaryName } from "../words.ts";
import { differenceOf, differenceText, rateText } from "./quality-words.ts";

const turns = (count: number) => plural(Math.round(count), "turn");

/** What fell, such as `compacted, 160k to 40k`. */
export function fallTitle({ type, tokens_before: before, tokens_after: after }: FallView): string {
  const name = boundaryName(type);
  return before === null || after === null ? name : `${name}, ${compact(before)} to ${compact(after)}`;
}

/** Whether a fall paid, such as `paid back after 6 turns`. */
export function outcomeText(fall: FallView): string {
  const { outcome, break_even_turns: needed, turns_after: had } = fall;
  switch (outcome) {
    case "paid_back":
      return needed === 0 ? "cost nothing" : `paid back after ${turns(needed!)}`;
    case "pending":
      return `pays back after ${turns(needed!)}, ${exact(had)} so far`;
    case "not_paid_back":
      return needed === null
        ? "freed nothing that would pay it back"
        : `not paid back: ${turns(needed)} needed`;
    case "unknown":
      return "price unknown";
  }
}

/** How long a fall helped, such as `full again after 3 turns`. */
export function lastedText({ refill_turns: refill, turns_after: had, over }: FallView): string {
  if (refill !== null) return refill === 1 ? "full again at once" : `full again after ${turns(refill)}`;
  return over ? `lasted ${turns(had)}` : `${turns(had)} since`;
}

/** What a fall cost and has saved; undefined without a price. */
export function moneyText(fall: FallView): string | undefined {
  const { rewrite_usd: rewrite, summary_usd: summary, saved_per_turn_usd: perTurn, turns_after: had } = fall;
  if (rewrite === null || perTurn === null) return undefined;
  const cost = rewrite + (summary ?? 0);
  const saved = `saved ${money(Math.max(0, perTurn * had))}`;
  // Its outcome says that it cost nothing.
  if (cost === 0) return saved;
  const parts = summary === null ? "" : `, ${money(summary)} of it for the summary`;
  return `cost ${money(cost)}${parts}; ${saved}`;
}

const LOSABLE_NOUNS: Record<LosableKind, string> = { rule: "rule", prompt: "other sentence", file: "file" };
const UNSEEN_TEXTS: Record<NonNullable<FallView["unseen"]>, string> = {
  not_recorded: "its recordings do not show the summary",
  not_imported: "no recording with its summary was imported",
};

type SurvivalCounts = Readonly<Record<Survival, number>>;
const thingsOf = ({ verbatim, near, absent }: SurvivalCounts) => verbatim + near + absent;

/** What a compaction lost, such as `lost 3 of 12 rules, 0 of 2 files`; undefined for another fall. */
export function lostText({ survived, unseen }: FallView): string | undefined {
  if (unseen !== null) return `what it lost cannot be seen: ${UNSEEN_TEXTS[unseen]}`;
  if (survived === null) return undefined;
  const parts = LOSABLE_KINDS.flatMap((kind) => {
    const counts = survived[kind];
    return counts === null
      ? []
      : `${exact(counts.absent)} of ${plural(thingsOf(counts), LOSABLE_NOUNS[kind])}`;
  });
  return parts.length === 0 ? "no prompt or file was there to lose" : `lost ${parts.join(", ")}`;
}

export const KEPT_HEAD = ["Seen", "Rules", "Other sentences", "Files"] as const;

/** The share of each kind that is in the new context, in the order of `KEPT_HEAD`. */
export function keptCells({ falls, seen, survived }: FallSums): string[] {
  const shares = LOSABLE_KINDS.map((kind) => {
    const counts = survived[kind];
    if (counts === null) return NONE;
    const all = thingsOf(counts);
    return `${loadPercent((all - counts.absent) / all)} of ${compact(all)}`;
  });
  return [`${exact(seen)} of ${exact(falls)}`, ...shares];
}

/** What all falls were worth, as a sentence. */
export function sumsText({
  falls,
  freed,
  lasted_turns: lasted,
  outcomes,
  cost_usd,
  saved_usd,
}: FallSums): string {
  if (falls === 0) return "No level fell in this range.";
  const priced = falls - outcomes.unknown;
  const halves = [
    ...(freed === null ? [] : [`freed ${loadPercent(freed)} of the level or more`]),
    ...(lasted === null ? [] : [`lasted ${turns(lasted)} or more`]),
  ];
  const half = halves.length === 0 ? "" : ` Half of them ${halves.join(", and half ")}.`;
  const paid =
    priced === 0
      ? " None has a list price."
      : ` ${exact(outcomes.paid_back)} of ${exact(priced)} with a list price have paid back: ${money(cost_usd)} spent, ${money(saved_usd)} saved so far.`;
  return `${plural(falls, "fall")}.${half}${paid}`;
}

/** What was fetched again after falls, as a sentence. */
export function workText({
  falls,
  sessions,
  before,
  after,
  usual_change: usual,
  low,
  high,
  verdict,
}: ChangeAtFallsView): string {
  const rates = `In the 20 calls after ${plural(falls, "fall")}, ${rateText(after)} repeat an earlier call exactly, and ${rateText(before)} in the 20 before.`;
  const where =
    usual === 0
      ? ""
      : ` Where nothing falls, the share changes by ${differenceOf(usual)} points from one 20 to the next.`;
  const certain =
    verdict === "rises"
      ? ` So falls cost ${differenceText({ low, high })} points of repeated work (${plural(sessions, "session")}).`
      : verdict === "few_sessions"
        ? ` With ${plural(sessions, "session")}, that is not certain: a comparison needs 30.`
        : ` It is not certain that falls cost repeated work (${plural(sessions, "session")}).`;
  return rates + where + certain;
}

/** The cells of a row of sums, in the order of `SUMS_HEAD`. */
export function sumsCells({
  falls,
  freed,
  lasted_turns,
  refilled,
  refill_turns,
  outcomes,
  cost_usd,
  saved_usd,
}: FallSums): string[] {
  const priced = falls - outcomes.unknown;
  return [
    exact(falls),
    freed === null ? NONE : loadPercent(freed),
    lasted_turns === null ? NONE : turns(lasted_turns),
    refill_turns === null ? "never" : `${turns(refill_turns)} (${loadPercent(refilled / falls)})`,
    priced === 0 ? NONE : `${exact(outcomes.paid_back)} of ${exact(priced)}`,
    priced === 0 ? NONE : money(cost_usd),
    priced === 0 ? NONE : money(saved_usd),
  ];
}

export const SUMS_HEAD = [
  "Falls",
  "Freed",
  "Lasted",
  "Full again after",
  "Paid back",
  "Cost",
  "Saved",
] as const;

/** A row of the comparison of compactions with rules put back and without, in the order of `REINJECTION_HEAD`. */
export function reinjectionCells(change: ChangeAtFallsView | null): string[] {
  if (change === null) return ["0", ...Array<string>(REINJECTION_HEAD.length - 1).fill(NONE)];
  const { falls, sessions, before, after } = change;
  return [exact(falls), exact(sessions), rateText(before), rateText(after), differenceText(change)];
}

export const REINJECTION_HEAD = [
  "Compactions",
  "Sessions",
  "20 calls before",
  "20 after",
  "Change, points",
] as const;
