/** Everything the guard says, to the agent or to the person it works for. */

/** To the person, when a long conversation is compacted (the words of the Phantom design). */
export const COMPACTING_NOTICE = "This thread is getting long, I'm compacting my context to stay sharp";

/** To the agent, once per batch. Percent of the context before it. */
export function maskedNotice(observations: number, reclaimed: number): string {
  return `[Context compressed: ${observations} observation${observations === 1 ? "" : "s"} masked, ${percent(reclaimed)} context reclaimed]`;
}

/**
 * To the agent, once per approach of the hard line. It states what is left and asks to write things down, not to
 * finish: agents told only that they are near a limit hurry and drop work.
 */
export function windDownNotice(facts: {
  contextTokens: number;
  windowTokens: number | undefined;
  hardTokens: number;
  /** Turns until then; undefined where it comes with the next prompt. */
  graceTurns: number | undefined;
  next: AfterWindDown;
}): string {
  const { contextTokens, windowTokens } = facts;
  const limit = windowTokens ?? facts.hardTokens;
  const left = Math.max(0, limit - contextTokens);
  const share = percent(contextTokens / limit);
  return (
    `[Context running low: ${share} of ${count(limit)} tokens used, about ${count(left)} left. ` +
    `Write whatever the next session must know to workspace files now: what is done, what remains, what you found. ` +
    `Do not hurry or drop work to finish. ${whatFollows(facts.graceTurns, facts.next)}]`
  );
}

/** What comes of a wind-down: a restart, the question for one, or none as the maximum is reached. */
export type AfterWindDown = "restart" | "ask" | "none";

function whatFollows(graceTurns: number | undefined, next: AfterWindDown): string {
  const when =
    graceTurns === undefined ? "With the next prompt" : `In ${graceTurns} turn${graceTurns === 1 ? "" : "s"}`;
  switch (next) {
    case "restart":
      return `${when} the session is restarted and work continues from those files.`;
    case "ask":
      return `${when} the session waits to be restarted and work continues from those files.`;
    case "none":
      return `${when} a restart would be due, and none is left: what is not in those files may be lost.`;
  }
}

/** First message of a restarted session (the words of the Ouroboros design). */
export function restartMarker(session: number, previousTurns: number): string {
  return `[Session restarted. Session #${session}. Previous session ran ${previousTurns} turn${previousTurns === 1 ? "" : "s"}.]`;
}

/** Stands where older turns were summarised. */
export function summaryHead(summary: string, turns: number): string {
  return `[Earlier part of this conversation, ${turns} turn${turns === 1 ? "" : "s"}, summarised:]\n${summary}`;
}

/** First message of a fresh session that continues an old one. */
export function handoffHead(summary: string): string {
  return `[This conversation continues from an earlier session. What matters from it:]\n${summary}`;
}

/** To a person, when restarts must be confirmed. */
export const RESTART_CONFIRMATION = "The session's context is full and automatic restart is off. Restart it?";

export function maxRestartsReached(max: number): string {
  return `Maximum of ${max} restart${max === 1 ? "" : "s"} reached; stopping.`;
}

/** `0.4` as `40%`. Small shares that are not nothing never read as 0%. */
export function percent(fraction: number): string {
  const whole = Math.round(fraction * 100);
  return whole === 0 && fraction > 0 ? "<1%" : `${whole}%`;
}

/** Grouped digits, the same on every machine. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}
