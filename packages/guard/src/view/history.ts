import type { Tokenizer } from "../measure/estimate.ts";
import type { Part, Shape } from "./shape.ts";

/** Wrapping that providers add around each message: role, separators. Estimated tokens. */
const MESSAGE_OVERHEAD = 4;
/** Texts of the agent or the user below this are never shortened. Estimated tokens. */
export const LONG_TEXT = 200;
const NO_PARTS: readonly ResultPart[] = [];

/** A piece of a message that may be shortened: a tool result, or a long text of the agent or the user. */
export interface ResultPart {
  /** Its call's id; with its place where an earlier result has the same, as some servers number from 0 each time. */
  id: string;
  /** Joins it to its call; made up from its place when the provider gave none. */
  call: string;
  /** `assistant` and `user` for what they say themselves. */
  tool: string;
  input: unknown;
  error: boolean;
  /** Nothing else may stand in its place. */
  fixed: boolean;
  text: string;
  /** Estimated tokens of the text alone. */
  tokens: number;
  /** Place among the message's parts. */
  part: number;
}

export interface Entry<M> {
  message: M;
  role: "system" | "user" | "assistant" | "result";
  /** Estimated tokens, wrapping included. */
  tokens: number;
  calls: readonly string[];
  results: readonly ResultPart[];
  /** What the agent or the user says, where it is long enough to be worth shortening. */
  longTexts: readonly ResultPart[];
  /** What the agent says directly after it is part of the same reply. */
  joins: boolean;
}

/** Messages that must stay together: a reply that calls tools with all its results, or any other by itself. */
export interface Unit {
  from: number;
  to: number;
  /** Holds one inference call of the agent. */
  turn: boolean;
  /** Every call in it was answered. */
  complete: boolean;
}

/**
 * The canonical messages of a harness with what was read of each. Kept between calls, so that a history that only
 * grew costs its new messages; messages are compared by identity and never changed.
 */
export class History<M> {
  readonly entries: Entry<M>[] = [];
  readonly units: Unit[] = [];
  /** Leading system messages: always sent, never cut. */
  pinned = 0;
  readonly #shape: Shape<M>;
  readonly #tokenizer: Tokenizer;
  readonly #read = new WeakMap<
    object,
    { parts: readonly Part[]; tokens: readonly number[]; total: number }
  >();
  readonly #calls = new Map<string, { tool: string; input: unknown; index: number }>();
  /** Where each id of a result was used first. */
  readonly #firstUse = new Map<string, string>();

  constructor(shape: Shape<M>, tokenizer: Tokenizer) {
    this.#shape = shape;
    this.#tokenizer = tokenizer;
  }

  /** Takes over the present messages; only what changed is read. */
  sync(messages: readonly M[]): void {
    const { entries } = this;
    let same = 0;
    while (same < entries.length && same < messages.length && entries[same]!.message === messages[same])
      same++;
    // The last unit may still have been waiting for results: it is read again.
    const last = this.units.at(-1);
    if (same === entries.length && last !== undefined) same = Math.min(same, last.from);
    while (this.units.length > 0 && this.units.at(-1)!.to > same)
      same = Math.min(same, this.units.pop()!.from);
    for (let index = same; index < entries.length; index++) {
      for (const { call, part } of entries[index]!.results) {
        if (this.#firstUse.get(call) === `${index}.${part}`) this.#firstUse.delete(call);
      }
    }
    entries.length = same;
    const open = this.#openCalls();
    for (let index = same; index < messages.length; index++) {
      const entry = this.#entry(messages[index]!, index, open);
      entries.push(entry);
      this.#place(entry, index);
    }
    let pinned = 0;
    while (pinned < entries.length && entries[pinned]!.role === "system") pinned++;
    this.pinned = pinned;
  }

  /** Calls still without a result, one list for each message that made some, the oldest message first. */
  #openCalls(): string[][] {
    const open: string[][] = [];
    for (const unit of this.units) {
      if (unit.complete) continue;
      const unanswered = this.#unanswered(unit);
      for (let index = unit.from; index < unit.to; index++) {
        const calls = this.entries[index]!.calls.filter((id) => unanswered.includes(id));
        if (calls.length > 0) open.push(calls);
      }
    }
    return open;
  }

  #place(entry: Entry<M>, index: number): void {
    const last = this.units.at(-1);
    const answers = entry.results.filter(({ call }) => !entry.calls.includes(call));
    if (last !== undefined && answers.length > 0) {
      // Its call may stand further back than the last message: everything from there on stays together.
      const from = Math.min(...answers.map(({ call }) => this.#calledAt(call, index) ?? last.from));
      let unit = last;
      while (unit.from > from) {
        const { turn } = this.units.pop()!;
        unit = this.units.at(-1)!;
        unit.turn ||= turn;
      }
      this.#extend(unit, index);
      return;
    }
    if (last !== undefined && entry.role === "assistant" && this.entries[last.to - 1]!.joins) {
      this.#extend(last, index);
      last.turn = true;
      return;
    }
    const unit = { from: index, to: index + 1, turn: entry.role === "assistant", complete: true };
    if (entry.calls.length > 0) unit.complete = this.#unanswered(unit).length === 0;
    this.units.push(unit);
  }

  #extend(unit: Unit, index: number): void {
    unit.to = index + 1;
    unit.complete = this.#unanswered(unit).length === 0;
  }

  /** Index of the message that made a call; undefined when it is not among those before `index`. */
  #calledAt(id: string, index: number): number | undefined {
    const at = this.#calls.get(id)?.index;
    return at !== undefined && at < index && this.entries[at]!.calls.includes(id) ? at : undefined;
  }

  #unanswered(unit: Unit): string[] {
    const open = new Set<string>();
    for (let index = unit.from; index < unit.to; index++) {
      const entry = this.entries[index]!;
      for (const id of entry.calls) open.add(id);
      for (const result of entry.results) open.delete(result.call);
    }
    return [...open];
  }

  /** Reads one message; `open` loses the calls it answers and gains those it makes. */
  #entry(message: M, index: number, open: string[][]): Entry<M> {
    const { parts, tokens, total } = this.#parts(message);
    const calls: string[] = [];
    const results: ResultPart[] = [];
    let longTexts: ResultPart[] | undefined;
    let role: Entry<M>["role"] | undefined;
    let joins = false;
    for (const [place, part] of parts.entries()) {
      joins ||= part.joins === true;
      if (part.kind === "call") {
        const id = part.id ?? `call-${index}.${place}`;
        calls.push(id);
        this.#calls.set(id, { tool: part.tool ?? "tool", input: part.input, index });
        role = "assistant";
      } else if (part.kind === "result") {
        const call = part.id ?? this.#matching(open, part.tool) ?? `result-${index}.${place}`;
        answer(open, call);
        const called = this.#calls.get(call);
        results.push({
          id: this.#unique(call, `${index}.${place}`),
          call,
          tool: part.tool ?? called?.tool ?? "tool",
          input: called?.input,
          error: part.error ?? false,
          fixed: part.fixed ?? false,
          text: part.text,
          tokens: tokens[place]!,
          part: place,
        });
        role ??= "result";
      } else {
        role ??= part.kind;
        // Beside a picture a text is not replaced: that would take the picture away.
        const alone = part.fixed !== true && (part.extraTokens ?? 0) === 0;
        if (part.kind !== "system" && alone && tokens[place]! >= LONG_TEXT) {
          const id = `text-${index}.${place}`;
          longTexts ??= [];
          longTexts.push({
            id,
            call: id,
            tool: part.kind,
            input: undefined,
            error: false,
            fixed: false,
            text: part.text,
            tokens: tokens[place]!,
            part: place,
          });
        }
      }
    }
    const unanswered = calls.filter((id) => !results.some((result) => result.call === id));
    if (unanswered.length > 0) open.push(unanswered);
    return {
      message,
      role: role ?? "user",
      tokens: total,
      calls,
      results,
      longTexts: longTexts ?? NO_PARTS,
      joins,
    };
  }

  #unique(id: string, place: string): string {
    const first = this.#firstUse.get(id) ?? place;
    this.#firstUse.set(id, first);
    return first === place ? id : `${id}#${place}`;
  }

  /**
   * Providers without call ids answer the latest message that calls, in its order; a tool's name, when given, settles
   * which call is meant, and may mean one further back.
   */
  #matching(open: readonly (readonly string[])[], tool: string | undefined): string | undefined {
    for (let place = open.length - 1; place >= 0; place--) {
      const named = open[place]!.find((id) => tool === undefined || this.#calls.get(id)?.tool === tool);
      if (named !== undefined) return named;
    }
    return open.at(-1)?.[0];
  }

  #parts(message: M): { parts: readonly Part[]; tokens: readonly number[]; total: number } {
    const key = typeof message === "object" && message !== null ? message : undefined;
    const known = key === undefined ? undefined : this.#read.get(key);
    if (known !== undefined) return known;
    const parts = this.#shape.read(message);
    const tokens = parts.map((part) => this.#tokenizer(part.text) + (part.extraTokens ?? 0));
    const read = { parts, tokens, total: tokens.reduce((sum, value) => sum + value, MESSAGE_OVERHEAD) };
    if (key !== undefined) this.#read.set(key, read);
    return read;
  }
}

/** Takes the newest call of that id off the list. */
function answer(open: string[][], call: string): void {
  for (let place = open.length - 1; place >= 0; place--) {
    const calls = open[place]!;
    const at = calls.indexOf(call);
    if (at < 0) continue;
    calls.splice(at, 1);
    if (calls.length === 0) open.splice(place, 1);
    return;
  }
}
