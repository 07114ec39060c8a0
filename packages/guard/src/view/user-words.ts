import type { Tokenizer } from "../measure/estimate.ts";
import type { MessageHistory } from "./history.ts";
import { headAndTail } from "./placeholder.ts";
import type { Shape } from "./shape.ts";

/** Fewer tokens than this of a long message would not be understood. */
const LEAST_TOKENS = 100;
/** Longer messages are rarely instructions alone. */
const SHORT_TOKENS = 60;

/** What the user said in the messages from index `from` to `to`, in order. Results of tools are not the user's words. */
export function userWords<M>(
  { entries }: MessageHistory<M>,
  shape: Shape<M>,
  from: number,
  to: number,
): string[] {
  const said: string[] = [];
  for (let index = from; index < to; index++) {
    const { role, message } = entries[index]!;
    if (role !== "user") continue;
    for (const part of shape.read(message))
      if (part.kind === "user" && part.text !== "") said.push(part.text);
  }
  return said;
}

/**
 * Keeps what fits in `budget` estimated tokens: the first message, which is usually the task; then short ones, which are
 * usually instructions; then the newest. A message that is too long for what is left is cut in its middle.
 * @returns the kept messages in order, and how many were left out
 */
export function wordsWithin(
  said: readonly string[],
  budget: number,
  tokenizer: Tokenizer,
): { kept: string[]; left: number } {
  const sizes = said.map((text) => tokenizer(text));
  if (sizes.reduce((sum, size) => sum + size, 0) <= budget) return { kept: [...said], left: 0 };
  const kept = new Map<number, string>();
  let room = budget;
  const keep = (index: number, most: number) => {
    const text = shortened(said[index]!, sizes[index]!, most);
    kept.set(index, text);
    room -= Math.min(sizes[index]!, most);
  };
  const newestFirst = [...said.keys()].slice(1).reverse();
  keep(0, budget / 4);
  for (const index of newestFirst)
    if (sizes[index]! <= SHORT_TOKENS && room - sizes[index]! >= budget / 4) keep(index, room);
  for (const index of newestFirst) {
    if (kept.has(index)) continue;
    if (sizes[index]! > room && room < LEAST_TOKENS) break;
    keep(index, room);
  }
  const indexes = [...kept.keys()].sort((one, other) => one - other);
  return { kept: indexes.map((index) => kept.get(index)!), left: said.length - kept.size };
}

function shortened(text: string, size: number, most: number): string {
  if (size <= most) return text;
  const note = (leftOut: number) => `\n[${leftOut} characters left out here]\n`;
  return headAndTail(text, Math.floor((text.length * Math.max(most, LEAST_TOKENS)) / size), note);
}
