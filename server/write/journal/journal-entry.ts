import { promisify } from "node:util";
import { deflate, deflateSync, inflateSync } from "node:zlib";
import type { SentEvent } from "../plan/session-origin.ts";

/** Work for the projector that is not an event: it is the only writer of what it changes. */
export type Command =
  /** Sets the window size of a model, or removes it. Agents that used the model are folded again. */
  { type: "set_window"; model: string; tokens: number | null };

/** The body of a journal row. */
export interface JournalEntry {
  events: readonly SentEvent[];
  /** Events refused before the journal, by code. */
  refused?: Readonly<Record<string, number>> | undefined;
  commands?: readonly Command[] | undefined;
  /** Set when the sender waits on another server: the projector announces the outcome under this id. */
  reply?: string | undefined;
}

export const EMPTY_ENTRY: JournalEntry = { events: [] };

/** Characters of JSON above which packing leaves the thread that receives. */
const LARGE = 32_768;
/** Higher levels take twice as long and save a tenth. */
const LEVEL = { level: 1 };
const packInThread = promisify<string, typeof LEVEL, Buffer>(deflate);

/** The body of the journal row of an entry. */
export async function packEntry(entry: JournalEntry): Promise<Uint8Array> {
  const json = JSON.stringify(entry);
  return json.length > LARGE ? packInThread(json, LEVEL) : deflateSync(json, LEVEL);
}

export function unpackEntry(body: Uint8Array): JournalEntry {
  return JSON.parse(new TextDecoder().decode(inflateSync(body))) as JournalEntry;
}
