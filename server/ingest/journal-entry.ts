import type { PlimsollEvent } from "@plimsoll/protocol";

/** Work for the projector that is not an event: it is the only writer of what it changes. */
export type Command =
  /** Sets the window size of a model, or removes it. Agents that used the model are folded again. */
  { type: "set_window"; model: string; tokens: number | null };

/** The body of a journal row. */
export interface JournalEntry {
  events: readonly PlimsollEvent[];
  /** Events refused before the journal, by code. */
  refused?: Readonly<Record<string, number>> | undefined;
  commands?: readonly Command[] | undefined;
  /** Set when the sender waits on another server: the projector announces the outcome under this id. */
  reply?: string | undefined;
}

export const EMPTY_ENTRY: JournalEntry = { events: [] };
