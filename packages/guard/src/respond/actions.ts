import type { Action } from "../conversation/types.ts";
import { type Limits, lineOfAction, type RestartReason, restartsSpent } from "../decide/decide.ts";
import { predict } from "../measure/calibrate.ts";
import { type CompactPolicy, DEFAULT_POLICY, type GuardPolicy } from "../policy/policy.ts";
import type { EventBody } from "../report/events.ts";
import type { GuardState, Mask } from "../state/state.ts";
import { afterRestart, afterWindDown, withNotice, withoutNoticesBefore } from "../state/state-changes.ts";
import { wordsLine } from "../view/cut-points.ts";
import type { Archive, Editor } from "../view/editor.ts";
import type { ResultPart } from "../view/history.ts";
import {
  type AfterWindDown,
  COMPACTING_NOTICE,
  handoffHead,
  maskedNotice,
  restartMarker,
  summaryHead,
  verbatimPart,
  windDownNotice,
} from "./texts.ts";

/** The result of carrying out one response: the new state, the event to report, and the action to return. */
export interface ActionResult<A> {
  state: GuardState;
  event: EventBody;
  action: A;
}

/** Input of a response. The state is never changed in place; the editor receives the new masks. */
export interface ActionInput<M> {
  editor: Editor<M>;
  state: GuardState;
  policy: GuardPolicy;
  limits: Limits;
  archive: Archive;
}

type ActionOf<M, T extends Action<M>["type"]> = Extract<Action<M>, { type: T }>;

/** Expected context tokens of the view. */
export function expectedTokens<M>({ editor, state }: Pick<ActionInput<M>, "editor" | "state">): number {
  return predict(state.calibration, editor.estimate(state)).tokens;
}

/** The state after the guard lowered the level. */
function acted(state: GuardState): GuardState {
  return { ...state, lowered: true, actedAt: state.allTurns };
}

export interface Masking {
  /** Current level and the level to reach, in tokens. */
  level: number;
  target: number;
  urgent: boolean;
  placeholder: (part: ResultPart, key: string | undefined) => string;
  /** Masks only these. Default: every result that the policy allows. */
  only?: (part: ResultPart) => boolean;
}

/** Masks the oldest results. Returns `undefined` if nothing could be masked. */
export function mask<M>(
  input: ActionInput<M>,
  masking: Masking,
): ActionResult<ActionOf<M, "mask">> | undefined {
  const { editor, policy, archive } = input;
  const { level, target, urgent, placeholder, only = () => true } = masking;
  const found = editor.candidates(input.state, policy.mask, urgent).filter(({ part }) => only(part));
  const masked = editor.mask(found, (level - target) / input.state.calibration.slope, placeholder, archive);
  if (masked.length === 0) return undefined;
  const masks = withMasks(input.state, masked);
  editor.setMasks(masks);
  let state = { ...acted(input.state), masks, maskings: input.state.maskings + 1 };
  const share = level === 0 ? 0 : (level - expectedTokens({ editor, state })) / level;
  const words = (withCounts: boolean) => maskedNotice(masked.length, share, withCounts);
  state = withNotice(state, editor.noticeHere("masked", words));
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

/** The masks of a state with others, which replace those of the same texts. */
function withMasks(state: GuardState, masked: readonly { mask: Mask }[]): Mask[] {
  const marks = new Set(masked.map(({ mask }) => mask.mark));
  return [...state.masks.filter(({ mark }) => !marks.has(mark)), ...masked.map(({ mask }) => mask)];
}

/**
 * Shortens the results that the agent has not read yet to `budget` tokens together. Start and end stay. Returns `undefined` if
 * nothing could be shortened.
 */
export function shorten<M>(
  input: ActionInput<M>,
  level: number,
  budget: number,
): ActionResult<ActionOf<M, "mask">> | undefined {
  const { editor, state: before, policy, archive } = input;
  const shortened = editor.shorten(policy, budget / before.calibration.slope, archive);
  if (shortened.length === 0) return undefined;
  const masks = withMasks(before, shortened);
  editor.setMasks(masks);
  // Not paced: a prompt that does not fit cannot wait, and the next action need not wait for it.
  const state = { ...before, masks, lowered: true, maskings: before.maskings + 1 };
  const tokensAfter = expectedTokens({ editor, state });
  const tools = [...new Set(shortened.map(({ part }) => part.tool))];
  const observations = shortened.length;
  return {
    state,
    event: {
      type: "masked",
      observations,
      total_masked: masks.length,
      tokens_before: level,
      tokens_after: tokensAfter,
      tools,
    },
    action: { type: "mask", observations, tools, tokensBefore: level, tokensAfter },
  };
}

/** Requests a summary of everything before the newest turns. `line` is in tokens. */
export function askForSummary<M>(
  { editor, state, policy }: ActionInput<M>,
  how: CompactPolicy["how"],
  line: number,
): ActionOf<M, "compact" | "fresh_session"> {
  const messages = editor.toSummarise(state, editor.keepFrom(state, line, how, policy));
  return { type: how, messages, maxChars: Math.max(400, Math.round(line * 0.4)), say: COMPACTING_NOTICE };
}

/**
 * Replaces older turns with their summary. Returns `no_gain` if the summary saves too little.
 * @param covered index of the first canonical message that the summary does not cover
 */
export function compact<M>(
  input: ActionInput<M>,
  summary: string,
  how: CompactPolicy["how"],
  covered?: number,
): ActionResult<"done"> | { state: GuardState; action: "no_gain" } {
  const { editor, policy, limits, archive } = input;
  const line = lineOfAction(limits).compact ?? input.state.level ?? 0;
  const before = expectedTokens(input);
  const at = covered ?? editor.keepFrom(input.state, line, how, policy);
  const turns = editor.turnsBefore(at);
  const { kept: said, left } = editor.userWords(input.state, at, line, policy);
  const filed = editor.file(input.state, at, archive);
  const list = editor.listed(input.state, filed, line);
  const verbatim = verbatimPart(said, left, input.state.facts ?? []) + list;
  const head = how === "compact" ? summaryHead(summary, turns, verbatim) : handoffHead(summary, verbatim);
  const cut: GuardState = {
    ...input.state,
    ...(filed && { filed }),
    cut: { at, head, turns, summary, said },
  };
  const after = expectedTokens({ editor, state: cut });
  if (before - after < (policy.compact?.minGain ?? 0) * line) {
    const compactAfter = Math.round(before * 1.1);
    const weakActions = input.state.weakActions + 1;
    return {
      state: { ...input.state, compactAfter, weakActions, compactAsked: undefined },
      action: "no_gain",
    };
  }
  const changed = { ...acted(cut), compactAsked: undefined, compactAfter: 0, weakActions: 0 };
  if (how === "fresh_session") {
    // Notices about the old session, such as an announced restart, do not apply to the new one.
    const fresh = withoutNoticesBefore(changed, Number.POSITIVE_INFINITY);
    return { ...startSession(fresh, "ceiling", editor.turnsFrom(at)), action: "done" };
  }
  const state = withoutNoticesBefore(changed, at);
  return {
    state: { ...state, compactions: state.compactions + 1 },
    event: { type: "compacted", trigger: "proactive", tokens_before: before, tokens_after: after },
    action: "done",
  };
}

/** What stays when the oldest turns are cut, because a prompt does not fit. */
export const CUT: CompactPolicy = { ...DEFAULT_POLICY.compact!, keepTurns: 1, minGain: 0 };
/** Length of the model-free summary that replaces the cut turns, in characters. The least is for a prompt that does not fit otherwise. */
export const CUT_CHARS = { most: 2_000, least: 400 } as const;

/** Replaces all but the newest turn with a short model-free summary. Returns `undefined` if that saves nothing. */
export function cut<M>(
  input: ActionInput<M>,
  windowTokens: number,
  maxChars: number,
): ActionResult<ActionOf<M, "cut">> | undefined {
  const { editor, state } = input;
  const policy = { ...input.policy, compact: CUT };
  const tokensBefore = expectedTokens(input);
  const summary = editor.digest(state, editor.keepFrom(state, windowTokens, "compact", policy), maxChars);
  const result = compact({ ...input, policy, limits: { ceiling: windowTokens } }, summary, "compact");
  if (!("event" in result)) return undefined;
  const tokensAfter = expectedTokens({ editor, state: result.state });
  return { ...result, action: { type: "cut", tokensBefore, tokensAfter } };
}

/** What follows a wind-down under a policy. */
export function nextOf(state: { restarts: number }, policy: GuardPolicy): AfterWindDown {
  if (restartsSpent(state, policy)) return "none";
  return policy.restart?.how === "ask" ? "ask" : "restart";
}

/** Adds the notice that announces a restart to the agent. */
export function windDown<M>(
  { editor, state, policy, limits }: ActionInput<M>,
  level: number,
  windowTokens: number | undefined,
  turnsLeft: number,
): ActionResult<ActionOf<M, "wind_down">> {
  const words = (withCounts: boolean) =>
    windDownNotice({
      contextTokens: level,
      windowTokens,
      hardTokens: limits.hard ?? 0,
      graceTurns: turnsLeft,
      next: nextOf(state, policy),
      withCounts,
      notesFile: editor.notices.file,
    });
  return {
    state: afterWindDown(withNotice(state, editor.noticeHere("wind_down", words))),
    event: { type: "wind_down", context_tokens: level, turns_left: turnsLeft },
    action: { type: "wind_down", text: words(editor.withCounts(state)), turnsLeft },
  };
}

/**
 * Starts the next session with the newest turns that fit below the soft line. An open question that is too long is
 * shortened.
 */
export function restart<M>(
  { editor, state, policy, limits, archive }: ActionInput<M>,
  reason: RestartReason | "ceiling",
): ActionResult<ActionOf<M, "restart">> {
  const previousTurns = state.turns;
  const marker = restartMarker(state.session + 1, previousTurns);
  const { at, masks: shortened } = editor.carryover(state, marker, limits, policy, archive);
  const { kept: said, left } = editor.userWords(state, at, wordsLine(limits), policy);
  const filed = editor.file(state, at, archive);
  const list = editor.listed(state, filed, wordsLine(limits));
  const head = marker + verbatimPart(said, left, state.facts ?? []) + list;
  const masks = [...state.masks, ...shortened];
  editor.setMasks(masks);
  const carriedTurns = editor.turnsFrom(at);
  const cut = {
    ...acted(state),
    masks,
    ...(filed && { filed }),
    cut: { at, head, turns: editor.turnsBefore(at), said },
  };
  const begun = startSession(withoutNoticesBefore(cut, Number.POSITIVE_INFINITY), reason, carriedTurns);
  const session = begun.state.session;
  return { ...begun, action: { type: "restart", reason, session, previousTurns, carriedTurns } };
}

function startSession(
  state: GuardState,
  reason: string,
  carriedTurns: number,
): Omit<ActionResult<never>, "action"> {
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
