import { type Facts, howToCompact, lineOfAction } from "../decide/decide.ts";
import { inContext, uncertainty } from "../measure/calibrate.ts";
import { type ActionInput, CUT, expectedTokens } from "./actions.ts";
import { restartMarker } from "./texts.ts";

/** Number of turns since the last action. A harness that does not report its turns cannot be paced by them. */
export function turnsSince(actedAt: number | undefined, allTurns: number): number | undefined {
  return actedAt === undefined || allTurns === 0 ? undefined : allTurns - actedAt;
}

/** Whether the prompt fits into the room, with what its prediction may be off. Tokens. */
export function fits<M>(input: ActionInput<M>, roomTokens: number | undefined): boolean {
  const { editor, state } = input;
  const off = uncertainty(state.calibration, editor.estimate(state), state.lowered);
  return roomTokens === undefined || expectedTokens(input) + off < roomTokens;
}

/**
 * Collects the input of the next decision, in tokens. Skips gains that cannot matter at this level, because they cost
 * time. `compacting` is true while a summary request is open. `actedAt` is that of the state before this prompt: several
 * responses to one prompt are one change of it.
 */
export function factsOf<M>(
  { editor, state, policy, limits, archive }: ActionInput<M>,
  level: number,
  roomTokens: number | undefined,
  compacting: boolean,
  actedAt: number | undefined,
): Facts {
  const { restarts, windDownAt, allTurns, calibration, compactAfter, weakActions, growth } = state;
  const lines = lineOfAction(limits);
  const over = (line: number | undefined) => line !== undefined && level >= line;
  const off = uncertainty(calibration, editor.estimate(state), state.lowered);
  const full = roomTokens !== undefined && level + off >= roomTokens;
  const maskGain = (urgent: boolean) => {
    const found = editor.candidates(state, policy.mask, urgent);
    return inContext(
      calibration,
      found.reduce((sum, candidate) => sum + candidate.saves, 0),
    );
  };
  const restartGain = () => {
    if (policy.restart === null || (!full && windDownAt === undefined)) return 0;
    const marker = restartMarker(state.session + 1, state.turns);
    return inContext(calibration, editor.carryover(state, marker, limits, policy, archive).gain);
  };
  const { compact } = policy;
  const mayCompact = !compacting && compact !== null && over(lines.compact) && level >= compactAfter;
  const masks = policy.mask !== null && lines.mask !== undefined;
  const mayShorten = full && (masks || policy.overflow === "cut");
  const unread = mayShorten ? editor.unread(policy) : { tokens: 0, least: 0 };
  return {
    level,
    uncertainty: off,
    roomTokens,
    limits,
    unread: { tokens: inContext(calibration, unread.tokens), least: inContext(calibration, unread.least) },
    maskGain: over(lines.mask) ? maskGain(false) : 0,
    urgentGain: full ? maskGain(true) : 0,
    compactGain: mayCompact
      ? editor.compactGain(
          state,
          lines.compact ?? 0,
          { ...compact, how: howToCompact(state, compact, policy) },
          policy,
          archive,
        )
      : 0,
    restartGain: restartGain(),
    cutGain:
      full && policy.overflow === "cut"
        ? editor.compactGain(state, roomTokens ?? 0, CUT, { ...policy, compact: CUT }, archive)
        : 0,
    windDownTurns: windDownAt === undefined ? undefined : allTurns - windDownAt,
    restarts,
    turnsSinceAction: turnsSince(actedAt, allTurns),
    weakActions,
    growth,
  };
}
