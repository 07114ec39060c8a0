import type { CallProof } from "@plimsoll/harnesses/callers";

/**
 * What ties a call to a session. `argument`: a person named the session. `session`: the call names it. `call`: its recording has the
 * id of the call. `mark`: its recording has the mark of the answer before.
 */
export const BINDINGS = ["argument", "session", "call", "mark"] as const;
export type Binding = (typeof BINDINGS)[number];

/** Why a call is not answered. */
export const REFUSALS = [
  /** Nothing ties the call to a session yet. The answer has a mark, so the next call can be. */
  "call_again",
  /** The session has no recording on this machine, or the harness has not written the call into it. */
  "not_recorded",
  /** The harness counts a call when its tools have run, and this is the first one. */
  "not_counted",
  /** Several recordings have the call or the mark. */
  "several_sessions",
  /** The call is from another session than the one that the server was started for. */
  "other_session",
] as const;
export type CallRefusal = (typeof REFUSALS)[number];

/** What is known of a call. */
export interface Evidence {
  /** The session that a person named. */
  argument: string | undefined;
  proof: CallProof | undefined;
  /** Recordings that prove the session, the id of the call, or else the mark. */
  found: readonly string[];
  /** The recording that was written last, which is that of the call: a harness writes a call before it makes it. */
  writtenLast: string | undefined;
}

/**
 * Decides which recording a call is from. Never the newest one, unless that has the mark of the answer before: after /clear the mark is in
 * a recording that is no longer written.
 */
export function bindCaller(
  evidence: Evidence,
): { recording: string; by: Binding } | { refused: CallRefusal } {
  const { argument, proof, found, writtenLast } = evidence;
  const by = argument !== undefined ? "argument" : (proof?.kind ?? "mark");
  if (argument !== undefined && proof?.kind === "session" && proof.id !== argument)
    return { refused: "other_session" };
  const [recording, ...others] = found;
  if (recording === undefined) return { refused: by === "mark" ? "call_again" : "not_recorded" };
  if (others.length > 0) return { refused: "several_sessions" };
  if (by === "mark" && recording !== writtenLast) return { refused: "call_again" };
  return { recording, by };
}
