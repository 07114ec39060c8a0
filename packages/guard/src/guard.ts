import { utilizationOf } from "@plimsoll/protocol/pure";
import {
  type Act,
  askForSummary,
  compact,
  type Desk,
  expectedTokens,
  mask,
  restart,
  windDown,
} from "./acts.ts";
import { settleWindDown, withoutLostEdits } from "./changes.ts";
import type { GuardStatus, Limits, RestartReason } from "./decide.ts";
import { decide, howToCompact, limitsOf, lineOfAction } from "./decide.ts";
import type { EventBody, Identity } from "./events.ts";
import { eventOf } from "./events.ts";
import { factsOf } from "./facts.ts";
import { keptUnder } from "./kept.ts";
import { calibrate, type Prediction, predict } from "./measure/calibrate.ts";
import type { Tokenizer } from "./measure/estimate.ts";
import { estimateTokens, tokenizerScale } from "./measure/estimate.ts";
import { readUsage } from "./measure/usage.ts";
import type { TurnObserved } from "./observe.ts";
import { observeTurn } from "./observe.ts";
import type { GuardPolicy } from "./policy.ts";
import { resolvePolicy } from "./policy.ts";
import type { GuardState } from "./state.ts";
import { newState } from "./state.ts";
import { maxRestartsReached, RESTART_CONFIRMATION } from "./texts.ts";
import { turnBody } from "./turn-event.ts";
import type { Action, GuardOptions, GuardReading, Observation, ObserveFacts, Prepared } from "./types.ts";
import { Editor } from "./view/editor.ts";
import { placeholderFor } from "./view/placeholder.ts";
import type { Message, Shape } from "./view/shape.ts";
import { plainShape } from "./view/shape.ts";
import { windowOf } from "./window.ts";

type Withheld = Extract<EventBody, { type: "withheld" }>;

/**
 * Keeps one agent's context under its line. Synchronous and without I/O: `observe` takes what a provider counted,
 * `prepare` gives the messages to send and says what was or must be done.
 */
export class ContextGuard<M = Message> {
  policy: GuardPolicy;
  readonly identity: Identity;
  readonly shape: Shape<M>;
  readonly #options: GuardOptions<M>;
  readonly #editor: Editor<M>;
  readonly #clock: () => number;
  #state: GuardState;

  constructor(options: GuardOptions<M>) {
    this.#options = options;
    this.identity = options.identity;
    this.policy = resolvePolicy(options.policy);
    // Without a shape M is Message: the type parameter's default and this one go together.
    this.shape = options.shape ?? (plainShape as unknown as Shape<M>);
    this.#clock = options.clock ?? Date.now;
    const scale = options.tokenizer === undefined ? tokenizerScale(options.model) : 1;
    this.#state = options.state ?? { ...newState(scale, options.overheadTokens ?? 0), model: options.model };
    const tokenizer: Tokenizer = options.tokenizer ?? estimateTokens;
    this.#editor = new Editor(this.shape, tokenizer, this.#state.masks);
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
    this.#state = settleWindDown(this.#state, this.#limits(model), this.#state.level);
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
    this.#sync(messages);
    const sent = this.#editor.estimate(this.#state);
    this.#state = { ...this.#state, sent };
    return { level: predict(this.#state.calibration, sent), limits: this.#limits() };
  }

  /** The messages as they would be sent now, with nothing new done. */
  view(messages: readonly M[]): M[] {
    this.#editor.sync(messages);
    return this.#editor.build(this.#state);
  }

  /** An exact count of what the last `prepare` gave, from a tokenizer or a counting API. Tokens. */
  counted(tokens: number): void {
    const { sent, calibration } = this.#state;
    if (sent === undefined) return;
    this.#state = { ...this.#state, calibration: calibrate(calibration, sent, tokens), lowered: false };
  }

  /** What to send instead of `messages`, which are neither kept nor changed. */
  prepare(messages: readonly M[]): Prepared<M> {
    this.#sync(messages);
    const actions: Action<M>[] = [];
    const window = this.#window();
    const limits = limitsOf(this.policy.thresholds, window.tokens);
    let status: GuardStatus = "clear";
    let pointless = false;
    let compacting = false;
    let request: Action<M> | undefined;
    let place = 0;
    for (let step = 0; step < 6; step++) {
      const level = expectedTokens(this.#desk(limits));
      this.#state = settleWindDown(this.#state, limits, level);
      const decision = decide(factsOf(this.#desk(limits), level, window.tokens, compacting), this.policy);
      if (decision.type === "rest") {
        status = decision.status;
        pointless = decision.withheld !== undefined;
        // Said once: what is tried again with every prompt is a loop.
        if (pointless && !this.#state.restartPointless) this.#withhold("restart", "no_gain");
        break;
      }
      if (decision.type === "mask") {
        const act = mask(this.#desk(limits), {
          level,
          target: decision.target,
          urgent: decision.urgent,
          placeholder: this.#options.placeholder ?? placeholderFor,
        });
        if (act === undefined) {
          status = "exhausted";
          break;
        }
        actions.push(this.#take(act));
        continue;
      }
      if (decision.type === "compact" || decision.type === "fresh_session") {
        const asked = this.#state.compactAsked;
        request = askForSummary(this.#desk(limits), decision.type, decision.line);
        place = actions.length;
        // A summary asked for a turn ago and not given: what comes after it in the order must not wait for it.
        if (asked === undefined || asked === this.#state.allTurns) break;
        compacting = true;
        continue;
      }
      if (decision.type === "wind_down") {
        actions.push(this.#take(windDown(this.#desk(limits), level, window.tokens, decision.turnsLeft)));
        status = "winding_down";
        break;
      }
      if (decision.type === "stop") {
        this.#withhold("restart", decision.reason);
        actions.push({ ...decision, say: maxRestartsReached(this.policy.restart?.max ?? 0) });
        break;
      }
      if (decision.confirm) {
        this.#withhold("restart", "unconfirmed");
        actions.push({ type: "confirm_restart", reason: decision.reason, say: RESTART_CONFIRMATION });
        break;
      }
      actions.push(this.restart(decision.reason));
    }
    // A restart leaves nothing to summarise.
    if (request !== undefined && !actions.some((action) => action.type === "restart")) {
      this.#settleRequest();
      this.#state = { ...this.#state, compactAsked: this.#state.compactAsked ?? this.#state.allTurns };
      actions.splice(place, 0, request);
    }
    const sent = this.#editor.estimate(this.#state);
    this.#state = { ...this.#state, sent, restartPointless: pointless };
    return {
      messages: this.#editor.build(this.#state),
      actions,
      status,
      level: predict(this.#state.calibration, sent),
    };
  }

  /**
   * The summary a `compact` or `fresh_session` action asked for; then call `prepare` again. `otherwise` makes another
   * for when the first saves too little. `no_gain`: both were refused, and no other is asked for until the context has
   * grown. `overtaken`: none is waited for any more, as a restart came first, and nothing is changed.
   */
  compacted(
    summary: string,
    how: "compact" | "fresh_session" = this.#how(),
    otherwise?: () => string,
  ): "done" | "no_gain" | "overtaken" {
    if (this.#state.compactAsked === undefined) return "overtaken";
    let act = compact(this.#desk(), summary, how);
    if (!("event" in act) && otherwise !== undefined) act = compact(this.#desk(), otherwise(), how);
    if ("event" in act) return this.#take(act);
    this.#state = act.state;
    this.#withhold("compact", "no_gain");
    return act.action;
  }

  /** A summary made without a model, of what a `compact` action would have summarised. */
  digest(maxChars = 4_000): string {
    const line = lineOfAction(this.#limits()).compact ?? 0;
    const to = this.#editor.keepFrom(this.#state, line, this.#how(), this.policy);
    return this.#editor.digest(this.#state, to, maxChars);
  }

  /** Starts the next session now, over the messages of the last `prepare`: the answer to `confirm_restart`. */
  restart(reason: RestartReason | "ceiling" = "requested"): Action<M> {
    this.#settleRequest();
    return this.#take(restart(this.#desk(), reason));
  }

  /**
   * For a harness that takes what `prepare` returned as its new history, as after a restart: what was edited in the
   * view is now part of the messages themselves.
   */
  adopt(): void {
    this.#state = { ...this.#state, masks: [], cut: undefined, notices: [] };
    this.#editor.setMasks([]);
  }

  /** Gives masked results back in full from the next `prepare` on; all of them when no ids are named. */
  unmask(ids?: readonly string[]): number {
    const before = this.#state.masks;
    const masks = ids === undefined ? [] : before.filter((mask) => !ids.includes(mask.id));
    this.#state = { ...this.#state, masks };
    this.#editor.setMasks(masks);
    return before.length - masks.length;
  }

  /** The full text of a masked result, from the store. */
  recall(id: string): string | undefined {
    const mask = this.#state.masks.find((one) => one.id === id);
    return this.#options.store?.get(mask?.key ?? id);
  }

  /** A summary asked for earlier was not given, and what follows takes its place. */
  #settleRequest(): void {
    if (this.#state.compactAsked !== undefined) this.#withhold("compact", "no_summary");
  }

  #withhold(response: Withheld["response"], reason: Withheld["reason"]): void {
    this.#emit({ type: "withheld", response, reason, context_tokens: expectedTokens(this.#desk()) });
  }

  #sync(messages: readonly M[]): void {
    this.#editor.sync(messages);
    this.#state = withoutLostEdits(this.#state, messages.length);
  }

  #desk(limits: Limits = this.#limits()): Desk<M> {
    const { store } = this.#options;
    return {
      editor: this.#editor,
      state: this.#state,
      policy: this.policy,
      limits,
      keep: { as: ({ id, text }) => keptUnder(store, id, text), stored: store !== undefined },
    };
  }

  /** Takes over what a response did and reports it, as of the window it was done in. */
  #take<A>({ state, event, action }: Act<A>): A {
    const { window } = this.#state;
    this.#state = state;
    this.#emit(event, window);
    return action;
  }

  #how(): "compact" | "fresh_session" {
    const { compact } = this.policy;
    return compact === null ? "compact" : howToCompact(this.#state, compact, this.policy);
  }

  #window(model?: string) {
    return windowOf(this.#state, this.#options.window, model);
  }

  #limits(model?: string): Limits {
    return limitsOf(this.policy.thresholds, this.#window(model).tokens);
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
      composition: level === undefined ? undefined : this.#editor.composition(this.#state, level),
    });
    const identity = other ? { ...this.identity, agent, parentAgent: own } : this.identity;
    this.#options.onEvent(
      eventOf(identity, at, other ? undefined : this.#state.window, this.#number(), body),
    );
  }

  /**
   * Reports something the harness did or saw itself, as an event of this agent in its present window, or of a
   * sub-agent, which has windows of its own.
   */
  note(body: EventBody, subAgent?: string): void {
    if (subAgent !== undefined) {
      const identity = { ...this.identity, agent: subAgent, parentAgent: this.identity.agent ?? "main" };
      this.#options.onEvent?.(eventOf(identity, this.#clock(), undefined, this.#number(), body));
      return;
    }
    this.#emit(body);
    if (body.type === "compacted" || body.type === "masked") this.#state = { ...this.#state, lowered: true };
  }

  #emit(body: EventBody, window = this.#state.window): void {
    const number = this.#number();
    this.#options.onEvent?.(eventOf(this.identity, this.#clock(), window, number, body));
  }

  #number(): number {
    this.#state = { ...this.#state, events: this.#state.events + 1 };
    return this.#state.events;
  }
}

export function createGuard<M = Message>(options: GuardOptions<M>): ContextGuard<M> {
  return new ContextGuard(options);
}
