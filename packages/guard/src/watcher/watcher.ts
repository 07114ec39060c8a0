import type { EventBody } from "../events.ts";
import { estimateTokens, type Tokenizer } from "../measure/estimate.ts";
import type { MaskStore } from "../types.ts";
import type { TokenBudget } from "./budget.ts";
import { limitOf, lowWaterOf, resolveBudget } from "./budget.ts";
import type { PromptIr, Swap } from "./ir.ts";
import { leftOutNotes, stubOf, summariseWithoutModel } from "./local.ts";
import { planDescent, planLeavingOut } from "./plan.ts";
import type { Section, Stage } from "./section.ts";

/** Why the watcher did, or did not, compact. */
export type WatchStatus =
  /** The level is within the limit. */
  | "within"
  | "compacted"
  /** Within the limit and above the low-water mark; a compaction was made a moment ago, and the next waits. */
  | "cooling"
  /** Over the limit and nothing compactable is left: it waits until a section changes. */
  | "exhausted"
  /** Within the limit, and every section was changed by others while it was summarised: theirs stays. */
  | "overtaken"
  /** The previous round is still under way. */
  | "busy";

export interface WatchResult {
  status: WatchStatus;
  /** Why it is exhausted: only critical sections are left, and they alone are over the limit. */
  reason?: "critical_only";
  tokensBefore: number;
  tokensAfter: number;
  compacted: number;
}

/** Shortens a section's content; undefined when it cannot. May be a call to a model. */
export type Compact = (section: Section) => Promise<string | undefined> | string | undefined;

export interface WatcherOptions {
  budget: Partial<TokenBudget>;
  /** Summaries without a model when left out. */
  compact?: Compact;
  /** How long `compact` may take before it counts as failed, ms. */
  patienceMs?: number;
  /** Keeps the full text of what is compacted, by the section's id, for `recall`. */
  store?: MaskStore;
  tokenizer?: Tokenizer;
  /** Epoch ms. */
  clock?: () => number;
  /** Time between looks, ms. */
  intervalMs?: number;
  /** Shortest time between two compactions while the level is within the limit, ms. Over it nothing waits. */
  coolDownMs?: number;
  /** Most sections compacted in one round; keeps calls to a model apart. */
  perRound?: number;
  onEvent?: (body: EventBody) => void;
  /** Told when a compaction fails, or its text cannot be stored. Over the limit a section is shortened all the same. */
  onError?: (error: unknown, section: Section) => void;
}

/** After a summariser failed, sections are shortened without it for so long, ms. */
const AWAY_MS = 60_000;
const PATIENCE_MS = 30_000;
/** Kept free for the word on what was left out, tokens. */
const NOTE_ROOM = 60;
/** The section that says what was left out. */
const NOTE_ID = "watcher:left-out";

/**
 * Keeps a shared prompt below its limit in the background, lowest value first. After each look the level is within the
 * limit, unless critical sections alone are over it.
 */
export class ContextWatcher {
  readonly budget: TokenBudget;
  readonly #ir: PromptIr;
  readonly #options: WatcherOptions;
  readonly #compact: Compact;
  readonly #tokenizer: Tokenizer;
  readonly #clock: () => number;
  readonly #limit: number;
  /** Sections, by identity, that could not be made smaller: asking again would give nothing again. */
  readonly #refused = new WeakSet<Section>();
  #anyRefused = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #busy = false;
  /** Passed the limit, and not yet down at the low-water mark. */
  #descending = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #awaySince: number | undefined;
  #exhaustedAt: number | undefined;
  #toldExhausted = false;

  constructor(ir: PromptIr, options: WatcherOptions) {
    this.#ir = ir;
    this.#options = options;
    this.budget = resolveBudget(options.budget);
    this.#limit = limitOf(this.budget);
    this.#compact = options.compact ?? summariseWithoutModel;
    this.#tokenizer = options.tokenizer ?? estimateTokens;
    this.#clock = options.clock ?? Date.now;
  }

  /** Looks every second unless told otherwise. The timer keeps no process alive. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.look(), this.#options.intervalMs ?? 1_000);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The full text of a compacted section, from the store. */
  recall(id: string): string | undefined {
    return this.#options.store?.get(id);
  }

  /** One look, now. Never throws. */
  async look(): Promise<WatchResult> {
    const ir = this.#ir;
    const before = ir.total;
    const result = (status: WatchStatus, compacted = 0): WatchResult => ({
      status,
      ...(status === "exhausted" ? { reason: "critical_only" as const } : {}),
      tokensBefore: before,
      tokensAfter: ir.total,
      compacted,
    });
    if (this.#busy) return result(before <= this.#limit ? "within" : "busy");
    if (before > this.#limit) {
      if (this.#exhaustedAt === ir.version) return result("exhausted");
      this.#descending = true;
    } else {
      this.#toldExhausted = false;
      if (before <= lowWaterOf(this.budget)) this.#descending = false;
      if (!this.#descending || this.#away()) return result("within");
      if (this.#cooling()) return result("cooling");
    }
    this.#busy = true;
    try {
      const { sections, freed, overtaken } = await this.#descend();
      if (sections > 0) {
        this.#lastAt = this.#clock();
        this.#options.onEvent?.({
          type: "compacted",
          trigger: "proactive",
          tokens_before: ir.total + freed,
          tokens_after: ir.total,
          sections,
        });
      }
      if (ir.total > this.#limit) return this.#exhausted(result("exhausted", sections));
      if (sections > 0) return result("compacted", sections);
      return result(overtaken ? "overtaken" : "within");
    } finally {
      this.#busy = false;
    }
  }

  #exhausted(result: WatchResult): WatchResult {
    this.#exhaustedAt = this.#ir.version;
    if (!this.#toldExhausted) {
      this.#toldExhausted = true;
      this.#options.onEvent?.({
        type: "withheld",
        response: "compact",
        reason: "critical_only",
        context_tokens: this.#ir.total,
      });
    }
    return result;
  }

  /** Since the last compaction too little time has passed. A clock that was set back does not make it wait. */
  #cooling(): boolean {
    const since = this.#clock() - this.#lastAt;
    return since >= 0 && since < (this.#options.coolDownMs ?? 0);
  }

  #away(): boolean {
    if (this.#awaySince === undefined) return false;
    const since = this.#clock() - this.#awaySince;
    if (since >= 0 && since < AWAY_MS) return true;
    this.#awaySince = undefined;
    return false;
  }

  /** Rounds until the level is within the limit, or one when it was; whatever is appended meanwhile is seen too. */
  async #descend(): Promise<{ sections: number; freed: number; overtaken: boolean }> {
    const ir = this.#ir;
    let sections = 0;
    let freed = 0;
    let overtaken = false;
    do {
      const plan = planDescent(
        ir.sections(),
        ir.total,
        this.budget,
        this.#clock(),
        this.#anyRefused ? this.#refused : undefined,
      );
      const over = ir.total > this.#limit;
      if (plan.length === 0) {
        if (!over) break;
        const left = this.#leaveOut();
        sections += left.sections;
        freed += left.freed;
        break;
      }
      // What was overtaken once is shortened without waiting: nobody can come between then.
      const made = this.#shorten(plan.slice(0, this.#options.perRound ?? plan.length), overtaken && over);
      const swaps = made instanceof Promise ? await made : made;
      const held = ir.swap(swaps);
      overtaken = swaps.length > 0 && held.length === 0;
      sections += held.length;
      for (const { expect, next } of held) freed += expect.tokens - next.tokens;
    } while (ir.total > this.#limit);
    return { sections, freed, overtaken };
  }

  /** Without a promise where no summariser gives one, so that nobody can come between. */
  #shorten(plan: readonly Section[], local: boolean): Swap[] | Promise<Swap[]> {
    const swaps: Swap[] = [];
    const pending: Promise<void>[] = [];
    const accept = (section: Section, content: string | undefined) => {
      const next = this.#shorter(section, content);
      if (next === undefined) {
        this.#refused.add(section);
        this.#anyRefused = true;
        return;
      }
      this.#keep(section);
      swaps.push({ expect: section, next });
    };
    const failed = (section: Section, error: unknown) => {
      this.#awaySince = this.#clock();
      this.#options.onError?.(error, section);
      // Within the limit there is no hurry: it stays as it is, and the summariser is asked again later.
      if (this.#ir.total > this.#limit) accept(section, summariseWithoutModel(section));
    };
    for (const section of plan) {
      if (section.stage === "summary") {
        accept(section, undefined);
        continue;
      }
      if (local || this.#away()) {
        accept(section, summariseWithoutModel(section));
        continue;
      }
      try {
        const made = this.#compact(section);
        if (typeof made === "string" || made === undefined) accept(section, made);
        else {
          pending.push(
            this.#inTime(made).then(
              (content) => accept(section, content),
              (error: unknown) => failed(section, error),
            ),
          );
        }
      } catch (error) {
        failed(section, error);
      }
    }
    return pending.length === 0 ? swaps : Promise.all(pending).then(() => swaps);
  }

  async #inTime(made: Promise<string | undefined>): Promise<string | undefined> {
    const patience = this.#options.patienceMs ?? PATIENCE_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no summary within ${patience} ms`)), patience);
    });
    try {
      return await Promise.race([made, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The first that is really smaller: what was made of it, its first part, a stub. Undefined when none is. */
  #shorter(section: Section, content: string | undefined): Section | undefined {
    const made = (text: string | undefined, stage: Stage): Section | undefined => {
      if (text === undefined || text.trim() === "") return undefined;
      const tokens = Math.ceil(this.#tokenizer(text));
      return tokens < section.tokens ? { ...section, content: text, tokens, stage } : undefined;
    };
    return (
      made(content, "summary") ??
      made(content === undefined ? undefined : summariseWithoutModel(section), "summary") ??
      made(stubOf(section), "stub")
    );
  }

  /** Only the text as it was first given: a summary of it is no original. */
  #keep(section: Section): void {
    if (section.stage !== undefined && section.stage !== "full") return;
    try {
      this.#options.store?.put(section.id, section.content);
    } catch (error) {
      this.#options.onError?.(error, section);
    }
  }

  /** The last thing that can be done: whole sections go, and one word stays for all of them. */
  #leaveOut(): { sections: number; freed: number } {
    const ir = this.#ir;
    const before = ir.total;
    const plan = planLeavingOut(ir.sections(), before, this.budget, this.#clock(), NOTE_ROOM);
    for (const section of plan) this.#keep(section);
    ir.swap(
      plan.map((expect) => ({ expect, next: { ...expect, content: "", tokens: 0, stage: "left_out" } })),
    );
    this.#note();
    return { sections: plan.length, freed: before - ir.total };
  }

  #note(): void {
    const ir = this.#ir;
    const left = ir.sections().filter(({ stage }) => stage === "left_out");
    if (left.length === 0) {
      ir.remove(NOTE_ID);
      return;
    }
    const others = ir.total - (ir.get(NOTE_ID)?.tokens ?? 0);
    const notes = leftOutNotes(left).map(
      (content): Section => ({
        id: NOTE_ID,
        label: "left out",
        content,
        tokens: Math.ceil(this.#tokenizer(content)),
        priority: "critical",
      }),
    );
    // Where critical sections alone are over the limit the word costs nothing more; else it must fit below it.
    const note = others > this.#limit ? notes[0] : notes.find(({ tokens }) => others + tokens <= this.#limit);
    if (note === undefined) ir.remove(NOTE_ID);
    else ir.put(note);
  }
}
