import type { Limits } from "../decide.ts";
import type { Tokenizer } from "../measure/estimate.ts";
import type { CompactPolicy, GuardPolicy, MaskPolicy, RestartPolicy } from "../policy.ts";
import type { GuardState, Mask, Notice } from "../state.ts";
import { compositionOf, type Parts } from "./composition.ts";
import {
  carryover,
  compactGain,
  keepFrom,
  type Standing,
  shortenable,
  turnsBefore,
  turnsFrom,
} from "./cuts.ts";
import { digest } from "./digest.ts";
import { History, type ResultPart } from "./history.ts";
import { type Candidate, candidates, maskOldest } from "./mask.ts";
import { clip, shortenedTo } from "./placeholder.ts";
import type { Shape } from "./shape.ts";
import { estimateView, View } from "./view.ts";

/** What stays however urgent the need is not for a prompt that would not fit at all. */
const NOTHING_PROTECTED = { keepTurns: 0, keepTokens: 0, keepErrors: false } as const;

/** Where texts are put before something shorter takes their place. */
export interface Keep {
  /**
   * Puts a text aside and says under which key; what cannot be kept is left as it is: a mask that cannot be lifted would
   * be a loss.
   */
  as: (part: ResultPart) => string | undefined;
  /** There is a store, in which it can be found again under that key. */
  stored: boolean;
}

/**
 * The messages of a harness, and the view of them under the edits a state holds: how large it is, what may be taken
 * out of it, and how it reads. Decides nothing and changes no state.
 */
export class Editor<M> {
  readonly #shape: Shape<M>;
  readonly #tokenizer: Tokenizer;
  readonly #history: History<M>;
  readonly #view: View<M>;
  #masks = new Map<string, Mask>();

  constructor(shape: Shape<M>, tokenizer: Tokenizer, masks: readonly Mask[]) {
    this.#shape = shape;
    this.#tokenizer = tokenizer;
    this.#history = new History(shape, tokenizer);
    this.#view = new View(shape);
    this.setMasks(masks);
  }

  /** Takes over what the state says is masked. */
  setMasks(masks: readonly Mask[]): void {
    this.#masks = new Map(masks.map((mask) => [mask.id, mask]));
  }

  sync(messages: readonly M[]): void {
    this.#history.sync(messages);
  }

  /** Estimated tokens of what would be sent. */
  estimate(state: GuardState): number {
    return estimateView(this.#history, state, this.#masks, this.#tokenizer);
  }

  /** What would be sent. */
  build(state: GuardState): M[] {
    return this.#view.build(this.#history, state, this.#masks);
  }

  /** What fills the level, tokens. */
  composition(state: GuardState, level: number): Parts {
    return compositionOf(this.#history, state, this.#masks, level);
  }

  /** Results that may be masked, oldest first; with `urgent` the newest turns are not spared. */
  candidates(state: GuardState, policy: MaskPolicy | null, urgent: boolean): Candidate[] {
    if (policy === null) return [];
    const effective = urgent ? { ...policy, ...NOTHING_PROTECTED } : policy;
    const from = this.#firstSent(state);
    return candidates(this.#history, this.#masks, effective, state.calibration.slope, from);
  }

  /** Masks for the oldest candidates, until `needed` estimated tokens are saved; `keep` says where the text is, and may refuse. */
  mask(
    found: readonly Candidate[],
    needed: number,
    placeholder: (part: ResultPart) => string,
    keep: Keep,
  ): { mask: Mask; part: ResultPart }[] {
    return maskOldest(found, needed, placeholder, this.#tokenizer).flatMap(({ mask, part }) => {
      const key = keep.as(part);
      if (key === undefined) return [];
      return [{ mask: key === part.id ? mask : { ...mask, key }, part }];
    });
  }

  /** Tokens that a summary could save at most. */
  compactGain(state: GuardState, line: number, policy: CompactPolicy): number {
    return compactGain(this.#standing(state), line, policy);
  }

  /** First canonical message that a summary leaves as it is. */
  keepFrom(state: GuardState, line: number, how: CompactPolicy["how"], policy: GuardPolicy): number {
    return keepFrom(this.#standing(state), line, how, policy.compact?.keepTurns ?? 4);
  }

  /** What is carried into the next session below its marker, and the tokens that are freed by it, estimated. */
  carryover(
    state: GuardState,
    marker: string,
    limits: Limits,
    policy: RestartPolicy,
    keep: Keep,
  ): { at: number; masks: Mask[]; gain: number } {
    const head = this.#tokenizer(marker) + 4;
    const { at, excess, gain } = carryover(this.#standing(state), head, this.estimate(state), limits, policy);
    const masks = this.#shortenQuestion(state, excess, keep);
    return { at, masks, gain: masks.reduce((sum, { saved }) => sum + saved, gain) };
  }

  /** Masks that cut the middle out of the open question, until `excess` estimated tokens are saved. */
  #shortenQuestion(state: GuardState, excess: number, keep: Keep): Mask[] {
    const masks: Mask[] = [];
    let left = excess;
    for (const part of shortenable(this.#standing(state))) {
      if (left <= 0) break;
      const key = keep.as(part);
      if (key === undefined) continue;
      const where = keep.stored ? key : undefined;
      const placeholder = shortenedTo(part.text, (part.tokens - left) / part.tokens, where);
      const saved = part.tokens - this.#tokenizer(placeholder);
      if (saved <= 0) continue;
      left -= saved;
      masks.push({ id: part.id, ...(key === part.id ? {} : { key }), placeholder, saved });
    }
    return masks;
  }

  /** What a summary would take the place of, as it is sent now. */
  toSummarise(state: GuardState, keepFromMessage: number): M[] {
    const shown = this.build(state);
    const kept = this.#history.entries.length - keepFromMessage;
    return shown.slice(this.#history.pinned, shown.length - kept);
  }

  /** A summary of the same without a model. */
  digest(state: GuardState, keepFromMessage: number, maxChars: number): string {
    const earlier = state.cut === undefined ? "" : `${clip(state.cut.head, maxChars >> 1)}\n`;
    const room = maxChars - earlier.length;
    return earlier + digest(this.#history, this.#shape, this.#firstSent(state), keepFromMessage, room);
  }

  turnsBefore(at: number): number {
    return turnsBefore(this.#history, at);
  }

  turnsFrom(at: number): number {
    return turnsFrom(this.#history, at);
  }

  /** A notice at the end of what is sent; never between a call and its results: there it goes before them. */
  noticeHere(kind: Notice["kind"], text: string): Notice {
    const { units, entries } = this.#history;
    const last = units.at(-1);
    return { kind, after: last === undefined || last.complete ? entries.length : last.from, text };
  }

  #firstSent(state: GuardState): number {
    return Math.max(state.cut?.at ?? 0, this.#history.pinned);
  }

  #standing(state: GuardState): Standing<M> {
    const from = this.#firstSent(state);
    return { history: this.#history, masks: this.#masks, calibration: state.calibration, from };
  }
}
