import type { ResultPart } from "../view/history.ts";
import type { ActionInput } from "./actions.ts";
import { type Responses, respond } from "./respond.ts";

/** Prepares edits of a conversation between its prompts, such as summaries. None of its functions may wait. */
export interface Companion<M> {
  /** True if it can write summaries, even if the harness cannot. */
  readonly summarizes: boolean;
  /** Carries out what is ready, before the guard's own responses. */
  apply(input: ActionInput<M>, windowTokens: number | undefined): Omit<Responses<M>, "status">;
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

/** Carries out what a companion has ready, and then the responses that are due. */
export function respondWith<M>(
  companion: Companion<M> | undefined,
  input: ActionInput<M>,
  { windowTokens, roomTokens, placeholder, summaries }: ResponseFacts,
): Responses<M> {
  const ready = companion?.apply(input, roomTokens) ?? { state: input.state, events: [], actions: [] };
  const policy = summaries ? input.policy : { ...input.policy, compact: null };
  // Several responses to one prompt are one change of it, so the guard does not wait for its pace.
  const { actedAt } = input.state;
  const now = { ...input, policy, state: { ...ready.state, actedAt } };
  const due = respond(now, { windowTokens, roomTokens, placeholder });
  const state = due.state.actedAt === actedAt ? { ...due.state, actedAt: ready.state.actedAt } : due.state;
  if (due.actions.length > 0) companion?.changed({ ...input, state });
  return {
    state,
    status: due.status,
    events: [...ready.events, ...due.events],
    actions: [...ready.actions, ...due.actions],
  };
}
