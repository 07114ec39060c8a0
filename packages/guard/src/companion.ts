import type { ActionInput } from "./actions.ts";
import { type Responses, respond } from "./respond.ts";
import type { ResultPart } from "./view/history.ts";

/** Prepares edits of a conversation between its prompts, such as summaries. None of its functions may wait. */
export interface Companion<M> {
  /** Carries out what is ready, before the guard's own responses. */
  apply(input: ActionInput<M>): Omit<Responses<M>, "status">;
  /** Called when the guard's own responses changed the prompt. */
  changed(input: ActionInput<M>): void;
  /** Called after each turn. `now` returns the conversation as it is when it is called. */
  observed(now: () => ActionInput<M>): void;
  /** Called when another companion replaces it, or the conversation is forgotten. */
  stop(): void;
}

/** Carries out what a companion has ready, and then the responses that are due. */
export function respondWith<M>(
  companion: Companion<M> | undefined,
  input: ActionInput<M>,
  {
    windowTokens,
    placeholder,
  }: {
    windowTokens: number | undefined;
    placeholder: (part: ResultPart, key: string | undefined) => string;
  },
): Responses<M> {
  const ready = companion?.apply(input) ?? { state: input.state, events: [], actions: [] };
  const due = respond({ ...input, state: ready.state }, windowTokens, placeholder);
  if (due.actions.length > 0) companion?.changed({ ...input, state: due.state });
  return {
    ...due,
    events: [...ready.events, ...due.events],
    actions: [...ready.actions, ...due.actions],
  };
}
