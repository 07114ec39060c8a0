import type { CallResult, TurnContents } from "@plimsoll/protocol/pure";
import type { Limits } from "../decide/decide.ts";
import type { Tokenizer } from "../measure/estimate.ts";
import { type CompactPolicy, DEFAULT_POLICY, type GuardPolicy, type MaskPolicy } from "../policy/policy.ts";
import { type NoticeCounts, summaryHead, tellsCounts } from "../respond/texts.ts";
import type { AgentNotice, Filed, GuardState, Mask, SeenHistory } from "../state/state.ts";
import { type ContextComposition, compositionOf } from "./composition.ts";
import { contentsOf, type SizesBeside } from "./contents.ts";
import {
  type CutInput,
  carryover,
  compactGain,
  keepFrom,
  shortenableTexts,
  turnsBefore,
  turnsFrom,
  wordsLine,
} from "./cut-points.ts";
import { digest } from "./digest.ts";
import { fileResults, listBudget, listWithin } from "./filed.ts";
import { MessageHistory, type ResultPart } from "./history.ts";
import { type Candidate, candidates, evenLength, leastOf, protectedFrom, unreadResults } from "./mask.ts";
import { clip, shortenedInput, shortenedResult, shortenToShare } from "./placeholder.ts";
import type { MessageReader } from "./reader.ts";
import { type SentPart, sentParts } from "./sent-parts.ts";
import type { Shape } from "./shape.ts";
import { userWords, wordsWithin } from "./user-words.ts";
import { type BuiltView, estimateView, type NoticePlace, View } from "./view.ts";

/** Overrides of the policy when the prompt would not fit at all. The newest results are shortened instead. */
const NEWEST_PROTECTED = { keepTurns: 1, keepTokens: 0, keepErrors: false } as const;

/** Stores texts before something shorter replaces them. */
export interface Archive {
  /**
   * Stores a text and returns its key, or `undefined` on failure. A text that cannot be stored must not be masked.
   */
  put: (part: ResultPart) => string | undefined;
  /** True if a store exists, so the text can be read back under its key. */
  recallable: boolean;
}

/** How the agent is told what the guard does. */
export interface Notices {
  place: NoticePlace;
  counts: NoticeCounts;
  /** Where the agent writes its notes before a restart. */
  file: string;
}

/** Measures and edits a harness's messages under the edits in a state. It makes no decisions and changes no state. */
export class Editor<M> {
  readonly #shape: Shape<M>;
  readonly #tokenizer: Tokenizer;
  readonly #history: MessageHistory<M>;
  readonly #view: View<M>;
  readonly notices: Notices;
  #masks = new Map<string, Mask>();

  constructor(reader: MessageReader<M>, masks: readonly Mask[], notices: Notices) {
    const { shape, tokenizer } = reader;
    this.#shape = shape;
    this.notices = notices;
    this.#tokenizer = tokenizer;
    this.#history = new MessageHistory(reader);
    this.#view = new View(shape);
    this.setMasks(masks);
  }

  /** Sets the active masks. */
  setMasks(masks: readonly Mask[]): void {
    this.#masks = new Map(masks.map((mask) => [mask.mark, mask]));
  }

  sync(messages: readonly M[]): void {
    this.#history.sync(messages);
  }

  /** What identifies the messages. */
  seen(): SeenHistory {
    return this.#history.seen();
  }

  /** Messages that were read. */
  get length(): number {
    return this.#history.entries.length;
  }

  /** See `MessageHistory.latestResults`. */
  latestResults(after: number): CallResult[] | undefined {
    return this.#history.latestResults(after);
  }

  /** Whether a message is the agent's, by its index after the leading system messages. */
  isAgents(index: number): boolean {
    return this.#history.entries[index + this.#history.pinned]?.role === "assistant";
  }

  /** Estimated tokens of the request to send. */
  estimate(state: GuardState): number {
    const shown = this.notices.place === "off" ? { ...state, notices: [] } : this.#worded(state);
    return state.besides + estimateView(this.#history, shown, this.#masks, this.#tokenizer);
  }

  /** The messages to send. */
  build(state: GuardState): BuiltView<M> {
    return this.#view.build(this.#history, this.#worded(state), this.#masks, this.notices.place);
  }

  /** Whether the models that may answer are told how full their context is. */
  withCounts({ asked, model }: GuardState): boolean {
    return tellsCounts(this.notices.counts, asked.length > 0 ? asked : [model]);
  }

  /** The state with the notices in the words for the models that may answer. */
  #worded(state: GuardState): GuardState {
    if (state.notices.length === 0 || this.withCounts(state)) return state;
    return {
      ...state,
      notices: state.notices.map((notice) => ({ ...notice, text: notice.plain ?? notice.text })),
    };
  }

  /** Estimated tokens of one text. */
  textTokens(text: string): number {
    return this.#tokenizer(text);
  }

  /** True if a cut before this message separates no call from its results. */
  isCutPoint(index: number): boolean {
    const { units, entries } = this.#history;
    return index === entries.length || units.some(({ from }) => from === index);
  }

  /** Splits `level` by kind of content, in tokens. */
  composition(state: GuardState, level: number): ContextComposition {
    return compositionOf(this.#history, state, this.#masks, level);
  }

  /** What `level` holds by kind and tool, in tokens. */
  contents(state: GuardState, level: number, beside: Omit<SizesBeside, "head">): TurnContents {
    const head = state.cut === undefined ? 0 : this.#tokenizer(state.cut.head);
    return contentsOf(this.#history, state, this.#masks, level, { ...beside, head });
  }

  /** What is sent of the harness's messages, part by part, and which parts a policy lets a shorter text replace. */
  parts(state: GuardState, { mask, compact }: GuardPolicy): SentPart[] {
    const found = this.candidates(state, mask, false);
    return sentParts({
      history: this.#history,
      masks: this.#masks,
      from: this.#firstSent(state),
      newestFrom: protectedFrom(this.#history, (mask ?? compact)?.keepTurns ?? 0),
      maskable: new Set(found.map(({ part }) => part.mark)),
    });
  }

  /** Results that may be masked, oldest first. `urgent` also includes the newest turns but the last. */
  candidates(state: GuardState, policy: MaskPolicy | null, urgent: boolean): Candidate[] {
    if (policy === null) return [];
    const effective = urgent ? { ...policy, ...NEWEST_PROTECTED } : policy;
    const from = this.#firstSent(state);
    return candidates(this.#history, this.#masks, effective, state.calibration.slope, from);
  }

  /**
   * Masks the oldest candidates until `needed` estimated tokens are saved. Skips texts that `archive` cannot store.
   */
  mask(
    found: readonly Candidate[],
    needed: number,
    placeholder: (part: ResultPart, key: string | undefined) => string,
    archive: Archive,
  ): { mask: Mask; part: ResultPart }[] {
    const masked: { mask: Mask; part: ResultPart }[] = [];
    let left = needed;
    for (const { part } of found) {
      if (left <= 0) break;
      const key = archive.put(part);
      if (key === undefined) continue;
      const where = archive.recallable ? key : undefined;
      const text = part.isInput === true ? shortenedInput(part.input, where) : placeholder(part, where);
      const saved = part.tokens - this.#tokenizer(text);
      const more = saved - (this.#masks.get(part.mark)?.saved ?? 0);
      if (more <= 0) continue;
      left -= more;
      masked.push({ mask: { mark: part.mark, key, placeholder: text, saved }, part });
    }
    return masked;
  }

  /** Estimated tokens of the results that the agent has not read yet, and what stays of them at least. */
  unread({ mask }: GuardPolicy): { tokens: number; least: number } {
    const unread = unreadResults(this.#history, this.#masks, mask?.exclude ?? []);
    return { tokens: unread.reduce((sum, { tokens }) => sum + tokens, 0), least: leastOf(unread) };
  }

  /** Shortens these results, the longest first, until they have at most `budget` estimated tokens together. */
  shorten({ mask }: GuardPolicy, budget: number, archive: Archive): { mask: Mask; part: ResultPart }[] {
    const unread = unreadResults(this.#history, this.#masks, mask?.exclude ?? []);
    const length = evenLength(unread, budget);
    return unread.flatMap(({ part, tokens }) => {
      const key = tokens <= length ? undefined : archive.put(part);
      if (key === undefined) return [];
      const placeholder = this.#shortened(part, length, archive.recallable ? key : undefined);
      const saved = part.tokens - this.#tokenizer(placeholder);
      if (saved <= part.tokens - tokens) return [];
      return [{ mask: { mark: part.mark, key, placeholder, saved, short: true as const }, part }];
    });
  }

  /** Start and end of a result, in at most `length` estimated tokens: parts of a text differ in tokens per character. */
  #shortened({ text, tokens }: ResultPart, length: number, key: string | undefined): string {
    let share = length / tokens;
    let shortened = shortenedResult(text, share, key);
    for (let round = 0; round < 4; round++) {
      const size = this.#tokenizer(shortened);
      if (size <= length) break;
      share *= (0.95 * length) / size;
      shortened = shortenedResult(text, share, key);
    }
    return shortened;
  }

  /** Upper bound of the tokens that a summary can save. */
  compactGain(
    state: GuardState,
    line: number,
    compact: CompactPolicy,
    policy: GuardPolicy,
    archive: Archive,
  ): number {
    const at = this.keepFrom(state, line, compact.how, policy);
    const { kept } = this.userWords(state, at, line, policy);
    const words = kept.reduce((sum, text) => sum + this.#tokenizer(text), 0);
    const before = state.cut === undefined ? 0 : this.#tokenizer(state.cut.head);
    const grown = words + this.#listTokens(state, line, archive) - before;
    return compactGain(this.#cutInput(state), line, compact, grown);
  }

  /** Index of the first canonical message that a summary keeps verbatim. */
  keepFrom(state: GuardState, line: number, how: CompactPolicy["how"], policy: GuardPolicy): number {
    return keepFrom(this.#cutInput(state), line, how, policy.compact?.keepTurns ?? 4);
  }

  /**
   * Plans the messages to carry into the next session after its marker and what the user said before them. `gain` is the
   * estimated number of tokens freed.
   */
  carryover(
    state: GuardState,
    marker: string,
    limits: Limits,
    policy: GuardPolicy,
    archive: Archive,
  ): { at: number; masks: Mask[]; gain: number } {
    const { kept } = this.userWords(state, this.#history.entries.length, wordsLine(limits), policy);
    const facts = (state.facts ?? []).map(({ name, text }) => `${name}: ${text}`);
    const texts = [marker, ...kept, ...facts];
    const list = this.#listTokens(state, wordsLine(limits), archive);
    const head = texts.reduce((sum, text) => sum + this.#tokenizer(text) + 4, state.besides + list);
    const how = policy.restart ?? DEFAULT_POLICY.restart!;
    const { at, excess, gain } = carryover(this.#cutInput(state), head, this.estimate(state), limits, how);
    const masks = this.#shortenQuestion(state, excess, archive);
    return { at, masks, gain: masks.reduce((sum, { saved }) => sum + saved, gain) };
  }

  /** The list of removed results after what is before the message at `at` is removed too. Stores what no mask has stored. */
  file(state: GuardState, at: number, archive: Archive): readonly Filed[] | undefined {
    if (!archive.recallable) return undefined;
    const range = { from: this.#firstSent(state), to: at };
    return fileResults(this.#history, this.#masks, range, state.filed ?? [], archive.put);
  }

  /** The part of that list that stands in the context below a line of `line` tokens. */
  listed(state: GuardState, filed: readonly Filed[] = [], line: number): string {
    return listWithin(filed, listBudget(line / state.calibration.slope), this.#tokenizer);
  }

  /** Most tokens of {@link listed}, estimated. */
  #listTokens({ calibration }: GuardState, line: number, { recallable }: Archive): number {
    return recallable ? listBudget(line / calibration.slope) : 0;
  }

  /** Cuts the middle out of the open question until `excess` estimated tokens are saved. */
  #shortenQuestion(state: GuardState, excess: number, archive: Archive): Mask[] {
    const masks: Mask[] = [];
    let left = excess;
    for (const part of shortenableTexts(this.#cutInput(state))) {
      if (left <= 0) break;
      const key = archive.put(part);
      if (key === undefined) continue;
      const where = archive.recallable ? key : undefined;
      const placeholder = shortenToShare(part.text, (part.tokens - left) / part.tokens, where);
      const saved = part.tokens - this.#tokenizer(placeholder);
      if (saved <= 0) continue;
      left -= saved;
      masks.push({ mark: part.mark, key, placeholder, saved });
    }
    return masks;
  }

  /** What the user said before the message at `keepFromMessage`, as far as a summary keeps it word for word. */
  userWords(
    state: GuardState,
    keepFromMessage: number,
    line: number,
    { compact }: GuardPolicy,
  ): { kept: string[]; left: number } {
    const { keepUserWords } = compact ?? DEFAULT_POLICY.compact!;
    const budget = (keepUserWords * line) / state.calibration.slope;
    const said = userWords(this.#history, this.#shape, this.#firstSent(state), keepFromMessage);
    return wordsWithin([...(state.cut?.said ?? []), ...said], budget, this.#tokenizer);
  }

  /** The messages that a summary would replace, as they are sent now. */
  toSummarise(state: GuardState, keepFromMessage: number): M[] {
    const { cut } = state;
    // The new summary takes in the old one. What the user said stays beside both.
    const brief = cut?.summary === undefined ? cut : { ...cut, head: summaryHead(cut.summary, cut.turns) };
    const { messages: shown } = this.build({ ...state, cut: brief, notices: [] });
    const kept = this.#history.entries.length - keepFromMessage;
    return shown.slice(this.#history.pinned, shown.length - kept);
  }

  /** Summarises the same messages without a model. */
  digest(state: GuardState, keepFromMessage: number, maxChars: number): string {
    const { cut } = state;
    const earlier = cut === undefined ? "" : `${clip(cut.summary ?? cut.head, maxChars >> 1)}\n`;
    const room = maxChars - earlier.length;
    return earlier + digest(this.#history, this.#shape, this.#firstSent(state), keepFromMessage, room);
  }

  turnsBefore(at: number): number {
    return turnsBefore(this.#history, at);
  }

  turnsFrom(at: number): number {
    return turnsFrom(this.#history, at);
  }

  /** Places a notice at the end of the view, or before a call that still waits for its results. */
  noticeHere(kind: AgentNotice["kind"], words: (withCounts: boolean) => string): AgentNotice {
    const { units, entries } = this.#history;
    const last = units.at(-1);
    const after = last === undefined || last.complete ? entries.length : last.from;
    return { kind, after, text: words(true), plain: words(false) };
  }

  #firstSent(state: GuardState): number {
    return Math.max(state.cut?.at ?? 0, this.#history.pinned);
  }

  #cutInput(state: GuardState): CutInput<M> {
    const from = this.#firstSent(state);
    return { history: this.#history, masks: this.#masks, calibration: state.calibration, from };
  }
}
