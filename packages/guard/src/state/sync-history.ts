import { align, type HistoryChange } from "../view/alignment.ts";
import type { Editor } from "../view/editor.ts";
import type { GuardState } from "./state.ts";
import { afterClear, realigned } from "./state-changes.ts";

const NOTHING_SEEN = { exact: [], loose: [] };

/**
 * Has an editor read the messages, and moves the edits to where their messages stand now.
 * @returns `cleared`: why another window begins, if one does
 */
export function syncHistory<M>(
  before: GuardState,
  editor: Editor<M>,
  messages: readonly M[],
): { state: GuardState; cleared?: HistoryChange } {
  editor.sync(messages);
  const now = editor.seen();
  const { seen, turns } = before;
  const alignment = align(seen ?? NOTHING_SEEN, now, (index) => editor.isAgents(index));
  const { change } = alignment;
  if (change === "grown" && (seen === undefined || seen.pinned === now.pinned))
    return { state: { ...before, seen: now } };
  const { state, cutLost } = realigned(before, now, alignment);
  const begins = cutLost || (change === "reset" && turns > 0);
  return begins ? { state: afterClear(state), cleared: change } : { state };
}
