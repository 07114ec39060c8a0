import type { CallResult } from "@plimsoll/protocol/pure";
import type { SeenHistory } from "../state/state.ts";
import { textHash } from "./fingerprint.ts";
import { type MessageReader, type ReadMessage, sameParts, systemPrint } from "./reader.ts";

/** Shorter texts of the agent or user are never shortened. Estimated tokens. */
export const LONG_TEXT_TOKENS = 200;
const NO_PARTS: readonly ResultPart[] = [];

/** A part of a message that may be shortened: a tool result, a long text of the agent or user, or a long input of a tool. */
export interface ResultPart {
  /** Matches it to its call. Derived from the position if the provider sends no id. */
  call: string;
  /**
   * Identifies the part wherever the harness moves it: its call and a hash of its text. Some servers restart the numbers of
   * calls with each reply.
   */
  mark: string;
  /** The tool's name; `assistant` or `user` for their own texts. */
  tool: string;
  input: unknown;
  error: boolean;
  /** True if no other text may replace it. */
  fixed: boolean;
  text: string;
  /** Estimated tokens of the text alone. */
  tokens: number;
  /** Index among the message's parts. */
  part: number;
  /** True if it is what a tool was called with. */
  isInput?: boolean;
}

/** A canonical message with what was read from it. */
export interface Entry<M> {
  message: M;
  role: "system" | "user" | "assistant" | "result";
  /** Estimated tokens, including the provider's wrapping. */
  tokens: number;
  calls: readonly string[];
  results: readonly ResultPart[];
  /** Texts of the agent or user that are long enough to shorten. */
  longTexts: readonly ResultPart[];
  /** Inputs of calls that are long enough to shorten. */
  inputs: readonly ResultPart[];
  /** True if an agent message directly after it belongs to the same reply. */
  joins: boolean;
  read: ReadMessage;
}

/** Messages that must stay together: a reply with all the results of its tool calls, or any other single message. */
export interface Unit {
  from: number;
  to: number;
  /** True if it contains an inference call of the agent. */
  turn: boolean;
  /** True if every call in it has a result. */
  complete: boolean;
}

/**
 * The canonical messages of a harness and what was read from each. Messages are never changed, so a history that only grew
 * costs only its new messages. A copy of a message is the same message.
 */
export class MessageHistory<M> {
  readonly entries: Entry<M>[] = [];
  readonly units: Unit[] = [];
  /** Leading system messages: always sent, never cut. */
  pinned = 0;
  readonly #reader: MessageReader<M>;
  readonly #calls = new Map<string, { tool: string; input: unknown; index: number }>();

  constructor(reader: MessageReader<M>) {
    this.#reader = reader;
  }

  /** Updates to the current messages. Reads only those that changed. */
  sync(messages: readonly M[]): void {
    const { entries } = this;
    let same = 0;
    while (same < entries.length && same < messages.length && this.#isSame(entries[same]!, messages[same]!))
      same++;
    // Read the last unit again: it may have been waiting for results.
    const last = this.units.at(-1);
    if (same === entries.length && last !== undefined) same = Math.min(same, last.from);
    while (this.units.length > 0 && this.units.at(-1)!.to > same)
      same = Math.min(same, this.units.pop()!.from);
    entries.length = same;
    const open = this.#openCalls();
    for (let index = same; index < messages.length; index++) {
      const entry = this.#readEntry(messages[index]!, index, open);
      entries.push(entry);
      this.#addToUnit(entry, index);
    }
    let pinned = 0;
    while (pinned < entries.length && entries[pinned]!.role === "system") pinned++;
    this.pinned = pinned;
  }

  /**
   * How the tool calls of the agent's latest reply ended, in the order of their results. Undefined while one of them has none, and if
   * the messages do not say whether a tool failed.
   * @param after number of messages before that reply
   */
  latestResults(after: number): CallResult[] | undefined {
    const unit = this.units.findLast(({ turn }) => turn);
    if (unit === undefined || !unit.complete || unit.to <= after) return undefined;
    const parts = this.entries.slice(unit.from, unit.to).flatMap(({ read }) => read.parts);
    const results = parts.filter(({ kind }) => kind === "result");
    if (results.length === 0 || results.some(({ error }) => error === undefined)) return undefined;
    return results.map(({ error }) => (error === true ? "failed" : "ok"));
  }

  /** Whether an entry is of this message, or of another object that says the same. Then it takes this one. */
  #isSame(entry: Entry<M>, message: M): boolean {
    if (entry.message === message) return true;
    const read = this.#reader.read(message, entry.read);
    if (read !== entry.read && !sameParts(read.parts, entry.read.parts)) return false;
    entry.message = message;
    return true;
  }

  /** Calls without a result, grouped by message, oldest message first. */
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

  #addToUnit(entry: Entry<M>, index: number): void {
    const last = this.units.at(-1);
    const answers = entry.results.filter(({ call }) => !entry.calls.includes(call));
    if (last !== undefined && answers.length > 0) {
      // The call may be in an earlier message; keep everything from there on together.
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

  /** Index of the message that made a call, or `undefined` if no message before `index` made it. */
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

  /** Reads one message. Removes the calls that it answers from `open` and adds those that it makes. */
  #readEntry(message: M, index: number, open: string[][]): Entry<M> {
    const read = this.#reader.read(message);
    const { parts, tokens, total } = read;
    const calls: string[] = [];
    const results: ResultPart[] = [];
    let longTexts: ResultPart[] | undefined;
    let inputs: ResultPart[] | undefined;
    let role: Entry<M>["role"] | undefined;
    let joins = false;
    for (const [place, part] of parts.entries()) {
      joins ||= part.joins === true;
      if (part.kind === "call") {
        const id = part.id ?? `call-${index}.${place}`;
        calls.push(id);
        this.#calls.set(id, { tool: part.tool ?? "tool", input: part.input, index });
        role = "assistant";
        if (part.editable === true && tokens[place]! >= LONG_TEXT_TOKENS && isObject(part.input)) {
          inputs ??= [];
          inputs.push({
            call: id,
            mark: markOf(`${id}/input`, part.text),
            tool: part.tool ?? "tool",
            input: part.input,
            error: false,
            fixed: false,
            text: JSON.stringify(part.input),
            tokens: tokens[place]!,
            part: place,
            isInput: true,
          });
        }
      } else if (part.kind === "result") {
        const call = part.id ?? this.#matching(open, part.tool) ?? `result-${index}.${place}`;
        closeCall(open, call);
        const called = this.#calls.get(call);
        results.push({
          call,
          mark: markOf(call, part.text),
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
        // Replacing a text that comes with an image would remove the image.
        const alone = part.fixed !== true && (part.extraTokens ?? 0) === 0;
        if (part.kind !== "system" && alone && tokens[place]! >= LONG_TEXT_TOKENS) {
          longTexts ??= [];
          longTexts.push({
            call: "text",
            mark: markOf("text", part.text),
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
      inputs: inputs ?? NO_PARTS,
      joins,
      read,
    };
  }

  /** What identifies the messages. */
  seen(): SeenHistory {
    const exact: number[] = [];
    const loose: number[] = [];
    for (let index = this.pinned; index < this.entries.length; index++) {
      const { print } = this.entries[index]!.read;
      exact.push(print.exact);
      loose.push(print.loose);
    }
    let system = 0;
    for (let index = 0; index < this.pinned; index++)
      system = systemPrint(system, this.entries[index]!.read.print);
    return { pinned: this.pinned, system, exact, loose };
  }

  /**
   * Matches a result without a call id: the latest message with open calls comes first, in call order. A tool name
   * narrows the match and may lead to an earlier message.
   */
  #matching(open: readonly (readonly string[])[], tool: string | undefined): string | undefined {
    for (let place = open.length - 1; place >= 0; place--) {
      const named = open[place]!.find((id) => tool === undefined || this.#calls.get(id)?.tool === tool);
      if (named !== undefined) return named;
    }
    return open.at(-1)?.[0];
  }
}

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

const markOf = (call: string, text: string) => `${call}#${textHash(text).toString(36)}`;

/** Removes the newest call with this id from `open`. */
function closeCall(open: string[][], call: string): void {
  for (let place = open.length - 1; place >= 0; place--) {
    const calls = open[place]!;
    const at = calls.indexOf(call);
    if (at < 0) continue;
    calls.splice(at, 1);
    if (calls.length === 0) open.splice(place, 1);
    return;
  }
}
