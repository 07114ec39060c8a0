import { resolveWindow, utilizationOf, windowLookup } from "@plimsoll/protocol/pure";
import type { Facts, GuardStatus, Limits, RestartReason } from "./decide.ts";
import { decide, limitsOf, lineOfAction, windDownOver } from "./decide.ts";
import type { EventBody, Identity } from "./events.ts";
import { eventOf } from "./events.ts";
import { calibrate, inContext, type Prediction, predict } from "./measure/calibrate.ts";
import type { Tokenizer } from "./measure/estimate.ts";
import { estimateTokens, tokenizerScale } from "./measure/estimate.ts";
import { readUsage } from "./measure/usage.ts";
import type { TurnObserved } from "./observe.ts";
import { observeTurn } from "./observe.ts";
import type { GuardPolicy } from "./policy.ts";
import { resolvePolicy } from "./policy.ts";
import type { GuardState, Mask } from "./state.ts";
import { newState } from "./state.ts";
import {
  COMPACTING_NOTICE,
  handoffHead,
  maskedNotice,
  maxRestartsReached,
  RESTART_CONFIRMATION,
  restartMarker,
  summaryHead,
  windDownNotice,
} from "./texts.ts";
import { turnBody } from "./turn-event.ts";
import type { Action, GuardOptions, GuardReading, Observation, ObserveFacts, Prepared } from "./types.ts";
import { compositionOf } from "./view/composition.ts";
import { carryFrom, compactGain, keepFrom, type Standing, turnsBefore, turnsFrom } from "./view/cuts.ts";
import { digest } from "./view/digest.ts";
import { History, type ResultPart } from "./view/history.ts";
import { candidates, maskOldest } from "./view/mask.ts";
import { clip, placeholderFor } from "./view/placeholder.ts";
import type { Message, Shape } from "./view/shape.ts";
import { plainShape } from "./view/shape.ts";
import { estimateView, View } from "./view/view.ts";

/**
 * Keeps one agent's context under its line. Synchronous and without I/O: `observe` takes what a provider counted,
 * `prepare` gives the messages to send and says what was or must be done.
 */
export class ContextGuard<M = Message> {
  policy: GuardPolicy;
  readonly identity: Identity;
  readonly shape: Shape<M>;
  readonly #options: GuardOptions<M>;
  readonly #tokenizer: Tokenizer;
  readonly #history: History<M>;
  readonly #view: View<M>;
  readonly #clock: () => number;
  #state: GuardState;
  #masks: Map<string, Mask>;

  constructor(options: GuardOptions<M>) {
    this.#options = options;
    this.identity = options.identity;
    this.policy = resolvePolicy(options.policy);
    // Without a shape M is Message: the type parameter's default and this one go together.
    this.shape = options.shape ?? (plainShape as unknown as Shape<M>);
    this.#tokenizer = options.tokenizer ?? estimateTokens;
    this.#history = new History(this.shape, this.#tokenizer);
    this.#view = new View(this.shape);
    this.#clock = options.clock ?? Date.now;
    const scale = options.tokenizer === undefined ? tokenizerScale(options.model) : 1;
    this.#state = options.state ?? { ...newState(scale, options.overheadTokens ?? 0), model: options.model };
    this.#masks = new Map(this.#state.masks.map((mask) => [mask.id, mask]));
  }

  /** The state as plain JSON, to be given to another guard later. */
  snapshot(): GuardState {
    return structuredClone(this.#state);
  }

  get state(): Readonly<GuardState> {
    return this.#state;
  }

  read(): GuardReading {
    const window = this.#window();
    const level =
      this.#state.sent === undefined ? undefined : predict(this.#state.calibration, this.#state.sent);
    return {
      level,
      peak: this.#state.peak,
      windowTokens: window.tokens,
      windowSource: window.source,
      utilization: utilizationOf(this.#state.level ?? level?.tokens, window.tokens),
      limits: limitsOf(this.policy.thresholds, window.tokens),
    };
  }

  /** Takes whatever a provider or SDK returned for one call. Never throws for what it cannot read. */
  observe(value: unknown, facts: ObserveFacts = {}): Observation {
    const reading = readUsage(value);
    if (reading.kind === "none") {
      this.#learnWindows(reading.windows);
      return {
        kind: reading.reason,
        level: this.#state.level,
        utilization: undefined,
        flags: [],
        crossed: [],
      };
    }
    const at = this.#clock();
    const model = reading.model ?? facts.model ?? this.#state.model ?? "unknown";
    if (facts.contextWindow !== undefined) this.reportWindow(facts.contextWindow, model);
    const id = reading.id ?? facts.id ?? `turn-${at.toString(36)}-${this.#state.events.toString(36)}`;
    const agent = facts.agent ?? reading.agent;
    const own = this.identity.agent ?? "main";
    if ((agent !== undefined && agent !== own) || facts.purpose !== undefined) {
      this.#emitTurn(id, at, model, reading.usage, facts, undefined, agent);
      return { kind: "other", level: this.#state.level, utilization: undefined, flags: [], crossed: [] };
    }
    const window = this.#window(model);
    const observed = observeTurn(
      this.#state,
      { id, at, model, usage: reading.usage, windowTokens: window.tokens },
      this.policy,
    );
    this.#state = observed.state;
    this.#settleWindDown(window.tokens);
    this.#emitTurn(id, at, model, observed.usage, facts, observed, undefined);
    for (const crossing of observed.crossings) {
      this.#emit({
        type: "threshold_crossed",
        threshold: crossing.threshold,
        direction: crossing.up ? "up" : "down",
        threshold_tokens: crossing.thresholdTokens,
        context_tokens: crossing.contextTokens,
      });
    }
    return {
      kind: observed.merged ? "merged" : "turn",
      level: observed.level,
      utilization: observed.utilization,
      flags: observed.flags,
      crossed: observed.crossings.map(({ threshold, up, thresholdTokens }) => ({
        threshold,
        up,
        tokens: thresholdTokens,
      })),
    };
  }

  /** The window size as the provider states it beats what was configured. Tokens. */
  reportWindow(tokens: number, model = this.#state.model): void {
    if (tokens > 0) this.#state = { ...this.#state, reported: { model, tokens } };
  }

  /** What `messages` would be counted as now, with everything edited so far and nothing new done. */
  estimate(messages: readonly M[]): { level: Prediction; limits: Limits } {
    this.#history.sync(messages);
    this.#forgetLost(messages.length);
    const sent = this.#estimate();
    this.#state = { ...this.#state, sent };
    const { tokens } = this.#window();
    return {
      level: predict(this.#state.calibration, sent),
      limits: limitsOf(this.policy.thresholds, tokens),
    };
  }

  /** The messages as they would be sent now, with nothing new done. */
  view(messages: readonly M[]): M[] {
    this.#history.sync(messages);
    return this.#view.build(this.#history, this.#state, this.#masks);
  }

  /** An exact count of what the last `prepare` gave, from a tokenizer or a counting API. Tokens. */
  counted(tokens: number): void {
    const { sent, calibration } = this.#state;
    if (sent === undefined) return;
    this.#state = { ...this.#state, calibration: calibrate(calibration, sent, tokens), lowered: false };
  }

  /** What to send instead of `messages`, which are neither kept nor changed. */
  prepare(messages: readonly M[]): Prepared<M> {
    this.#history.sync(messages);
    this.#forgetLost(messages.length);
    const actions: Action<M>[] = [];
    const window = this.#window();
    const limits = limitsOf(this.policy.thresholds, window.tokens);
    let status: GuardStatus = "clear";
    let compacting = false;
    for (let step = 0; step < 6; step++) {
      const estimate = this.#estimate();
      const level = predict(this.#state.calibration, estimate);
      this.#settleWindDown(window.tokens, level.tokens);
      const decision = decide(this.#facts(level.tokens, window.tokens, limits, compacting), this.policy);
      if (decision.type === "rest") {
        status = decision.status;
        break;
      }
      if (decision.type === "mask") {
        const action = this.#mask(level.tokens, decision.target, decision.urgent);
        if (action === undefined) {
          status = "exhausted";
          break;
        }
        actions.push(action);
        continue;
      }
      if (decision.type === "compact" || decision.type === "fresh_session") {
        const asked = this.#state.compactAsked;
        actions.push(this.#compactAction(decision.type, decision.line));
        this.#state = { ...this.#state, compactAsked: asked ?? this.#state.allTurns };
        // A summary asked for a turn ago and not given: what comes after it in the order must not wait for it.
        if (asked === undefined || asked === this.#state.allTurns) break;
        compacting = true;
        continue;
      }
      if (decision.type === "wind_down") {
        actions.push(this.#windDown(level.tokens, window.tokens, limits.hard ?? 0, decision.turnsLeft));
        status = "winding_down";
        break;
      }
      if (decision.type === "stop") {
        actions.push({ ...decision, say: maxRestartsReached(this.policy.restart?.max ?? 0) });
        break;
      }
      if (decision.confirm) {
        actions.push({ type: "confirm_restart", reason: decision.reason, say: RESTART_CONFIRMATION });
        break;
      }
      actions.push(this.#restart(decision.reason));
    }
    const estimate = this.#estimate();
    this.#state = { ...this.#state, sent: estimate };
    return {
      messages: this.#view.build(this.#history, this.#state, this.#masks),
      actions,
      status,
      level: predict(this.#state.calibration, estimate),
    };
  }

  /**
   * The summary a `compact` or `fresh_session` action asked for; then call `prepare` again. `no_gain`: it was refused
   * because it saves too little, and no other is asked for until the context has grown.
   */
  compacted(
    summary: string,
    how: "compact" | "fresh_session" = this.policy.compact?.how ?? "compact",
  ): "done" | "no_gain" {
    const window = this.#window();
    const limits = limitsOf(this.policy.thresholds, window.tokens);
    const line = lineOfAction(limits).compact ?? this.#state.level ?? 0;
    const before = predict(this.#state.calibration, this.#estimate()).tokens;
    const at = this.#keepFrom(line, how);
    const head =
      how === "compact" ? summaryHead(summary, turnsBefore(this.#history, at)) : handoffHead(summary);
    const kept = this.#state;
    this.#state = { ...kept, cut: { at, head, turns: turnsBefore(this.#history, at) } };
    const after = predict(kept.calibration, this.#estimate()).tokens;
    if (before - after < (this.policy.compact?.minGain ?? 0) * line) {
      this.#state = { ...kept, compactAfter: Math.round(before * 1.1), compactAsked: undefined };
      return "no_gain";
    }
    this.#state = { ...this.#state, compactAsked: undefined, lowered: true, compactAfter: 0 };
    this.#dropNotices(at);
    if (how === "compact") {
      this.#state.compactions += 1;
      this.#emit({ type: "compacted", trigger: "proactive", tokens_before: before, tokens_after: after });
    } else {
      this.#newSession("ceiling", turnsFrom(this.#history, at));
    }
    return "done";
  }

  /** A summary made without a model, of what a `compact` action would have summarised. */
  digest(maxChars = 4_000): string {
    const line = lineOfAction(limitsOf(this.policy.thresholds, this.#window().tokens)).compact ?? 0;
    const from = Math.max(this.#state.cut?.at ?? 0, this.#history.pinned);
    const to = this.#keepFrom(line, this.policy.compact?.how ?? "compact");
    const earlier = this.#state.cut === undefined ? "" : `${clip(this.#state.cut.head, maxChars >> 1)}\n`;
    return earlier + digest(this.#history, this.shape, from, to, maxChars - earlier.length);
  }

  /** Starts the next session now, over the messages of the last `prepare`: the answer to `confirm_restart`. */
  restart(reason: RestartReason | "ceiling" = "requested"): Action<M> {
    return this.#restart(reason);
  }

  /**
   * For a harness that takes what `prepare` returned as its new history, as after a restart: what was edited in the
   * view is now part of the messages themselves.
   */
  adopt(): void {
    this.#masks.clear();
    this.#state = { ...this.#state, masks: [], cut: undefined, notices: [] };
  }

  /** Gives masked results back in full from the next `prepare` on; all of them when no ids are named. */
  unmask(ids: readonly string[] = [...this.#masks.keys()]): number {
    const before = this.#masks.size;
    for (const id of ids) this.#masks.delete(id);
    this.#state = { ...this.#state, masks: [...this.#masks.values()] };
    return before - this.#masks.size;
  }

  /** The full text of a masked result, from the store. */
  recall(id: string): string | undefined {
    return this.#options.store?.get(id);
  }

  #facts(level: number, windowTokens: number | undefined, limits: Limits, compacting: boolean): Facts {
    const { restarts, windDownAt, allTurns, calibration } = this.#state;
    const lines = lineOfAction(limits);
    const pressed = lines.mask !== undefined && level >= lines.mask;
    const full = windowTokens !== undefined && level >= windowTokens;
    const gain = (urgent: boolean) =>
      inContext(
        calibration,
        this.#candidates(urgent).reduce((sum, candidate) => sum + candidate.saves, 0),
      );
    return {
      level,
      windowTokens,
      limits,
      maskGain: pressed ? gain(false) : 0,
      urgentGain: full ? gain(true) : 0,
      compactGain: compacting ? 0 : this.#compactGain(level, lines.compact),
      windDownTurns: windDownAt === undefined ? undefined : allTurns - windDownAt,
      restarts,
    };
  }

  #candidates(urgent: boolean) {
    const policy = this.policy.mask;
    if (policy === null) return [];
    const effective = urgent ? { ...policy, keepTurns: 0, keepTokens: 0, keepErrors: false } : policy;
    const from = Math.max(this.#state.cut?.at ?? 0, this.#history.pinned);
    return candidates(this.#history, this.#masks, effective, this.#state.calibration.slope, from);
  }

  #mask(level: number, target: number, urgent: boolean): Action<M> | undefined {
    const { slope } = this.#state.calibration;
    const write = this.#options.placeholder ?? placeholderFor;
    const masked = maskOldest(
      this.#candidates(urgent),
      (level - target) / slope,
      write,
      this.#tokenizer,
    ).filter(({ part }) => this.#stored(part));
    if (masked.length === 0) return undefined;
    for (const { mask } of masked) this.#masks.set(mask.id, mask);
    this.#state = { ...this.#state, masks: [...this.#masks.values()], lowered: true };
    this.#state.maskings += 1;
    const bare = predict(this.#state.calibration, this.#estimate()).tokens;
    this.#notice("masked", maskedNotice(masked.length, level === 0 ? 0 : (level - bare) / level));
    const after = predict(this.#state.calibration, this.#estimate()).tokens;
    this.#state.reclaimed = { estimated: level - after, measured: undefined };
    const tools = [...new Set(masked.map(({ part }) => part.tool))];
    this.#emit({
      type: "masked",
      observations: masked.length,
      total_masked: this.#masks.size,
      tokens_before: level,
      tokens_after: after,
      tools,
    });
    return { type: "mask", observations: masked.length, tools, tokensBefore: level, tokensAfter: after };
  }

  #compactAction(how: "compact" | "fresh_session", line: number): Action<M> {
    const to = this.#keepFrom(line, how);
    const shown = this.#view.build(this.#history, this.#state, this.#masks);
    const kept = this.#history.entries.length - to;
    const messages = shown.slice(this.#history.pinned, shown.length - kept);
    const say = COMPACTING_NOTICE;
    return { type: how, messages, maxChars: Math.max(400, Math.round(line * 0.4)), say };
  }

  #windDown(
    level: number,
    windowTokens: number | undefined,
    hardTokens: number,
    turnsLeft: number,
  ): Action<M> {
    const asking = this.policy.restart?.how === "ask";
    const text = windDownNotice({
      contextTokens: level,
      windowTokens,
      hardTokens,
      graceTurns: turnsLeft,
      asking,
    });
    this.#notice("wind_down", text);
    this.#state = { ...this.#state, windDownAt: this.#state.allTurns };
    this.#emit({ type: "wind_down", context_tokens: level, turns_left: turnsLeft });
    return { type: "wind_down", text, turnsLeft };
  }

  #settleWindDown(windowTokens: number | undefined, level = this.#state.level): void {
    if (this.#state.windDownAt === undefined || level === undefined) return;
    if (!windDownOver(level, limitsOf(this.policy.thresholds, windowTokens))) return;
    const notices = this.#state.notices.filter((notice) => notice.kind !== "wind_down");
    this.#state = { ...this.#state, windDownAt: undefined, notices };
  }

  #restart(reason: RestartReason | "ceiling"): Action<M> {
    const previousTurns = this.#state.turns;
    const marker = restartMarker(this.#state.session + 1, previousTurns);
    const at = carryFrom(
      this.#standing(),
      this.#tokenizer(marker) + 4,
      limitsOf(this.policy.thresholds, this.#window().tokens),
      this.policy.restart,
    );
    const carriedTurns = turnsFrom(this.#history, at);
    this.#state = {
      ...this.#state,
      cut: { at, head: marker, turns: turnsBefore(this.#history, at) },
      lowered: true,
    };
    this.#dropNotices(Number.POSITIVE_INFINITY);
    this.#newSession(reason, carriedTurns);
    return { type: "restart", reason, session: this.#state.session, previousTurns, carriedTurns };
  }

  #newSession(reason: string, carriedTurns: number): void {
    const { turns, session, window, restarts } = this.#state;
    this.#emit({
      type: "restarted",
      number: session + 1,
      previous_turns: turns,
      carryover_turns: carriedTurns,
      reason,
    });
    this.#state = {
      ...this.#state,
      session: session + 1,
      window: window + 1,
      restarts: restarts + 1,
      turns: 0,
      level: undefined,
      windDownAt: undefined,
      compactAsked: undefined,
      compactAfter: 0,
      lowered: true,
    };
  }

  #notice(kind: "masked" | "wind_down", text: string): void {
    const { units, entries } = this.#history;
    const last = units.at(-1);
    // Between a call and its results nothing may stand: the notice goes before them.
    const after = last === undefined || last.complete ? entries.length : last.from;
    this.#state = { ...this.#state, notices: [...this.#state.notices, { kind, after, text }] };
  }

  #dropNotices(before: number): void {
    this.#state = { ...this.#state, notices: this.#state.notices.filter((notice) => notice.after >= before) };
  }

  /** A harness that cleared its own history starts from nothing: edits of messages that are gone are dropped. */
  #forgetLost(length: number): void {
    const { cut, notices } = this.#state;
    const lost = cut !== undefined && cut.at > length;
    const stale = notices.some((notice) => notice.after > length);
    if (!lost && !stale) return;
    this.#state = {
      ...this.#state,
      cut: lost ? undefined : cut,
      notices: notices.filter((notice) => notice.after <= length),
      lowered: true,
    };
  }

  /** What cannot be kept is not masked: a mask that cannot be lifted would be a loss. */
  #stored(part: ResultPart): boolean {
    try {
      this.#options.store?.put(part.id, part.text);
      return true;
    } catch {
      return false;
    }
  }

  #compactGain(level: number, line: number | undefined): number {
    const { compact } = this.policy;
    if (compact === null || line === undefined || level < line || level < this.#state.compactAfter) return 0;
    return compactGain(this.#standing(), line, compact);
  }

  #keepFrom(line: number, how: "compact" | "fresh_session"): number {
    return keepFrom(this.#standing(), line, how, this.policy.compact?.keepTurns ?? 4);
  }

  #standing(): Standing<M> {
    const from = Math.max(this.#state.cut?.at ?? 0, this.#history.pinned);
    return { history: this.#history, masks: this.#masks, calibration: this.#state.calibration, from };
  }

  #estimate(): number {
    return estimateView(this.#history, this.#state, this.#masks, this.#tokenizer);
  }

  #window(model = this.#state.model) {
    const { reported } = this.#state;
    const { window } = this.#options;
    return resolveWindow(
      {
        model: model ?? "",
        reported:
          reported !== undefined && (reported.model === undefined || reported.model === model)
            ? reported.tokens
            : undefined,
      },
      {
        configured: () => (typeof window === "number" ? window : undefined),
        catalog: typeof window === "function" ? window : NO_CATALOG,
      },
    );
  }

  #learnWindows(windows: Readonly<Record<string, number>>): void {
    const { model } = this.#state;
    const tokens = model === undefined ? undefined : windows[model];
    if (tokens !== undefined) this.reportWindow(tokens, model);
  }

  #emitTurn(
    id: string,
    at: number,
    model: string,
    usage: TurnObserved["usage"],
    facts: ObserveFacts,
    observed: TurnObserved | undefined,
    agent: string | undefined,
  ): void {
    if (this.#options.onEvent === undefined) return;
    const own = this.identity.agent ?? "main";
    const other = agent !== undefined && agent !== own;
    const level = this.#state.sent === undefined ? undefined : observed?.level;
    const window = this.#window(model);
    const body = turnBody({
      id,
      model,
      usage,
      facts,
      observed,
      // A size from a catalog is left out: the server's own is as good, and can be corrected there.
      reportedWindow: other || window.source === "catalog" ? undefined : window.tokens,
      composition:
        level === undefined ? undefined : compositionOf(this.#history, this.#state, this.#masks, level),
    });
    const identity = other ? { ...this.identity, agent, parentAgent: own } : this.identity;
    this.#options.onEvent(
      eventOf(identity, at, other ? undefined : this.#state.window, this.#number(), body),
    );
  }

  /** Reports something the harness did or saw itself, as an event of this agent in its present window. */
  note(body: EventBody): void {
    this.#emit(body);
    if (body.type === "compacted" || body.type === "masked") this.#state = { ...this.#state, lowered: true };
  }

  #emit(body: EventBody): void {
    const number = this.#number();
    this.#options.onEvent?.(eventOf(this.identity, this.#clock(), this.#state.window, number, body));
  }

  #number(): number {
    this.#state = { ...this.#state, events: this.#state.events + 1 };
    return this.#state.events;
  }
}

const NO_CATALOG = windowLookup(() => undefined);

export function createGuard<M = Message>(options: GuardOptions<M>): ContextGuard<M> {
  return new ContextGuard(options);
}
