import { afterRestart, afterWindDown, withNotice, withoutNoticesBefore } from "./changes.ts";
import { type Limits, lineOfAction, type RestartReason, restartsSpent } from "./decide.ts";
import type { EventBody } from "./events.ts";
import { predict } from "./measure/calibrate.ts";
import { type CompactPolicy, DEFAULT_POLICY, type GuardPolicy } from "./policy.ts";
import type { GuardState } from "./state.ts";
import {
  COMPACTING_NOTICE,
  handoffHead,
  maskedNotice,
  restartMarker,
  summaryHead,
  windDownNotice,
} from "./texts.ts";
import type { Action } from "./types.ts";
import type { Editor, Keep } from "./view/editor.ts";
import type { ResultPart } from "./view/history.ts";

/** One response carried out: the state after it, the one event that reports it, and what the harness is told. */
export interface Act<A> {
  state: GuardState;
  event: EventBody;
  action: A;
}

/** What a response works on. The state is never changed; the editor is told of new masks. */
export interface Desk<M> {
  editor: Editor<M>;
  state: GuardState;
  policy: GuardPolicy;
  limits: Limits;
  keep: Keep;
}

type ActionOf<M, T extends Action<M>["type"]> = Extract<Action<M>, { type: T }>;

/** Context tokens the view would be counted as. */
export function expectedTokens<M>({ editor, state }: Pick<Desk<M>, "editor" | "state">): number {
  return predict(state.calibration, editor.estimate(state)).tokens;
}

export interface Masking {
  /** Tokens before, and to come down to. */
  level: number;
  target: number;
  urgent: boolean;
  placeholder: (part: ResultPart) => string;
}

/** Masks the oldest results; undefined when nothing could be masked. */
export function mask<M>(desk: Desk<M>, masking: Masking): Act<ActionOf<M, "mask">> | undefined {
  const { editor, policy, keep } = desk;
  const { level, target, urgent, placeholder } = masking;
  const found = editor.candidates(desk.state, policy.mask, urgent);
  const masked = editor.mask(found, (level - target) / desk.state.calibration.slope, placeholder, keep);
  if (masked.length === 0) return undefined;
  const masks = [...desk.state.masks, ...masked.map((one) => one.mask)];
  editor.setMasks(masks);
  let state = { ...desk.state, masks, lowered: true, maskings: desk.state.maskings + 1 };
  const share = level === 0 ? 0 : (level - expectedTokens({ editor, state })) / level;
  state = withNotice(state, editor.noticeHere("masked", maskedNotice(masked.length, share)));
  const after = expectedTokens({ editor, state });
  const tools = [...new Set(masked.map(({ part }) => part.tool))];
  const observations = masked.length;
  return {
    state: { ...state, reclaimed: { estimated: level - after, measured: undefined } },
    event: {
      type: "masked",
      observations,
      total_masked: masks.length,
      tokens_before: level,
      tokens_after: after,
      tools,
    },
    action: { type: "mask", observations, tools, tokensBefore: level, tokensAfter: after },
  };
}

/** Asks for a summary of all but the newest turns; `line` in tokens. */
export function askForSummary<M>(
  { editor, state, policy }: Desk<M>,
  how: CompactPolicy["how"],
  line: number,
): ActionOf<M, "compact" | "fresh_session"> {
  const messages = editor.toSummarise(state, editor.keepFrom(state, line, how, policy));
  return { type: how, messages, maxChars: Math.max(400, Math.round(line * 0.4)), say: COMPACTING_NOTICE };
}

/** Puts a summary in the place of what it summarises; `no_gain` when it saves too little. */
export function compact<M>(
  desk: Desk<M>,
  summary: string,
  how: CompactPolicy["how"],
): Act<"done"> | { state: GuardState; action: "no_gain" } {
  const { editor, policy, limits } = desk;
  const line = lineOfAction(limits).compact ?? desk.state.level ?? 0;
  const before = expectedTokens(desk);
  const at = editor.keepFrom(desk.state, line, how, policy);
  const turns = editor.turnsBefore(at);
  const head = how === "compact" ? summaryHead(summary, turns) : handoffHead(summary);
  const cut: GuardState = { ...desk.state, cut: { at, head, turns } };
  const after = expectedTokens({ editor, state: cut });
  if (before - after < (policy.compact?.minGain ?? 0) * line) {
    const compactAfter = Math.round(before * 1.1);
    return { state: { ...desk.state, compactAfter, compactAsked: undefined }, action: "no_gain" };
  }
  const changed = { ...cut, compactAsked: undefined, lowered: true, compactAfter: 0 };
  if (how === "fresh_session") {
    // What was said of the old session, a restart to come above all, is not true of the new one.
    const fresh = withoutNoticesBefore(changed, Number.POSITIVE_INFINITY);
    return { ...begin(fresh, "ceiling", editor.turnsFrom(at)), action: "done" };
  }
  const state = withoutNoticesBefore(changed, at);
  return {
    state: { ...state, compactions: state.compactions + 1 },
    event: { type: "compacted", trigger: "proactive", tokens_before: before, tokens_after: after },
    action: "done",
  };
}

/** Tells the agent that a restart follows. */
export function windDown<M>(
  { editor, state, policy, limits }: Desk<M>,
  level: number,
  windowTokens: number | undefined,
  turnsLeft: number,
): Act<ActionOf<M, "wind_down">> {
  const text = windDownNotice({
    contextTokens: level,
    windowTokens,
    hardTokens: limits.hard ?? 0,
    graceTurns: turnsLeft,
    next: restartsSpent(state, policy) ? "none" : policy.restart?.how === "ask" ? "ask" : "restart",
  });
  return {
    state: afterWindDown(withNotice(state, editor.noticeHere("wind_down", text))),
    event: { type: "wind_down", context_tokens: level, turns_left: turnsLeft },
    action: { type: "wind_down", text, turnsLeft },
  };
}

/** Begins the next session with the newest turns, and so much of the open question, as fit below the soft line. */
export function restart<M>(
  { editor, state, policy, limits, keep }: Desk<M>,
  reason: RestartReason | "ceiling",
): Act<ActionOf<M, "restart">> {
  const previousTurns = state.turns;
  const head = restartMarker(state.session + 1, previousTurns);
  const how = policy.restart ?? DEFAULT_POLICY.restart!;
  const { at, masks: shortened } = editor.carryover(state, head, limits, how, keep);
  const masks = [...state.masks, ...shortened];
  editor.setMasks(masks);
  const carriedTurns = editor.turnsFrom(at);
  const cut = { ...state, masks, cut: { at, head, turns: editor.turnsBefore(at) }, lowered: true };
  const begun = begin(withoutNoticesBefore(cut, Number.POSITIVE_INFINITY), reason, carriedTurns);
  const session = begun.state.session;
  return { ...begun, action: { type: "restart", reason, session, previousTurns, carriedTurns } };
}

function begin(state: GuardState, reason: string, carriedTurns: number): Omit<Act<never>, "action"> {
  return {
    state: afterRestart(state),
    event: {
      type: "restarted",
      number: state.session + 1,
      previous_turns: state.turns,
      carryover_turns: carriedTurns,
      reason,
    },
  };
}
