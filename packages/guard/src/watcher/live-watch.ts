import type { Conversation } from "../conversation/conversation.ts";
import { isTooSoon, lineOfAction } from "../decide/decide.ts";
import { inContext } from "../measure/calibrate.ts";
import { type ActionInput, compact, expectedTokens, mask } from "../respond/actions.ts";
import type { Companion } from "../respond/companion.ts";
import { turnsSince } from "../respond/decision-facts.ts";
import type { Responses } from "../respond/respond.ts";
import { maskedNotice } from "../respond/texts.ts";
import { modelSummarizer } from "../summary/summarizer.ts";
import type { ResultPart } from "../view/history.ts";
import { clip, shortenedInput, summaryOf } from "../view/placeholder.ts";
import { limitOf, lowWaterOf, type TokenBudget } from "./budget.ts";
import { FirstSent } from "./first-sent.ts";
import { scaleOf, sectionsOf, shortTexts } from "./live-sections.ts";
import type { OptimisticOptions } from "./optimistic.ts";
import { PreparedSummary, type Ready } from "./prepared-summary.ts";
import { PromptIr } from "./prompt-ir.ts";
import type { Section } from "./section.ts";
import { ContextWatcher, DEFAULT_PATIENCE_MS } from "./watcher.ts";

type Applied<M> = Omit<Responses<M>, "status">;

/** How far below the limit preparation goes at least, as a fraction of the line. */
const LOW_WATER_RATIO = 0.3;
/** What it leaves at least, however fast the context grows, as a fraction of the line. */
const LEAST_LOW_WATER = 0.3;

/** Turns before the guard's line at which its summary is begun. An earlier one would cover less, and may not be needed. */
const TURNS_AHEAD = 2;
/** Share of what a new summary could free that a prepared one must free to stand in for it. */
const LEAST_OF_FRESH = 0.75;

/** Prepares the edits of one conversation in the background. */
export class LiveWatch<M> implements Companion<M> {
  readonly #conversation: Conversation<M>;
  readonly #options: OptimisticOptions<M>;
  readonly #onStop: () => void;
  readonly #clock: () => number;
  /** The prompt with what is prepared. */
  readonly #ir = new PromptIr();
  /** The prompt as it is sent now. */
  readonly #sent = new Map<string, Section>();
  readonly #firstSent = new FirstSent();
  /** Sections whose shorter text saves nothing or could not be stored. */
  readonly #unfit = new Set<string>();
  /** Inputs of tools that may be shortened, by their section. They must stay JSON, so no model writes them. */
  readonly #inputs = new Map<string, unknown>();
  readonly #watcher: ContextWatcher;
  readonly #summary: PreparedSummary<M>;
  readonly #checks = new Set<Promise<void>>();
  /** True if the harness itself cannot write summaries. */
  #alone = false;
  /** Shorter texts that are ready for the prompt that is being prepared, by the marks of their parts. */
  #texts: ReadonlyMap<string, string> = new Map();
  #tokensOf: (text: string) => number = () => 0;
  /** False while there is nothing to prepare or to apply, so that turns far below the limit cost nothing. */
  #active = false;
  #stopped = false;

  constructor(conversation: Conversation<M>, options: OptimisticOptions<M>, onStop: () => void) {
    this.#conversation = conversation;
    this.#options = options;
    this.#onStop = onStop;
    this.#clock = options.clock ?? Date.now;
    const { summaryModel, patienceMs = DEFAULT_PATIENCE_MS, perRound } = options;
    const summarize =
      options.summarize ?? (summaryModel && modelSummarizer(conversation.shape, summaryModel));
    const onError = (error: unknown) => this.#report(error);
    this.#watcher = new ContextWatcher(this.#ir, {
      budget: options.budget ?? {},
      tokenizer: (text) => this.#tokensOf(text),
      clock: this.#clock,
      lastResort: "keep",
      patienceMs,
      onError,
      compact: (section, signal) => {
        const input = this.#inputs.get(section.id);
        if (input !== undefined) return shortenedInput(input, undefined);
        return (options.compact ?? asPlaceholder)(section, signal);
      },
      ...(perRound !== undefined && { perRound }),
    });
    this.#summary = new PreparedSummary({ summarize, patienceMs, clock: this.#clock, onError });
  }

  get summarizes(): boolean {
    return this.#options.summarize !== undefined || this.#options.summaryModel !== undefined;
  }

  get isReady(): boolean {
    return this.#texts.size > 0 || this.#summary.isReady;
  }

  apply(input: ActionInput<M>, { roomTokens, summaries }: Parameters<Companion<M>["apply"]>[1]): Applied<M> {
    const applied: Applied<M> = { state: input.state, events: [], actions: [] };
    this.#alone = !summaries;
    this.#texts = new Map();
    if (!this.#active || !this.#resize(input)) return applied;
    this.#sync(input);
    this.#texts = shortTexts(this.#ir.sections(), this.#sent);
    const level = expectedTokens(input);
    if (level <= limitOf(this.#watcher.budget) || isPacing(input, level, roomTokens)) return applied;
    this.#applyTexts(input, level, applied);
    this.#applySummary({ ...input, state: applied.state }, level, applied);
    return applied;
  }

  text({ mark }: ResultPart, key: string | undefined): string | undefined {
    // A text that no harness wrote says no more than the guard's own placeholder, which the harness may have set.
    const text = this.#options.compact === undefined ? undefined : this.#texts.get(mark);
    return text === undefined ? undefined : withRecallKey(text, key);
  }

  summary(input: ActionInput<M>): Applied<M> | undefined {
    const applied: Applied<M> = { state: input.state, events: [], actions: [] };
    const ready = this.#summary.ready(input.state);
    if (ready === undefined) return undefined;
    const { editor, state, policy, limits, archive } = input;
    const line = lineOfAction(limits).compact ?? 0;
    const { compact } = policy;
    const most =
      this.#alone || compact === null ? 0 : editor.compactGain(state, line, compact, policy, archive);
    this.#replace(input, ready, applied, (gain) => gain >= most * LEAST_OF_FRESH);
    this.#summary.drop();
    return applied.events.length === 0 ? undefined : applied;
  }

  changed(input: ActionInput<M>): void {
    if (this.#active && this.#resize(input)) this.#sync(input);
  }

  observed(now: () => ActionInput<M>): void {
    const input = now();
    if (!this.#resize(input)) return;
    this.#firstSent.record(input.state.seen?.exact ?? [], this.#clock());
    const over = expectedTokens(input) > limitOf(this.#watcher.budget);
    if (over) this.#active = true;
    if (!this.#active) return;
    this.#sync(input);
    // Something else freed so much that another one will cover more when it is needed.
    if (expectedTokens(input) <= halfWay(this.#summaryBudget(input))) this.#summary.drop();
    if (over) {
      const check: Promise<void> = this.#check(now).finally(() => this.#checks.delete(check));
      this.#checks.add(check);
    } else if (!this.#watcher.busy && !this.#summary.isOpen) this.#active = false;
  }

  async settled(): Promise<void> {
    while (this.#checks.size > 0) await Promise.all(this.#checks);
  }

  stop(): void {
    this.#stopped = true;
    this.#watcher.stop();
    this.#summary.drop();
    this.#onStop();
  }

  async #check(now: () => ActionInput<M>): Promise<void> {
    if (this.#ir.total <= limitOf(this.#watcher.budget)) return;
    await this.#watcher.check();
    if (this.#stopped) return;
    const input = now();
    const least = this.#leastSummaryGain(input);
    if (least !== undefined) await this.#summary.prepare(input, this.#watcher.budget.total, least);
  }

  /** Learns the line to stay below. Returns false if there is none, or the guard may not act. */
  #resize({ policy, limits, state }: ActionInput<M>): boolean {
    if (this.#stopped || policy.mode === "warn_only") return false;
    const total =
      this.#options.budget?.total ?? lineOfAction(limits).mask ?? this.#conversation.read().windowTokens;
    if (total === undefined) return false;
    const { reserveRatio } = this.#watcher.budget;
    const room = (state.growth * policy.pace.roomTurns) / total;
    const most = Math.max(0, 1 - reserveRatio - LEAST_LOW_WATER);
    const { lowWaterRatio = Math.min(most, Math.max(LOW_WATER_RATIO, room)) } = this.#options.budget ?? {};
    this.#watcher.resize({ total, lowWaterRatio });
    return true;
  }

  /** Brings the sections up to the conversation, and drops what was prepared from others. */
  #sync(input: ActionInput<M>): void {
    const { editor, state, policy } = input;
    const parts = editor.parts(state, policy);
    // The conversation let go of its messages.
    if (parts.length === 0) return;
    const expected = expectedTokens(input);
    const scale = scaleOf(state.calibration.slope, editor.estimate(state), expected);
    // With room for the notice to the agent that comes with masked texts.
    const level = expected + scale * editor.textTokens(maskedNotice(parts.length, 1, true));
    const head = state.cut && { text: state.cut.head, tokens: editor.textTokens(state.cut.head) };
    this.#tokensOf = (text) => scale * editor.textTokens(text);
    const fit = parts.map((part) => (this.#unfit.has(part.id) ? { ...part, maskable: false } : part));
    const sections = sectionsOf(
      fit,
      { head, level, scale },
      (print) => this.#firstSent.at(print),
      this.#sent,
    );
    this.#inputs.clear();
    for (const { kind, id, input, maskable } of fit)
      if (kind === "call" && maskable) this.#inputs.set(id, input);
    const ids = new Set(sections.map(({ id }) => id));
    for (const id of this.#sent.keys()) {
      if (ids.has(id)) continue;
      this.#sent.delete(id);
      this.#unfit.delete(id);
      this.#ir.remove(id);
    }
    for (const section of sections) {
      if (this.#sent.get(section.id) === section) continue;
      this.#sent.set(section.id, section);
      this.#ir.put(section);
    }
    this.#watcher.dropStale();
    this.#summary.dropStale(input);
  }

  /** Masks the texts that have a shorter version. */
  #applyTexts(input: ActionInput<M>, level: number, applied: Applied<M>): void {
    const texts = this.#texts;
    if (texts.size === 0 || !this.#isWorthwhile(input, level)) return;
    const result = mask(input, {
      level,
      target: Number.NEGATIVE_INFINITY,
      urgent: false,
      only: ({ mark }) => texts.has(mark),
      placeholder: ({ mark }, key) => withRecallKey(texts.get(mark)!, key),
    });
    const masked = new Set((result?.state ?? input.state).masks.map(({ mark }) => mark));
    for (const mark of texts.keys()) if (!masked.has(mark)) this.#unfit.add(mark);
    if (result === undefined) return;
    applied.events.push({ body: result.event, window: input.state.window });
    applied.actions.push(result.action);
    applied.state = result.state;
  }

  /** Each change costs the provider's prompt cache, so a batch is applied as a whole, or at the line. */
  #isWorthwhile(input: ActionInput<M>, level: number): boolean {
    const { budget, busy } = this.#watcher;
    if (this.#leavesToGuard(lineOfAction(input.limits).mask))
      return !busy && this.#isLarge(input, level) && isRoomy(input, level - this.#ir.total);
    if (level >= budget.total) return true;
    return !busy && (this.#ir.total <= limitOf(budget) || this.#isLarge(input, level));
  }

  /** Whether shorter texts save as much as the guard's own masks must. */
  #isLarge({ policy }: ActionInput<M>, level: number): boolean {
    return level - this.#ir.total >= (policy.mask?.minGain ?? 0) * this.#watcher.budget.total;
  }

  /**
   * Whether the guard acts at this line. What would free room for fewer turns than the guard's own pace then waits for it: acting
   * before the line costs more actions. A budget that the harness set holds whatever it costs.
   */
  #leavesToGuard(line: number | undefined): line is number {
    return line !== undefined && this.#options.budget === undefined;
  }

  /** The line at which the harness would write a summary, in tokens; undefined if there is none to wait for. */
  #summaryLine({ limits }: ActionInput<M>): number | undefined {
    const line = lineOfAction(limits).compact;
    return this.#leavesToGuard(line) && !this.#alone ? line : undefined;
  }

  /** The budget with the line at which the guard summarises. */
  #summaryBudget(input: ActionInput<M>): TokenBudget {
    const { budget } = this.#watcher;
    return { ...budget, total: this.#summaryLine(input) ?? budget.total };
  }

  /** The least gain of a summary that is worth preparing now, in tokens; undefined if none is. */
  #leastSummaryGain(input: ActionInput<M>): number | undefined {
    const { state, policy, limits, editor } = input;
    const budget = this.#summaryBudget(input);
    const level = expectedTokens(input);
    // While shorter texts are still being written, a summary may be there earlier.
    const left = this.#watcher.busy || !this.#isLarge(input, level) ? level : this.#ir.total;
    if (level <= limitOf(budget) || left <= halfWay(budget)) return undefined;
    const own = this.#summaryLine(input);
    if (own === undefined) return 0;
    const line = lineOfAction(limits).mask;
    const soon = editor.candidates(state, policy.mask, true).reduce((sum, { saves }) => sum + saves, 0);
    const masks =
      line !== undefined && inContext(state.calibration, soon) >= (policy.mask?.minGain ?? 1) * line;
    const isNear = level > own - state.growth * TURNS_AHEAD && !masks;
    // So that a summary after another turn would not free much more.
    return state.growth * (isNear ? LEAST_OF_FRESH / (1 - LEAST_OF_FRESH) : policy.pace.roomTurns);
  }

  /**
   * Replaces older turns with their summary before the line. A fresh session begins only at the guard's own line.
   * @param before level before texts were shortened, in tokens
   */
  #applySummary(input: ActionInput<M>, before: number, applied: Applied<M>): void {
    const level = expectedTokens(input);
    const ready = this.#summary.ready(input.state);
    const budget = this.#summaryBudget(input);
    if (ready === undefined || before <= limitOf(budget) || level <= halfWay(budget)) return;
    if (ready.how === "fresh_session" && level < (lineOfAction(input.limits).compact ?? 0)) return;
    const waits = this.#summaryLine(input) !== undefined;
    if (this.#replace(input, ready, applied, (gain) => !waits || isRoomy(input, gain))) this.#summary.drop();
  }

  /** Returns false if the summary frees less than is wanted, and is left for later. */
  #replace(
    input: ActionInput<M>,
    { text, how, at }: Ready,
    applied: Applied<M>,
    isWanted: (gain: number) => boolean,
  ): boolean {
    const { editor, state } = input;
    if (!editor.isCutPoint(at)) return true;
    const level = expectedTokens(input);
    const result = compact(input, text, how, at);
    // The guard asks for another one when it needs it.
    if (!("event" in result)) return true;
    const tokensAfter = expectedTokens({ editor, state: result.state });
    if (!isWanted(level - tokensAfter)) return false;
    applied.state = result.state;
    applied.events.push({ body: result.event, window: state.window });
    if (how === "compact") applied.actions.push({ type: "compacted", tokensBefore: level, tokensAfter });
    else {
      const { session } = result.state;
      const carriedTurns = editor.turnsFrom(at);
      const previousTurns = state.turns;
      applied.actions.push({ type: "restart", reason: "ceiling", session, previousTurns, carriedTurns });
    }
    return true;
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // Continue: an error here would end the process as an unhandled rejection.
    }
  }
}

/** One line, as the guard's own masks are. A longer text would be shortened again soon, and each change costs the cache. */
const asPlaceholder = ({ label, content }: Section) => `[${clip(label, 80)} -- ${summaryOf(content, label)}]`;

/** Between the limit and the low-water mark. If shorter texts do not reach it, the next turns would need more. */
const halfWay = (budget: TokenBudget) => (limitOf(budget) + lowWaterOf(budget)) / 2;

/** Whether a gain lasts for as many turns as the guard's own actions should. */
const isRoomy = <M>({ state, policy }: ActionInput<M>, gain: number) =>
  gain >= state.growth * policy.pace.roomTurns;

/** True if the guard acted too few turns ago, and the prompt still fits. */
function isPacing<M>(
  { state, policy, limits }: ActionInput<M>,
  level: number,
  windowTokens: number | undefined,
): boolean {
  if (windowTokens !== undefined && level >= windowTokens) return false;
  return isTooSoon({ turnsSinceAction: turnsSince(state.actedAt, state.allTurns), level, limits }, policy);
}

function withRecallKey(text: string, key: string | undefined): string {
  return key === undefined ? text : `${text}\n[recall key ${key}]`;
}
