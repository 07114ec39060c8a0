import type { AlertEndReason } from "./notification.ts";

/** `no_data`: it fired, and nothing is heard of its subject any more. */
export const ALERT_PHASES = ["inactive", "pending", "firing", "no_data", "resolved"] as const;
export type AlertPhase = (typeof ALERT_PHASES)[number];

/** Why an alert changed its phase. */
export const ALERT_STEP_REASONS = [
  /** The condition holds, and the rule waits. */
  "met",
  /** The condition has held for the rule's `for`. */
  "held",
  /** The condition ended before the alert fired. */
  "not_held",
  /** Nothing is heard of the subject. */
  "silent",
  /** The subject is heard again. */
  "heard_again",
  /** The condition ended, `keep_firing_for` is over, or the subject is gone: see the end reason. */
  "ended",
] as const;
export type AlertStepReason = (typeof ALERT_STEP_REASONS)[number];

/** The state of one rule for one subject. Times in epoch ms, by the database's clock unless stated otherwise. */
export interface AlertState {
  phase: AlertPhase;
  /** When the condition became true, by event time. */
  startedAt: number | undefined;
  /** Since when the condition holds, as the server saw it. */
  pendingAt: number | undefined;
  firedAt: number | undefined;
  /** Since when the condition of a firing alert does not hold. */
  clearAt: number | undefined;
  resolvedAt: number | undefined;
  endReason: AlertEndReason | undefined;
}

export const INACTIVE_ALERT: AlertState = {
  phase: "inactive",
  startedAt: undefined,
  pendingAt: undefined,
  firedAt: undefined,
  clearAt: undefined,
  resolvedAt: undefined,
  endReason: undefined,
};

/**
 * What is seen of a subject. `met` and `clear`: whether the condition holds. `silent`: nothing is heard of the subject, which says
 * nothing of the condition. `over`: the subject or the rule is gone.
 */
export type AlertSighting =
  | { verdict: "met" /** Event time, epoch ms. */; at: number }
  | { verdict: "clear"; reason: AlertEndReason }
  | { verdict: "silent" }
  | { verdict: "over"; reason: AlertEndReason };

/** Milliseconds. */
export interface AlertTiming {
  forMs: number;
  keepFiringMs: number;
}

export interface AlertStep {
  state: AlertState;
  /** Undefined if the phase is the same as before. */
  reason: AlertStepReason | undefined;
}

/**
 * The next state of an alert.
 * @param now epoch ms; may go back, which delays a step and never repeats one
 */
export function stepAlert(
  state: AlertState,
  sighting: AlertSighting,
  now: number,
  timing: AlertTiming,
): AlertStep {
  switch (state.phase) {
    case "inactive":
    case "resolved":
      return sighting.verdict === "met" ? begin(sighting.at, now, timing) : same(state);
    case "pending":
      return stepPending(state, sighting, now, timing);
    case "firing":
    case "no_data":
      return stepFiring(state, sighting, now, timing);
  }
}

/** Whether an alert fires, with or without data. */
export const isFiring = ({ phase }: Pick<AlertState, "phase">): boolean =>
  phase === "firing" || phase === "no_data";

/** When time alone changes the state at the latest sighting; undefined if it never does. Epoch ms. */
export function nextStepAt(state: AlertState, { forMs, keepFiringMs }: AlertTiming): number | undefined {
  if (state.phase === "pending") return state.pendingAt! + forMs;
  return state.clearAt === undefined ? undefined : state.clearAt + keepFiringMs;
}

const same = (state: AlertState): AlertStep => ({ state, reason: undefined });

function begin(at: number, now: number, { forMs }: AlertTiming): AlertStep {
  const pending: AlertState = { ...INACTIVE_ALERT, phase: "pending", startedAt: at, pendingAt: now };
  return forMs === 0 ? fire(pending, now) : { state: pending, reason: "met" };
}

const fire = (state: AlertState, now: number): AlertStep => ({
  state: { ...state, phase: "firing", firedAt: now },
  reason: "held",
});

function stepPending(
  state: AlertState,
  sighting: AlertSighting,
  now: number,
  { forMs }: AlertTiming,
): AlertStep {
  // A pending alert holds no longer than its subject is heard, and ends only with what is heard.
  if (sighting.verdict === "silent") return same(state);
  if (sighting.verdict !== "met") return { state: INACTIVE_ALERT, reason: "not_held" };
  // The clock may have been set back.
  const pendingAt = Math.min(state.pendingAt!, now);
  if (now - pendingAt >= forMs) return fire({ ...state, pendingAt }, now);
  return same({ ...state, pendingAt });
}

function stepFiring(
  state: AlertState,
  sighting: AlertSighting,
  now: number,
  { keepFiringMs }: AlertTiming,
): AlertStep {
  switch (sighting.verdict) {
    case "silent":
      return state.phase === "no_data"
        ? same(state)
        : { state: { ...state, phase: "no_data" }, reason: "silent" };
    case "over":
      return end(state, sighting.reason, now);
    case "met":
      return heard({ ...state, clearAt: undefined });
    case "clear": {
      const clearAt = Math.min(state.clearAt ?? now, now);
      if (now - clearAt >= keepFiringMs) return end(state, sighting.reason, now);
      return heard({ ...state, clearAt });
    }
  }
}

const heard = (state: AlertState): AlertStep =>
  state.phase === "no_data" ? { state: { ...state, phase: "firing" }, reason: "heard_again" } : same(state);

function end(state: AlertState, endReason: AlertEndReason, now: number): AlertStep {
  return {
    state: { ...state, phase: "resolved", clearAt: undefined, resolvedAt: now, endReason },
    reason: "ended",
  };
}
