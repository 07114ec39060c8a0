import type { Limits } from "../decide/decide.ts";
import { predict, uncertainty } from "../measure/calibrate.ts";
import type { ResultPart } from "../view/history.ts";
import type { ActionInput } from "./actions.ts";
import { type Responses, respond } from "./respond.ts";

/** Prepares edits of a conversation between its prompts, such as summaries. None of its functions may wait. */
export interface Companion<M> {
  /** True if it can write summaries, even if the harness cannot. */
  readonly summarizes: boolean;
  /** True while it has something ready, so that the guard need not wait until a line is surely reached. */
  readonly isReady: boolean;
  /** Carries out what is ready and need not wait for a line, before the guard's own responses. */
  apply(
    input: ActionInput<M>,
    facts: Pick<ResponseFacts, "roomTokens" | "summaries">,
  ): Omit<Responses<M>, "status">;
  /** The text that is ready in place of a part which the guard masks. */
  text(part: ResultPart, key: string | undefined): string | undefined;
  /** Carries out the summary that is ready where the guard would ask for one. */
  summary(input: ActionInput<M>): Omit<Responses<M>, "status"> | undefined;
  /** Called when the guard's own responses changed the prompt. */
  changed(input: ActionInput<M>): void;
  /** Called after each turn. `now` returns the conversation as it is when it is called. */
  observed(now: () => ActionInput<M>): void;
  /** Called when another companion replaces it, or the conversation is forgotten. */
  stop(): void;
}

/** How the guard's own responses are carried out. */
export interface ResponseFacts {
  windowTokens: number | undefined;
  /** The window without what is kept free for the answer. */
  roomTokens: number | undefined;
  placeholder: (part: ResultPart, key: string | undefined) => string;
  /** False if the harness cannot write a summary. */
  summaries: boolean;
}

/** The limits, with the soft lines that the prompt may exceed lowered to its estimated level. */
function limitsInReach<M>({ editor, state, limits }: ActionInput<M>): Limits {
  const estimate = editor.estimate(state);
  const level = predict(state.calibration, estimate).tokens;
  const most = level + uncertainty(state.calibration, estimate, state.lowered);
  const reached = (["soft", "ceiling", "reserve"] as const).filter((name) => (limits[name] ?? most) < most);
  return { ...limits, ...Object.fromEntries(reached.map((name) => [name, Math.min(limits[name]!, level)])) };
}

/** Carries out what a companion has ready, and then the responses that are due. */
export function respondWith<M>(
  companion: Companion<M> | undefined,
  input: ActionInput<M>,
  { windowTokens, roomTokens, placeholder, summaries }: ResponseFacts,
): Responses<M> {
  const ready = companion?.apply(input, { roomTokens, summaries }) ?? {
    state: input.state,
    events: [],
    actions: [],
  };
  const policy = summaries ? input.policy : { ...input.policy, compact: null };
  // Several responses to one prompt are one change of it, so the guard does not wait for its pace.
  const { actedAt } = input.state;
  const limits = companion?.isReady === true ? limitsInReach(input) : input.limits;
  const now = { ...input, policy, limits, state: { ...ready.state, actedAt } };
  const due = respond(now, {
    windowTokens,
    roomTokens,
    placeholder: (part, key) => companion?.text(part, key) ?? placeholder(part, key),
    prepared: (current) => companion?.summary(current),
  });
  const state = due.state.actedAt === actedAt ? { ...due.state, actedAt: ready.state.actedAt } : due.state;
  if (due.actions.length > 0) companion?.changed({ ...input, state });
  return {
    state,
    status: due.status,
    events: [...ready.events, ...due.events],
    actions: [...ready.actions, ...due.actions],
  };
}
