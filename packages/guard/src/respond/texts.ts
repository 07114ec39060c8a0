import type { NamedSize } from "../measure/besides.ts";
import type { Fact } from "../state/state.ts";
import type { HistoryChange } from "../view/alignment.ts";

/** Texts that the guard adds to a conversation or shows to the user. */

/** Shown to the user when a long conversation is compacted. The wording comes from the Phantom design. */
export const COMPACTING_NOTICE = "This thread is getting long, I'm compacting my context to stay sharp";

/** Whether notices to the agent say how full its context is. `by_model`: to the models that take that well. */
export type NoticeCounts = "by_model" | "always" | "never";

/** Where an agent keeps its notes, unless the harness names a file. */
export const NOTES_FILE = "workspace files";

/**
 * Models that are told by their vendor how much of their context is left, and that are not known to hurry because of it.
 * docs/guard.md has the sources.
 */
const TAKES_COUNTS = /claude-(?:sonnet-4[.-]6|sonnet-5|haiku-4[.-]5)(?!\d|[.-]\d{1,2}(?!\d))/i;

/** @param models those that may answer; of unknown ones it is not known how they take counts */
export function tellsCounts(counts: NoticeCounts, models: readonly (string | undefined)[]): boolean {
  if (counts !== "by_model") return counts === "always";
  return models.length > 0 && models.every((model) => model !== undefined && TAKES_COUNTS.test(model));
}

/** Tells the agent how many results a batch masked. `reclaimed` is a fraction of the context before the batch. */
export function maskedNotice(observations: number, reclaimed: number, withCounts: boolean): string {
  const masked = `${observations} observation${observations === 1 ? "" : "s"} masked`;
  const share = withCounts ? `, ${percent(reclaimed)} context reclaimed` : "";
  return `[Context compressed: ${masked}${share}]`;
}

/**
 * Tells the agent once that it is near the hard line, with or without counts. Models that read how little is left may hurry
 * and leave work undone.
 */
export function windDownNotice(facts: {
  contextTokens: number;
  windowTokens: number | undefined;
  hardTokens: number;
  /** Number of turns until the restart. */
  graceTurns: number;
  next: AfterWindDown;
  withCounts: boolean;
  /** Where the agent writes its notes. */
  notesFile: string;
}): string {
  const { contextTokens, windowTokens, notesFile } = facts;
  if (!facts.withCounts)
    return `[Finish what you are doing, write your notes to ${notesFile} (what is done, what remains, what you found)${WITHOUT_COUNTS[facts.next]}]`;
  const limit = windowTokens ?? facts.hardTokens;
  const left = Math.max(0, limit - contextTokens);
  const share = percent(contextTokens / limit);
  return (
    `[Context running low: ${share} of ${count(limit)} tokens used, about ${count(left)} left. ` +
    `Write whatever the next session must know to ${notesFile} now: what is done, what remains, what you found. ` +
    `Do not hurry or drop work to finish. ${whatFollows(facts.graceTurns, facts.next)}]`
  );
}

/** What follows a wind-down: a restart, a request for one, or nothing because the maximum is reached. */
export type AfterWindDown = "restart" | "ask" | "none";

/** An agent that will be restarted need not stop: a harness may take that for the end of its work. */
const WITHOUT_COUNTS: Readonly<Record<AfterWindDown, string>> = {
  restart: ", then go on. The session is restarted later, and work continues from those notes.",
  ask: ", then stop. The session waits to be restarted, and work continues from those notes.",
  none: ", then stop. A restart would be due, and none is left: what is not in those notes may be lost.",
};

function whatFollows(graceTurns: number, next: AfterWindDown): string {
  const when = `In ${graceTurns} turn${graceTurns === 1 ? "" : "s"}`;
  switch (next) {
    case "restart":
      return `${when} the session is restarted and work continues from those files.`;
    case "ask":
      return `${when} the session waits to be restarted and work continues from those files.`;
    case "none":
      return `${when} a restart would be due, and none is left: what is not in those files may be lost.`;
  }
}

/** First message of a restarted session. The wording comes from the Ouroboros design. */
export function restartMarker(session: number, previousTurns: number): string {
  return `[Session restarted. Session #${session}. Previous session ran ${previousTurns} turn${previousTurns === 1 ? "" : "s"}.]`;
}

/** Message that replaces summarised turns. */
export function summaryHead(summary: string, turns: number, verbatim = ""): string {
  return `[Earlier part of this conversation, ${turns} turn${turns === 1 ? "" : "s"}, summarised:]\n${summary}${verbatim}`;
}

/** First message of a fresh session that continues an earlier one. */
export function handoffHead(summary: string, verbatim = ""): string {
  return `[This conversation continues from an earlier session. What matters from it:]\n${summary}${verbatim}`;
}

/** What follows a summary word for word. `left`: messages of the user that are not among them. */
export function verbatimPart(said: readonly string[], left: number, facts: readonly Fact[]): string {
  const lines: string[] = [];
  if (facts.length > 0) {
    lines.push("[Facts:]", ...facts.map(({ name, text }) => `- ${name}: ${text}`));
  }
  if (said.length > 0) {
    lines.push("[What the user said in it, word for word:]");
    for (const text of said) lines.push(`- ${text}`);
    if (left > 0) lines.push(`[${left} longer message${left === 1 ? "" : "s"} left out]`);
  }
  return lines.length === 0 ? "" : `\n${lines.join("\n")}`;
}

/** Shown to the user when a prompt does not fit and is not sent. */
export const TOO_LONG =
  "The prompt does not fit into the context window, and nothing more can be left out; stopping.";

/** Shown to the user when a restart needs confirmation. */
export const RESTART_CONFIRMATION = "The session's context is full and automatic restart is off. Restart it?";

/** Shown to the user when a restart is due but the maximum is reached. */
export function maxRestartsReached(max: number): string {
  return `Maximum of ${max} restart${max === 1 ? "" : "s"} reached; stopping.`;
}

/** For the user of a guard whose thresholds need a window size that nobody gave. */
export function windowUnknown(model: string): string {
  return (
    `The window size of ${model} is unknown, so thresholds in percent do nothing. Pass window to createGuard: ` +
    `its size in tokens, such as 128_000, or the id of a model that the catalog has, such as "gpt-5.1".`
  );
}

/** For the user of a guard whose server reports counts that cannot be. Tokens. */
export function countDoubted(model: string, tokens: number, estimate: number): string {
  return (
    `The server of ${model} counted ${count(tokens)} tokens for a prompt of about ${count(estimate)}, more than once, and ` +
    `nothing says that it shortened the prompt. The guard keeps its estimate. Some servers count only tokens that are not in ` +
    `their cache; docs/guard.md lists them.`
  );
}

/** For the user of a guard whose tools and instructions alone do not fit. Tokens. */
export function toolsTooLarge(tokens: number, room: number, largest: readonly NamedSize[]): string {
  const names = largest.map((tool) => `${tool.name} (about ${count(tool.tokens)})`).join(", ");
  return (
    `The tools and instructions have about ${count(tokens)} tokens, and the window has room for ${count(room)}: no prompt ` +
    `fits. ${names === "" ? "" : `The largest tools are ${names}. `}Send fewer tools, or use a larger window.`
  );
}

/** For the user of a guard whose conversation goes on with a model that nobody gave a size for. */
export function windowAssumed(model: string, tokens: number): string {
  return (
    `The window size of ${model} is unknown, so the guard uses ${count(tokens)} tokens, the smallest size known in this ` +
    `conversation. Pass createGuard a function as window that returns the size of each model.`
  );
}

/** For the user of a guard that cannot write summaries. */
export const NO_SUMMARISER =
  "Summaries are off, because nothing can write them: older turns are masked, and at last dropped by a restart. Pass summarize " +
  'or summaryModel to fit or to the wrapped client, summarize: "without_model" for short summaries without a model, or set ' +
  "policy.compact to null.";

/** For the user of a guard that can free nothing more. */
export const EXHAUSTED =
  "Two summaries in a row saved too little: the system prompt, the facts and the newest turns fill the context by " +
  "themselves. The guard makes no further summary until one can save twice as much. Shorten these, or use a larger window.";

/** For the user of a guard whose `onEvent` threw. */
export function eventLost(error: unknown): string {
  return `onEvent threw, so events are lost: ${error instanceof Error ? error.message : String(error)}`;
}

/** Why a window ended without a response of the guard, for the event. */
export function historyChanged(change: HistoryChange): string {
  switch (change) {
    case "rewound":
      return "The harness took back messages that were summarised.";
    case "edited":
    case "trimmed":
      return "The harness changed messages that were summarised.";
    default:
      return "The harness began another history.";
  }
}

/** Formats `0.4` as `40%`. A small positive fraction reads `<1%`, never `0%`. */
export function percent(fraction: number): string {
  const whole = Math.round(fraction * 100);
  return whole === 0 && fraction > 0 ? "<1%" : `${whole}%`;
}

/** Formats a number with grouped digits, independent of the locale. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}
