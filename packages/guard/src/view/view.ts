import type { Tokenizer } from "../measure/estimate.ts";
import type { Cut, GuardState, Mask } from "../state/state.ts";
import type { Entry, MessageHistory } from "./history.ts";
import type { Shape } from "./shape.ts";

type Edits = Pick<GuardState, "cut" | "notices" | "masks">;

/**
 * Where the guard's notices to the agent are sent. `merge` adds each to the newest message of the user or a tool before it,
 * because many servers refuse a user message after a tool's result; `system` adds them to the system prompt; `off` sends
 * none.
 */
export type NoticePlace = "merge" | "system" | "off";

/** The messages to send. */
export interface BuiltView<M> {
  messages: M[];
  /** Texts for the system prompt, where it is not among the messages. */
  system: string[];
}

/** Estimated tokens of the view, that is, of the messages to send. */
export function estimateView<M>(
  history: MessageHistory<M>,
  edits: Edits,
  masks: ReadonlyMap<string, Mask>,
  tokenizer: Tokenizer,
): number {
  const { entries, pinned } = history;
  const from = startOf(edits.cut, pinned);
  let tokens = 0;
  for (let index = 0; index < pinned; index++) tokens += entries[index]!.tokens;
  for (let index = from; index < entries.length; index++) {
    const entry = entries[index]!;
    tokens += entry.tokens;
    if (masks.size > 0) tokens -= savedIn(entry, masks);
  }
  if (edits.cut !== undefined) tokens += tokenizer(edits.cut.head) + 4;
  for (const notice of edits.notices) if (notice.after >= from) tokens += tokenizer(notice.text);
  return tokens;
}

function savedIn<M>(entry: Entry<M>, masks: ReadonlyMap<string, Mask>): number {
  let saved = 0;
  for (const result of entry.results) saved += masks.get(result.mark)?.saved ?? 0;
  for (const text of entry.longTexts) saved += masks.get(text.mark)?.saved ?? 0;
  for (const input of entry.inputs) saved += masks.get(input.mark)?.saved ?? 0;
  return saved;
}

/** A text of the guard for one message of the harness. */
interface Insert {
  text: string;
  where: "before" | "after";
}

/** Builds the messages to send. Messages without edits are passed through as the same objects. */
export class View<M> {
  readonly #shape: Shape<M>;
  readonly #copies = new WeakMap<object, { key: string; copy: M }>();
  readonly #said = new Map<string, M>();

  constructor(shape: Shape<M>) {
    this.#shape = shape;
  }

  build(
    history: MessageHistory<M>,
    edits: Edits,
    masks: ReadonlyMap<string, Mask>,
    place: NoticePlace,
  ): BuiltView<M> {
    const { entries, pinned } = history;
    const { cut } = edits;
    const from = startOf(cut, pinned);
    const inserts = new Map<number, Insert[]>();
    const add = (index: number, text: string, where: Insert["where"]) => {
      const known = inserts.get(index);
      if (known === undefined) inserts.set(index, [{ text, where }]);
      else known.push({ text, where });
    };
    const system: string[] = [];
    const own: string[] = [];
    for (const { after, text } of edits.notices) {
      if (after < from || place === "off") continue;
      if (place === "system") {
        if (pinned > 0 && this.#canMerge(entries[pinned - 1]!)) add(pinned - 1, text, "after");
        else system.push(text);
        continue;
      }
      const index = this.#nearest(entries, from, after);
      if (index === undefined) own.push(text);
      // The results of calls come first in their message.
      else add(index, text, index < after || entries[index]!.role === "result" ? "after" : "before");
    }
    const head = [...(cut === undefined ? [] : [cut.head]), ...own].join("\n\n");
    const first = entries[from];
    // Two messages of the user in a row are refused where roles must alternate.
    const merges = head !== "" && first?.role === "user" && this.#canMerge(first);
    if (merges) add(from, head, "before");
    const messages: M[] = [];
    for (let index = 0; index < pinned; index++)
      messages.push(this.#edited(entries[index]!, masks, inserts.get(index)));
    if (head !== "" && !merges) messages.push(this.#userMessage(head));
    for (let index = from; index < entries.length; index++)
      messages.push(this.#edited(entries[index]!, masks, inserts.get(index)));
    return { messages, system };
  }

  /** Index of the newest message of the user or a tool before `after` that takes a text, or else of the next one. */
  #nearest(entries: readonly Entry<M>[], from: number, after: number): number | undefined {
    const takes = (index: number) => {
      const entry = entries[index]!;
      return (entry.role === "user" || entry.role === "result") && this.#canMerge(entry);
    };
    for (let index = Math.min(after, entries.length) - 1; index >= from; index--)
      if (takes(index)) return index;
    for (let index = after; index < entries.length; index++) if (takes(index)) return index;
    return undefined;
  }

  #canMerge({ message }: Entry<M>): boolean {
    return this.#shape.merge?.(message, " ", "after") !== undefined;
  }

  /** Returns the same object each time, so a harness that compares messages by identity sees no change. */
  #userMessage(text: string): M {
    let message = this.#said.get(text);
    if (message === undefined) {
      message = this.#shape.user(text);
      if (this.#said.size > 256) this.#said.clear();
      this.#said.set(text, message);
    }
    return message;
  }

  #edited(entry: Entry<M>, masks: ReadonlyMap<string, Mask>, inserts: readonly Insert[] = []): M {
    const texts = new Map<number, string>();
    let key = "";
    if (masks.size > 0) {
      for (const part of [...entry.results, ...entry.longTexts, ...entry.inputs]) {
        const mask = masks.get(part.mark);
        if (mask === undefined) continue;
        texts.set(part.part, mask.placeholder);
        key += `${part.part}:${mask.placeholder} `;
      }
    }
    for (const { text, where } of inserts) key += `${where}:${text} `;
    if (key === "") return entry.message;
    const object = entry.message as object;
    const known = this.#copies.get(object);
    if (known?.key === key) return known.copy;
    let copy = texts.size === 0 ? entry.message : this.#shape.replace(entry.message, texts);
    for (const { text, where } of inserts) copy = this.#shape.merge?.(copy, text, where) ?? copy;
    this.#copies.set(object, { key, copy });
    return copy;
  }
}

function startOf(cut: Cut | undefined, pinned: number): number {
  return Math.max(cut?.at ?? 0, pinned);
}

/** Estimated tokens of a range of canonical messages after masking. */
export function estimateRange<M>(
  history: MessageHistory<M>,
  masks: ReadonlyMap<string, Mask>,
  from: number,
  to: number,
): number {
  let tokens = 0;
  for (let index = from; index < to; index++) {
    const entry = history.entries[index]!;
    tokens += entry.tokens - (masks.size > 0 ? savedIn(entry, masks) : 0);
  }
  return tokens;
}

/**
 * Returns the index of the first of the newest `turns` turns that fit in `tokens` (estimated), or the number of
 * messages if none fits. Never splits a call from its results.
 */
export function startOfRecent<M>(
  history: MessageHistory<M>,
  masks: ReadonlyMap<string, Mask>,
  turns: number,
  tokens: number,
  earliest: number,
): number {
  const { units, entries } = history;
  let start = entries.length;
  let left = tokens;
  let seen = 0;
  for (let place = units.length - 1; place >= 0 && seen < turns; place--) {
    const unit = units[place]!;
    if (unit.from < earliest) break;
    const size = estimateRange(history, masks, unit.from, unit.to);
    // Keep the open question whatever its size: without it the agent has no task.
    const isOpenQuestion = place === units.length - 1 && openQuestion(history) !== undefined;
    if (size > left && !isOpenQuestion) break;
    left -= size;
    if (unit.turn) seen++;
    start = unit.from;
  }
  // If the harness cut the history itself, it may start with results whose calls are gone.
  while (start < entries.length && lacksItsCall(entries[start]!)) start++;
  return start;
}

/** Returns the user's latest message if the agent has not answered it yet. */
export function openQuestion<M>({ units, entries }: MessageHistory<M>): Entry<M> | undefined {
  const last = units.at(-1);
  const entry = last === undefined ? undefined : entries[last.from]!;
  return entry?.role === "user" ? entry : undefined;
}

/** True if a message at the start of the history has a result whose call is missing. */
function lacksItsCall<M>({ results, calls }: Entry<M>): boolean {
  return results.some(({ call }) => !calls.includes(call));
}
