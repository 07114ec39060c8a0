import type { MaskStore } from "../conversation/types.ts";
import { estimateTokens, type Tokenizer } from "../measure/estimate.ts";
import type { EventBody } from "../report/events.ts";
import { BackgroundWork } from "./background-work.ts";
import { limitOf, lowWaterOf, resolveBudget, type TokenBudget } from "./budget.ts";
import { leftOutNotes, stubOf, summariseWithoutModel } from "./built-in-summary.ts";
import { planLeavingOut, planToLowWater } from "./plan.ts";
import type { PromptIr, Swap } from "./prompt-ir.ts";
import type { Recency, Section, Stage } from "./section.ts";

/** The result of one check. */
export type WatchStatus =
  /** The level is within the limit. */
  | "within"
  | "compacted"
  /** Within the limit but above the low-water mark, and the cool-down since the last compaction is not over. */
  | "cooling"
  /** Over the limit with nothing left to compact. The watcher waits until a section changes. */
  | "exhausted"
  /** Within the limit, and every chosen section changed while it was being summarised, so nothing was replaced. */
  | "overtaken"
  /** Over the limit while the previous check is still running. */
  | "busy"
  /** `stop` was called during the check, so nothing more was replaced. */
  | "stopped";

/** What one check did. */
export interface WatchResult {
  status: WatchStatus;
  /** Set when exhausted: the critical sections alone exceed the limit. */
  reason?: "critical_only";
  tokensBefore: number;
  tokensAfter: number;
  /** Number of compacted sections. */
  compacted: number;
}

/**
 * Shortens a section's content, for example with a model. Returns `undefined` if it cannot. `signal` ends after
 * `patienceMs`, on `stop()`, and with `dropStale()` if the prompt no longer holds the section.
 */
export type Compact = (
  section: Section,
  signal: AbortSignal,
) => Promise<string | undefined> | string | undefined;

/** Options of a {@link ContextWatcher}. */
export interface WatcherOptions {
  budget: Partial<TokenBudget>;
  /** Summarises a section. Default: {@link summariseWithoutModel}. */
  compact?: Compact;
  /** Timeout of `compact`, in ms. Default: 30,000. */
  patienceMs?: number;
  /** Stores the full text of compacted sections under their ids, for `recall`. */
  store?: MaskStore;
  /** Counts the tokens of one text. Default: the built-in estimator. */
  tokenizer?: Tokenizer;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
  /** Weight of a section by its age in hours. Default: `halfLife`. */
  recency?: Recency;
  /** Time between checks, in ms. Default: 1,000. */
  intervalMs?: number;
  /**
   * Least time between two compactions while the level is within the limit, in ms. Over the limit it does not apply.
   * Default: 0.
   */
  coolDownMs?: number;
  /** Maximum number of sections compacted at once, which limits parallel model calls. Default: no limit. */
  perRound?: number;
  /**
   * What to do over the limit when no section can be shortened further: leave out whole sections, lowest score first,
   * or keep them. Default: `leave_out`.
   */
  lastResort?: "leave_out" | "keep";
  /** Receives `compacted` and `withheld` events without their envelope, such as `guard.note`. */
  onEvent?: (body: EventBody) => void;
  /** Called when `compact` fails or a text cannot be stored. Over the limit, the section is shortened anyway. */
  onError?: (error: unknown, section: Section) => void;
}

/** After `compact` fails, the built-in summary is used for this long, in ms. */
export const FAILURE_PAUSE_MS = 60_000;
export const DEFAULT_PATIENCE_MS = 30_000;
/** Tokens reserved for the note about left-out sections. */
const NOTE_ROOM = 60;
/** Id of the section with that note. */
const NOTE_ID = "watcher:left-out";

/**
 * Keeps a shared prompt within its limit in the background and compacts the least valuable sections first. After each
 * check the level is within the limit, unless critical sections alone exceed it.
 * @example
 * const watcher = new ContextWatcher(prompt, { budget: { total: 16_000, reserveRatio: 0.25 } });
 * watcher.start();
 * await watcher.check(); // before a prompt is sent
 * watcher.stop();
 */
export class ContextWatcher {
  readonly #work = new BackgroundWork<Section>();
  readonly #ir: PromptIr;
  readonly #options: WatcherOptions;
  readonly #compact: Compact;
  readonly #tokenizer: Tokenizer;
  readonly #clock: () => number;
  #budget: TokenBudget;
  #limit: number;
  /** Sections that could not be shortened. Compared by identity, because a changed section is a new object. */
  readonly #refused = new WeakSet<Section>();
  #anyRefused = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #busy = false;
  /** Number of calls of `stop`. */
  #stops = 0;
  /** True from crossing the limit until the level reaches the low-water mark. */
  #descending = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #failedAt: number | undefined;
  #exhaustedAt: number | undefined;
  #reportedExhausted = false;

  constructor(ir: PromptIr, options: WatcherOptions) {
    this.#ir = ir;
    this.#options = options;
    this.#budget = resolveBudget(options.budget);
    this.#limit = limitOf(this.#budget);
    this.#compact = options.compact ?? summariseWithoutModel;
    this.#tokenizer = options.tokenizer ?? estimateTokens;
    this.#clock = options.clock ?? Date.now;
  }

  get budget(): TokenBudget {
    return this.#budget;
  }

  /** True while a check is running. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Changes fields of the budget. */
  resize(budget: Partial<TokenBudget>): void {
    this.#budget = resolveBudget({ ...this.#budget, ...budget });
    this.#limit = limitOf(this.#budget);
  }

  /** Starts checking every `intervalMs`. The timer does not keep the process alive. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.check(), this.#options.intervalMs ?? 1_000);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Stops checking in the background, and aborts the calls of `compact`. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stops++;
    this.#work.drop(() => true);
  }

  /** Aborts the calls of `compact` for sections that the prompt no longer holds. */
  dropStale(): void {
    this.#work.drop((section) => this.#ir.get(section.id) !== section);
  }

  /** Returns the full text of a compacted section from the store, or `undefined`. */
  recall(id: string): string | undefined {
    return this.#options.store?.get(id);
  }

  /** Checks the level now and compacts if needed. Never throws. */
  async check(): Promise<WatchResult> {
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
      this.#reportedExhausted = false;
      if (before <= lowWaterOf(this.budget)) this.#descending = false;
      if (!this.#descending || this.#summariserPaused()) return result("within");
      if (this.#isCoolingDown()) return result("cooling");
    }
    this.#busy = true;
    const stops = this.#stops;
    try {
      const { sections, freed, overtaken } = await this.#compactToLowWater();
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
      if (stops !== this.#stops) return result("stopped", sections);
      if (ir.total > this.#limit) return this.#reportExhausted(result("exhausted", sections));
      if (sections > 0) return result("compacted", sections);
      return result(overtaken ? "overtaken" : "within");
    } finally {
      this.#busy = false;
    }
  }

  #reportExhausted(result: WatchResult): WatchResult {
    this.#exhaustedAt = this.#ir.version;
    if (!this.#reportedExhausted) {
      this.#reportedExhausted = true;
      this.#options.onEvent?.({
        type: "withheld",
        response: "compact",
        reason: "critical_only",
        context_tokens: this.#ir.total,
      });
    }
    return result;
  }

  /** True during the cool-down. A clock that was set back ends it. */
  #isCoolingDown(): boolean {
    const since = this.#clock() - this.#lastAt;
    return since >= 0 && since < (this.#options.coolDownMs ?? 0);
  }

  #summariserPaused(): boolean {
    if (this.#failedAt === undefined) return false;
    const since = this.#clock() - this.#failedAt;
    if (since >= 0 && since < FAILURE_PAUSE_MS) return true;
    this.#failedAt = undefined;
    return false;
  }

  /**
   * Compacts in rounds until the level is within the limit, or once if it already was. Includes sections appended in
   * the meantime.
   */
  async #compactToLowWater(): Promise<{ sections: number; freed: number; overtaken: boolean }> {
    const ir = this.#ir;
    const stops = this.#stops;
    let sections = 0;
    let freed = 0;
    let overtaken = false;
    do {
      const plan = planToLowWater(
        ir.sections(),
        ir.total,
        this.budget,
        this.#clock(),
        this.#anyRefused ? this.#refused : undefined,
        this.#options.recency,
      );
      const over = ir.total > this.#limit;
      if (plan.length === 0) {
        if (!over || this.#options.lastResort === "keep") break;
        const left = this.#leaveOut();
        sections += left.sections;
        freed += left.freed;
        break;
      }
      // After losing to a concurrent change, shorten synchronously so that nothing can interfere.
      const made = this.#shorten(plan.slice(0, this.#options.perRound ?? plan.length), overtaken && over);
      const swaps = made instanceof Promise ? await made : made;
      if (stops !== this.#stops) break;
      const held = ir.swap(swaps);
      overtaken = swaps.length > 0 && held.length === 0;
      sections += held.length;
      for (const { expect, next } of held) freed += expect.tokens - next.tokens;
    } while (ir.total > this.#limit && stops === this.#stops);
    return { sections, freed, overtaken };
  }

  /**
   * Shortens the planned sections. Returns synchronously unless `compact` is asynchronous, so that no change can
   * interfere.
   */
  #shorten(plan: readonly Section[], local: boolean): Swap[] | Promise<Swap[]> {
    const swaps: Swap[] = [];
    const pending: Promise<void>[] = [];
    const accept = (section: Section, content: string | undefined) => {
      const next = this.#shorterVersion(section, content);
      if (next === undefined) {
        this.#refused.add(section);
        this.#anyRefused = true;
        return;
      }
      this.#storeFullText(section);
      swaps.push({ expect: section, next });
    };
    const failed = (section: Section, error: unknown) => {
      this.#failedAt = this.#clock();
      this.#options.onError?.(error, section);
      // Within the limit the section stays as it is, and the summariser is tried again later.
      if (this.#ir.total > this.#limit) accept(section, summariseWithoutModel(section));
    };
    for (const section of plan) {
      if (section.stage === "summary") {
        accept(section, undefined);
        continue;
      }
      if (local || this.#summariserPaused()) {
        accept(section, summariseWithoutModel(section));
        continue;
      }
      try {
        const patience = this.#options.patienceMs ?? DEFAULT_PATIENCE_MS;
        const made = this.#work.call(section, patience, (signal) => this.#compact(section, signal));
        if (!(made instanceof Promise)) accept(section, made);
        else {
          pending.push(
            made.then((outcome) => {
              if (outcome.kind === "done") accept(section, outcome.value);
              else if (outcome.kind === "failed") failed(section, outcome.error);
            }),
          );
        }
      } catch (error) {
        failed(section, error);
      }
    }
    return pending.length === 0 ? swaps : Promise.all(pending).then(() => swaps);
  }

  /**
   * Returns the first version that is smaller than the section: the given summary, the built-in summary, or a stub.
   */
  #shorterVersion(section: Section, content: string | undefined): Section | undefined {
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

  /** Stores the original text of a section. A summary is not stored. */
  #storeFullText(section: Section): void {
    if (section.stage !== undefined && section.stage !== "full") return;
    try {
      this.#options.store?.put(section.id, section.content);
    } catch (error) {
      this.#options.onError?.(error, section);
    }
  }

  /** Last resort: leaves out whole sections and adds one note about all of them. */
  #leaveOut(): { sections: number; freed: number } {
    const ir = this.#ir;
    const before = ir.total;
    const plan = planLeavingOut(
      ir.sections(),
      before,
      this.budget,
      this.#clock(),
      NOTE_ROOM,
      this.#options.recency,
    );
    for (const section of plan) this.#storeFullText(section);
    ir.swap(
      plan.map((expect) => ({ expect, next: { ...expect, content: "", tokens: 0, stage: "left_out" } })),
    );
    this.#updateNote();
    return { sections: plan.length, freed: before - ir.total };
  }

  #updateNote(): void {
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
    // If critical sections alone exceed the limit, use the long note; otherwise the note must fit below the limit.
    const note = others > this.#limit ? notes[0] : notes.find(({ tokens }) => others + tokens <= this.#limit);
    if (note === undefined) ir.remove(NOTE_ID);
    else ir.put(note);
  }
}
