import type { Desk } from "./acts.ts";
import { type Facts, howToCompact, lineOfAction } from "./decide.ts";
import { inContext } from "./measure/calibrate.ts";
import { restartMarker } from "./texts.ts";

/**
 * What the next decision rests on: what each response would save. Only what can matter at this level is looked at.
 * Tokens; `compacting` while a summary was just asked for.
 */
export function factsOf<M>(
  { editor, state, policy, limits, keep }: Desk<M>,
  level: number,
  windowTokens: number | undefined,
  compacting: boolean,
): Facts {
  const { restarts, windDownAt, allTurns, calibration, compactAfter } = state;
  const lines = lineOfAction(limits);
  const over = (line: number | undefined) => line !== undefined && level >= line;
  const full = over(windowTokens);
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
    return inContext(calibration, editor.carryover(state, marker, limits, policy.restart, keep).gain);
  };
  const { compact } = policy;
  const mayCompact = !compacting && compact !== null && over(lines.compact) && level >= compactAfter;
  return {
    level,
    windowTokens,
    limits,
    maskGain: over(lines.mask) ? maskGain(false) : 0,
    urgentGain: full ? maskGain(true) : 0,
    compactGain: mayCompact
      ? editor.compactGain(state, lines.compact ?? 0, {
          ...compact,
          how: howToCompact(state, compact, policy),
        })
      : 0,
    restartGain: restartGain(),
    windDownTurns: windDownAt === undefined ? undefined : allTurns - windDownAt,
    restarts,
  };
}
