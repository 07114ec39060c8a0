import type { EventBody } from "../events.ts";
import { estimateTokens, type Tokenizer } from "../measure/estimate.ts";
import { clip } from "../view/placeholder.ts";
import type { TokenBudget } from "./budget.ts";
import { limitOf, resolveBudget } from "./budget.ts";
import type { PromptIr, Swap } from "./ir.ts";
import { planCompaction } from "./plan.ts";
import type { Section } from "./section.ts";

/** Why the watcher did, or did not, compact. */
export type WatchStatus =
  /** The level is within the limit. */
  | "within"
  | "compacted"
  /** A compaction was made a moment ago; the next waits. */
  | "cooling"
  /** Over the limit and nothing compactable is left: it waits until a section changes. */
  | "exhausted"
  /** Every section was changed by others while it was summarised: theirs stays, the next look plans anew. */
  | "overtaken"
  /** The previous round is still under way. */
  | "busy";

export interface WatchResult {
  status: WatchStatus;
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
  tokenizer?: Tokenizer;
  /** Epoch ms. */
  clock?: () => number;
  /** Time between looks, ms. */
  intervalMs?: number;
  /** Shortest time between two compactions, ms. */
  coolDownMs?: number;
  /** Most sections compacted in one round; keeps calls to a model apart. */
  perRound?: number;
  onEvent?: (body: EventBody) => void;
  /** Told when a compaction throws; the section is left as it is and tried again a minute later. */
  onError?: (error: unknown, section: Section) => void;
}

/** How long a section is left alone after its compaction threw: a model that is away comes back. ms */
const RETRY_MS = 60_000;

/** Keeps a shared prompt below its limit in the background, lowest value first. */
export class ContextWatcher {
  readonly budget: TokenBudget;
  readonly #ir: PromptIr;
  readonly #options: WatcherOptions;
  readonly #compact: Compact;
  readonly #tokenizer: Tokenizer;
  readonly #clock: () => number;
  /** Sections, by identity, that gave nothing: asking again would give nothing again. */
  readonly #refused = new WeakSet<Section>();
  /** Sections whose compaction threw, and when each may be tried again, epoch ms. */
  readonly #failed = new Map<Section, number>();
  #anyRefused = false;
  readonly #passedOver = { has: (one: Section) => this.#refused.has(one) || this.#failed.has(one) };
  #timer: ReturnType<typeof setInterval> | undefined;
  #busy = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #exhaustedAt: number | undefined;

  constructor(ir: PromptIr, options: WatcherOptions) {
    this.#ir = ir;
    this.#options = options;
    this.budget = resolveBudget(options.budget);
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

  /** One look, now. Never throws. */
  async look(): Promise<WatchResult> {
    const before = this.#ir.total;
    const result = (status: WatchStatus, compacted = 0): WatchResult => ({
      status,
      tokensBefore: before,
      tokensAfter: this.#ir.total,
      compacted,
    });
    if (before <= limitOf(this.budget)) return result("within");
    if (this.#busy) return result("busy");
    const now = this.#clock();
    if (now - this.#lastAt < (this.#options.coolDownMs ?? 0)) return result("cooling");
    if (this.#forgetFailures(now)) this.#exhaustedAt = undefined;
    if (this.#exhaustedAt === this.#ir.version) return result("exhausted");
    const plan = planCompaction(
      this.#ir.sections(),
      before,
      this.budget,
      now,
      this.#anyRefused || this.#failed.size > 0 ? this.#passedOver : undefined,
    );
    if (plan.length === 0) {
      this.#exhaustedAt = this.#ir.version;
      return result("exhausted");
    }
    this.#busy = true;
    try {
      const swaps = await this.#shorten(plan.slice(0, this.#options.perRound ?? plan.length));
      const held = this.#ir.swap(swaps);
      // Nothing given is not yet nothing left: that is for the next plan to find.
      if (held.length === 0) return result(swaps.length > 0 ? "overtaken" : "exhausted");
      this.#lastAt = now;
      const freed = held.reduce((sum, { expect, next }) => sum + expect.tokens - next.tokens, 0);
      const after = this.#ir.total;
      this.#options.onEvent?.({
        type: "compacted",
        trigger: "proactive",
        tokens_before: after + freed,
        tokens_after: after,
        sections: held.length,
      });
      return result("compacted", held.length);
    } finally {
      this.#busy = false;
    }
  }

  async #shorten(plan: readonly Section[]): Promise<Swap[]> {
    const swaps: Swap[] = [];
    const pending: Promise<void>[] = [];
    const accept = (section: Section, content: string | undefined) => {
      const next = content === undefined ? this.#stub(section) : this.#shorter(section, content);
      // A summary no smaller than its section is worse than none.
      if (next.tokens < section.tokens) swaps.push({ expect: section, next });
      else this.#refuse(section);
    };
    for (const section of plan) {
      if (section.stage === "summary") {
        accept(section, undefined);
        continue;
      }
      try {
        const made = this.#compact(section);
        if (typeof made === "string" || made === undefined) accept(section, made);
        else {
          pending.push(
            made.then(
              (content) => accept(section, content),
              (error: unknown) => this.#fail(error, section),
            ),
          );
        }
      } catch (error) {
        this.#fail(error, section);
      }
    }
    if (pending.length > 0) await Promise.all(pending);
    return swaps;
  }

  #refuse(section: Section): void {
    this.#refused.add(section);
    this.#anyRefused = true;
  }

  #fail(error: unknown, section: Section): void {
    this.#failed.set(section, this.#clock() + RETRY_MS);
    this.#options.onError?.(error, section);
  }

  /** Whether a section may be tried again now. Those that were replaced meanwhile are forgotten too. */
  #forgetFailures(now: number): boolean {
    let again = false;
    for (const [section, until] of this.#failed) {
      if (now < until && this.#ir.get(section.id) === section) continue;
      this.#failed.delete(section);
      again = true;
    }
    return again;
  }

  #shorter(section: Section, content: string): Section {
    return { ...section, content, tokens: Math.ceil(this.#tokenizer(content)), stage: "summary" };
  }

  /** Never removed without a word: a model that does not know what is missing makes it up. */
  #stub(section: Section): Section {
    const content = `[${clip(section.label, 80)} -- ${section.tokens} tokens left out; read it again rather than guess]`;
    return { ...section, content, tokens: Math.ceil(this.#tokenizer(content)), stage: "stub" };
  }
}

/** The first part of the content and how much there was. Cheap enough for hundreds at once. */
export function summariseWithoutModel(section: Section): string | undefined {
  const { length } = section.content;
  if (length < 240) return undefined;
  const head = clip(section.content, Math.min(400, length >> 3));
  return `[${clip(section.label, 80)} -- first part of ${length} characters]\n${head}`;
}
