import type { Action } from "../conversation/types.ts";
import { decide, type GuardStatus, type RestartReason } from "../decide/decide.ts";
import type { EventBody } from "../report/events.ts";
import type { GuardState } from "../state/state.ts";
import { settleWindDown } from "../state/state-changes.ts";
import {
  type ActionInput,
  type ActionResult,
  askForSummary,
  CUT_CHARS,
  cut,
  expectedTokens,
  mask,
  restart,
  shorten,
  windDown,
} from "./actions.ts";
import type { ResponseFacts } from "./companion.ts";
import { factsOf, fits } from "./decision-facts.ts";
import { maxRestartsReached, RESTART_CONFIRMATION, TOO_LONG } from "./texts.ts";

type Withheld = Extract<EventBody, { type: "withheld" }>;

/** What was done before a prompt is sent. */
export interface Responses<M> {
  state: GuardState;
  /** With the window in which each happened. */
  events: { body: EventBody; window: number }[];
  actions: Action<M>[];
  status: GuardStatus;
}

/** Responses of one prompt. More would mean that they undo each other. */
const MOST_STEPS = 8;

interface DueFacts<M> extends Omit<ResponseFacts, "summaries"> {
  /** Carries out a summary that is there already. */
  prepared: (input: ActionInput<M>) => Omit<Responses<M>, "status"> | undefined;
}

/** Carries out the responses that are due, one after the other, until the level rests. */
export function respond<M>(
  input: ActionInput<M>,
  { windowTokens, roomTokens, placeholder, prepared }: DueFacts<M>,
): Responses<M> {
  const { policy, limits } = input;
  let { state } = input;
  const events: Responses<M>["events"] = [];
  const actions: Action<M>[] = [];
  const now = (): ActionInput<M> => ({ ...input, state });
  const withhold = (response: Withheld["response"], reason: Withheld["reason"]) => {
    const context_tokens = expectedTokens(now());
    events.push({ body: { type: "withheld", response, reason, context_tokens }, window: state.window });
  };
  const apply = <A>(result: ActionResult<A>): A => {
    events.push({ body: result.event, window: state.window });
    state = result.state;
    return result.action;
  };
  /** Another response replaces an unanswered summary request. */
  const withdrawSummaryRequest = () => {
    if (state.compactAsked !== undefined) withhold("compact", "no_summary");
  };
  const restartNow = (reason: RestartReason) => {
    withdrawSummaryRequest();
    actions.push(apply(restart(now(), reason)));
  };

  let status: GuardStatus = "clear";
  let pointless = false;
  let compacting = false;
  let request: Action<M> | undefined;
  let place = 0;
  let cuts: "open" | "last_resort" | "done" = "open";
  for (let step = 0; step < MOST_STEPS; step++) {
    const level = expectedTokens(now());
    state = settleWindDown(state, limits, level);
    const facts = factsOf(now(), level, roomTokens, compacting, input.state.actedAt);
    const decision = decide(cuts === "open" ? facts : { ...facts, cutGain: 0 }, policy);
    if (decision.type === "rest") {
      status = decision.status;
      pointless = decision.withheld !== undefined;
      // Reported once; otherwise every prompt would report it again.
      if (pointless && !state.restartPointless) withhold("restart", "no_gain");
      break;
    }
    if (decision.type === "shorten") {
      const result = shorten(now(), level, decision.budget);
      if (result === undefined) {
        // The store failed: what cannot be stored is not shortened.
        actions.push({ type: "stop", reason: "too_long", say: TOO_LONG });
        status = "exhausted";
        break;
      }
      actions.push(apply(result));
      continue;
    }
    if (decision.type === "mask") {
      const { target, urgent } = decision;
      const result = mask(now(), { level, target, urgent, placeholder });
      if (result === undefined) {
        status = "exhausted";
        break;
      }
      actions.push(apply(result));
      continue;
    }
    if (decision.type === "compact" || decision.type === "fresh_session") {
      const asked = state.compactAsked;
      const ready = asked === undefined ? prepared(now()) : undefined;
      if (ready !== undefined) {
        ({ state } = ready);
        events.push(...ready.events);
        actions.push(...ready.actions);
        continue;
      }
      request = askForSummary(now(), decision.type, decision.line);
      place = actions.length;
      // The harness ignored a summary request from an earlier turn, so later responses must not wait for it.
      if (asked === undefined || asked === state.allTurns) break;
      compacting = true;
      continue;
    }
    if (decision.type === "wind_down") {
      actions.push(apply(windDown(now(), level, windowTokens, decision.turnsLeft)));
      status = "winding_down";
      break;
    }
    const isTooLong = decision.type === "stop" && decision.reason === "too_long";
    if (decision.type === "cut" || (isTooLong && cuts === "last_resort")) {
      const chars = isTooLong ? CUT_CHARS.least : CUT_CHARS.most;
      const cutDown = cut(now(), roomTokens ?? 0, chars);
      // What replaces the turns may be as long as they are. Another response then makes room first.
      if (cutDown === undefined || (!isTooLong && !fits({ ...now(), state: cutDown.state }, roomTokens))) {
        cuts = cutDown === undefined ? "done" : "last_resort";
        continue;
      }
      cuts = "done";
      withdrawSummaryRequest();
      actions.push(apply(cutDown));
      continue;
    }
    if (isTooLong) {
      // Reported once; otherwise every prompt would report it again.
      if (!state.restartPointless) withhold("restart", "no_gain");
      pointless = true;
      actions.push({ type: "stop", reason: "too_long", say: TOO_LONG });
      status = "exhausted";
      break;
    }
    if (decision.type === "stop") {
      withhold("restart", "max_restarts");
      actions.push({ ...decision, say: maxRestartsReached(policy.restart?.max ?? 0) });
      break;
    }
    if (decision.confirm) {
      withhold("restart", "unconfirmed");
      actions.push({ type: "confirm_restart", reason: decision.reason, say: RESTART_CONFIRMATION });
      break;
    }
    restartNow(decision.reason);
  }
  // After a restart nothing is left to summarise.
  if (request !== undefined && !actions.some((action) => action.type === "restart")) {
    withdrawSummaryRequest();
    state = { ...state, compactAsked: state.compactAsked ?? state.allTurns };
    actions.splice(place, 0, request);
  }
  return { state: { ...state, restartPointless: pointless }, events, actions, status };
}
