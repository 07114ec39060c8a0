import type { Tokenizer } from "../measure/estimate.ts";
import type { Filed, Mask } from "../state/state.ts";
import type { MessageHistory, ResultPart } from "./history.ts";
import { titleOf } from "./placeholder.ts";

/** The key under which the whole list of removed results is recalled. */
export const LIST_KEY = "removed-results";
/** A smaller result is not worth its line in the list. Estimated tokens. */
const LEAST_FILED = 32;
/** The list keeps the newest. */
const MOST_FILED = 500;
/** Largest share of the line that the list has in the context. */
const LIST_SHARE = 0.05;

/** Stores a text and returns its key, or `undefined` on failure. */
type Put = (part: ResultPart) => string | undefined;

/** Adds the results of a range of messages to a list, and stores those that no mask has stored. */
export function fileResults<M>(
  { entries }: MessageHistory<M>,
  masks: ReadonlyMap<string, Mask>,
  { from, to }: { from: number; to: number },
  before: readonly Filed[],
  put: Put,
): Filed[] {
  const filed = new Map(before.map((one) => [one.key, one]));
  for (let index = from; index < to; index++) {
    for (const part of entries[index]!.results) {
      if (part.fixed || part.tokens < LEAST_FILED) continue;
      const key = masks.get(part.mark)?.key ?? put(part);
      if (key === undefined) continue;
      filed.delete(key);
      filed.set(key, { key, what: titleOf(part) });
    }
  }
  return [...filed.values()].slice(-MOST_FILED);
}

/** Most tokens of the list in the context, estimated. `line` too. */
export const listBudget = (line: number) => line * LIST_SHARE;

/** The list in the context: the newest results, each call once, and the key of the whole list. At most `budget` estimated tokens. */
export function listWithin(filed: readonly Filed[], budget: number, tokenizer: Tokenizer): string {
  if (filed.length === 0) return "";
  const head = "\n[Results of tools before it, each after its recall key:]";
  const rest = (left: number) => (left > 0 ? `\n[${left} more: recall key ${LIST_KEY}]` : "");
  let room = budget - tokenizer(head + rest(filed.length));
  const shown: string[] = [];
  const seen = new Set<string>();
  for (const { key, what } of [...filed].reverse()) {
    if (seen.has(what)) continue;
    const line = `\n- ${key} ${what}`;
    room -= tokenizer(line);
    if (room < 0) break;
    seen.add(what);
    shown.unshift(line);
  }
  return (shown.length === 0 ? "" : head + shown.join("")) + rest(filed.length - shown.length);
}

/** The whole list, as a tool returns it. */
export const listOf = (filed: readonly Filed[]) =>
  filed.map(({ key, what }) => `- ${key} ${what}`).join("\n");
