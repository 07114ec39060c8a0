import type { Tokenizer } from "../measure/estimate.ts";
import type { Cut, GuardState, Mask } from "../state.ts";
import type { Entry, MessageHistory } from "./history.ts";
import type { Shape } from "./shape.ts";

type Edits = Pick<GuardState, "cut" | "notices" | "masks">;

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
  for (const notice of edits.notices) if (notice.after >= from) tokens += tokenizer(notice.text) + 4;
  return tokens;
}

function savedIn<M>(entry: Entry<M>, masks: ReadonlyMap<string, Mask>): number {
  let saved = 0;
  for (const result of entry.results) saved += masks.get(result.mark)?.saved ?? 0;
  for (const text of entry.longTexts) saved += masks.get(text.mark)?.saved ?? 0;
  return saved;
}

/** Builds the messages to send. Messages without masks are passed through as the same objects. */
export class View<M> {
  readonly #shape: Shape<M>;
  readonly #copies = new WeakMap<object, { key: string; copy: M }>();
  readonly #said = new Map<string, M>();

  constructor(shape: Shape<M>) {
    this.#shape = shape;
  }

  build(history: MessageHistory<M>, edits: Edits, masks: ReadonlyMap<string, Mask>): M[] {
    const { entries, pinned } = history;
    const { cut } = edits;
    const from = startOf(cut, pinned);
    const view: M[] = [];
    for (let index = 0; index < pinned; index++) view.push(entries[index]!.message);
    if (cut !== undefined) view.push(this.#userMessage("head", cut.head));
    const notices = edits.notices.filter((notice) => notice.after >= from);
    let next = 0;
    const sayUpTo = (index: number) => {
      while (next < notices.length && notices[next]!.after <= index) {
        view.push(this.#userMessage(`notice ${notices[next]!.after}`, notices[next]!.text));
        next++;
      }
    };
    for (let index = from; index < entries.length; index++) {
      sayUpTo(index);
      const entry = entries[index]!;
      view.push(masks.size === 0 ? entry.message : this.#masked(entry, masks));
    }
    sayUpTo(Number.POSITIVE_INFINITY);
    return view;
  }

  /** Returns the same object each time, so a harness that compares messages by identity sees no change. */
  #userMessage(place: string, text: string): M {
    const key = `${place} ${text}`;
    let message = this.#said.get(key);
    if (message === undefined) {
      message = this.#shape.user(text);
      if (this.#said.size > 256) this.#said.clear();
      this.#said.set(key, message);
    }
    return message;
  }

  #masked(entry: Entry<M>, masks: ReadonlyMap<string, Mask>): M {
    if (entry.results.length === 0 && entry.longTexts.length === 0) return entry.message;
    const texts = new Map<number, string>();
    let key = "";
    for (const part of [...entry.results, ...entry.longTexts]) {
      const mask = masks.get(part.mark);
      if (mask === undefined) continue;
      texts.set(part.part, mask.placeholder);
      key += `${part.part}:${mask.placeholder} `;
    }
    if (texts.size === 0) return entry.message;
    const object = entry.message as object;
    const known = this.#copies.get(object);
    if (known?.key === key) return known.copy;
    const copy = this.#shape.replace(entry.message, texts);
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
