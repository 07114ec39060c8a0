import { type Usage, utilizationOf } from "@plimsoll/protocol/pure";
import {
  type ActionInput,
  type ActionResult,
  askForSummary,
  compact,
  expectedTokens,
  mask,
  restart,
  windDown,
} from "./actions.ts";
import type { GuardStatus, Limits, RestartReason } from "./decide.ts";
import { decide, howToCompact, limitsOf, lineOfAction } from "./decide.ts";
import { factsOf } from "./decision-facts.ts";
import { GuardError } from "./error.ts";
import type { EventBody, Identity } from "./events.ts";
import { eventOf } from "./events.ts";
import { calibrate, type Prediction, predict } from "./measure/calibrate.ts";
import { estimateTokens, tokenizerScale } from "./measure/estimate.ts";
import { readUsage, type UsageReading } from "./measure/usage.ts";
import type { TurnObserved } from "./observe.ts";
import { observeTurn } from "./observe.ts";
import type { GuardPolicy } from "./policy.ts";
import { resolvePolicy } from "./policy.ts";
import type { GuardState } from "./state.ts";
import { newState } from "./state.ts";
import { afterClear, realigned, settleWindDown } from "./state-changes.ts";
import { storeText } from "./store-text.ts";
import { historyChanged, maxRestartsReached, RESTART_CONFIRMATION, windowUnknown } from "./texts.ts";
import { turnBody } from "./turn-event.ts";
import type {
  Action,
  ConversationOptions,
  GuardOptions,
  GuardReading,
  Observation,
  ObserveFacts,
  Prepared,
} from "./types.ts";
import { align } from "./view/alignment.ts";
import { Editor } from "./view/editor.ts";
import { placeholderFor } from "./view/placeholder.ts";
import { MessageReader } from "./view/reader.ts";
import type { Message, Shape } from "./view/shape.ts";
import { plainShape } from "./view/shape.ts";
import { windowOf } from "./window-size.ts";

const NOTHING_SEEN = { exact: [], loose: [] };
const MOST_FACT_CHARS = 8_000;

type Withheld = Extract<EventBody, { type: "withheld" }>;

/**
 * Keeps the context of one conversation under its line. Synchronous and without I/O: `observe` reads the usage that a
 * provider returned, and `prepare` returns the messages to send and the actions taken or required.
 */
export class Conversation<M = Message> {
  policy: GuardPolicy;
  readonly identity: Identity;
  readonly shape: Shape<M>;
  readonly #options: ConversationOptions<M>;
  readonly #editor: Editor<M>;
  readonly #clock: () => number;
  #state: GuardState;
  #windowWarned = false;

  /** @param reader shared by the conversations of a guard */
  constructor(options: ConversationOptions<M>, reader = readerOf(options)) {
    this.#options = options;
    this.identity = options.identity;
    this.policy = resolvePolicy(options.policy);
    this.shape = reader.shape;
    this.#clock = options.clock ?? Date.now;
    const scale = options.tokenizer === undefined ? tokenizerScale(options.model) : 1;
    this.#state = restored(options.state) ?? {
      ...newState(scale, options.overheadTokens ?? 0),
      model: options.model,
    };
    this.#editor = new Editor(reader, this.#state.masks, options.notices ?? "merge");
  }

  /** Returns a copy of the state as plain JSON, for the `state` option of a later guard. */
  snapshot(): GuardState {
    return structuredClone(this.#state);
  }

  /** The current state. Use `snapshot()` to store it. */
  get state(): Readonly<GuardState> {
    return this.#state;
  }

  /** Returns the current level, peak, window size and limits, all in tokens. */
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

  /**
   * Records the usage of one call from a provider's or SDK's response, or from its usage object alone.
   * @returns The resulting level in tokens and the thresholds crossed. A value without usable counts returns the
   * reason as `kind`. Never throws for an unreadable value.
   */
  observe(value: unknown, facts: ObserveFacts = {}): Observation {
    const reading = withoutCount(readUsage(value), value, facts);
    if (facts.sent !== undefined) this.#state = { ...this.#state, sent: facts.sent };
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
    this.#warnOfUnknownWindow(window.tokens, model);
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

  /** Sets the window size that the provider reported, in tokens. It overrides the configured size. */
  reportWindow(tokens: number, model = this.#state.model): void {
    if (tokens > 0) this.#state = { ...this.#state, reported: { model, tokens } };
  }

  /** Estimates the context tokens of `messages` with the edits made so far. Makes no new edits. */
  estimate(messages: readonly M[]): { level: Prediction; limits: Limits } {
    this.#sync(messages);
    const sent = this.#editor.estimate(this.#state);
    this.#state = { ...this.#state, sent };
    return { level: predict(this.#state.calibration, sent), limits: this.#limits() };
  }

  /** Returns `messages` with the edits made so far. Makes no new edits. */
  view(messages: readonly M[]): M[] {
    this.#sync(messages);
    return this.#editor.build(this.#state).messages;
  }

  /** Corrects the estimate with an exact count of the last `prepare`, `estimate` or `view`, in tokens. */
  counted(tokens: number): void {
    const { sent, calibration } = this.#state;
    if (sent === undefined) return;
    this.#state = { ...this.#state, calibration: calibrate(calibration, sent, tokens), lowered: false };
  }

  /**
   * Returns the messages to send instead of `messages`, after carrying out the responses that are due. The input is
   * neither stored nor changed.
   */
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
      const level = expectedTokens(this.#input(limits));
      this.#state = settleWindDown(this.#state, limits, level);
      const decision = decide(factsOf(this.#input(limits), level, window.tokens, compacting), this.policy);
      if (decision.type === "rest") {
        status = decision.status;
        pointless = decision.withheld !== undefined;
        // Reported once; otherwise every prompt would report it again.
        if (pointless && !this.#state.restartPointless) this.#withhold("restart", "no_gain");
        break;
      }
      if (decision.type === "mask") {
        const result = mask(this.#input(limits), {
          level,
          target: decision.target,
          urgent: decision.urgent,
          placeholder: this.#options.placeholder ?? placeholderFor,
        });
        if (result === undefined) {
          status = "exhausted";
          break;
        }
        actions.push(this.#apply(result));
        continue;
      }
      if (decision.type === "compact" || decision.type === "fresh_session") {
        const asked = this.#state.compactAsked;
        request = askForSummary(this.#input(limits), decision.type, decision.line);
        place = actions.length;
        // The harness ignored a summary request from an earlier turn, so later responses must not wait for it.
        if (asked === undefined || asked === this.#state.allTurns) break;
        compacting = true;
        continue;
      }
      if (decision.type === "wind_down") {
        actions.push(this.#apply(windDown(this.#input(limits), level, window.tokens, decision.turnsLeft)));
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
    // After a restart nothing is left to summarise.
    if (request !== undefined && !actions.some((action) => action.type === "restart")) {
      this.#withdrawSummaryRequest();
      this.#state = { ...this.#state, compactAsked: this.#state.compactAsked ?? this.#state.allTurns };
      actions.splice(place, 0, request);
    }
    const sent = this.#editor.estimate(this.#state);
    this.#state = { ...this.#state, sent, restartPointless: pointless };
    return {
      ...this.#editor.build(this.#state),
      actions,
      status,
      sent,
      level: predict(this.#state.calibration, sent),
    };
  }

  /**
   * Takes the summary that a `compact` or `fresh_session` action asked for. Call `prepare` again afterwards.
   * @param otherwise Writes a second summary, used when the first saves too little.
   * @returns `no_gain`: every summary saved too little, and the guard asks again only after the context has grown.
   * `overtaken`: a restart came first, so the summary is ignored.
   */
  compacted(
    summary: string,
    how: "compact" | "fresh_session" = this.#compactHow(),
    otherwise?: () => string,
  ): "done" | "no_gain" | "overtaken" {
    if (this.#state.compactAsked === undefined) return "overtaken";
    let result = compact(this.#input(), summary, how);
    if (!("event" in result) && otherwise !== undefined) result = compact(this.#input(), otherwise(), how);
    if ("event" in result) return this.#apply(result);
    this.#state = result.state;
    this.#withhold("compact", "no_gain");
    return result.action;
  }

  /**
   * Summarises, without a model, the messages that a `compact` action would summarise. `maxChars` limits the length.
   */
  digest(maxChars = 4_000): string {
    const line = lineOfAction(this.#limits()).compact ?? 0;
    const to = this.#editor.keepFrom(this.#state, line, this.#compactHow(), this.policy);
    return this.#editor.digest(this.#state, to, maxChars);
  }

  /**
   * Declares something that must stay in the context word for word, such as a constraint of the task. It stands in every
   * summary from now on. The same name again replaces it; an empty text removes it.
   * @throws {GuardError} `facts_too_long` if all facts together have more than 8,000 characters
   * @example
   * thread.declare("deploy target", "staging only");
   */
  declare(name: string, text: string): void {
    const others = (this.#state.facts ?? []).filter((fact) => fact.name !== name);
    const facts = text === "" ? others : [...others, { name, text }];
    const length = facts.reduce((sum, fact) => sum + fact.name.length + fact.text.length, 0);
    if (length > MOST_FACT_CHARS) {
      throw new GuardError(
        "facts_too_long",
        `The facts have ${length} characters together; at most ${MOST_FACT_CHARS} stay in the context. Shorten or remove some.`,
      );
    }
    this.#state = { ...this.#state, facts };
  }

  /**
   * Starts the next session now with the messages of the last `prepare`. Call it to accept a `confirm_restart`
   * action.
   */
  restart(reason: RestartReason | "ceiling" = "requested"): Action<M> {
    this.#withdrawSummaryRequest();
    return this.#apply(restart(this.#input(), reason));
  }

  /**
   * Call this when the harness replaces its history with the messages that `prepare` returned. The guard drops its
   * edits, because they are now part of the history.
   */
  adopt(): void {
    this.#editor.sync(this.#editor.build(this.#state).messages);
    this.#editor.setMasks([]);
    this.#state = { ...this.#state, masks: [], cut: undefined, notices: [], seen: this.#editor.seen() };
  }

  /**
   * Restores masked results from the next `prepare` on: those with the given keys, or all of them. Returns how many.
   */
  unmask(keys?: readonly string[]): number {
    const before = this.#state.masks;
    const masks = keys === undefined ? [] : before.filter((mask) => !keys.includes(mask.key));
    this.#state = { ...this.#state, masks };
    this.#editor.setMasks(masks);
    return before.length - masks.length;
  }

  /** Returns the full text of a masked result from the store, or `undefined` if the store does not have it. */
  recall(key: string): string | undefined {
    return this.#options.store?.get(key);
  }

  /** Reports an unanswered summary request as withheld, because another response replaces it. */
  #withdrawSummaryRequest(): void {
    if (this.#state.compactAsked !== undefined) this.#withhold("compact", "no_summary");
  }

  #withhold(response: Withheld["response"], reason: Withheld["reason"]): void {
    this.#emit({ type: "withheld", response, reason, context_tokens: expectedTokens(this.#input()) });
  }

  /** Reads the messages, and moves the edits to where their messages stand now. */
  #sync(messages: readonly M[]): void {
    this.#editor.sync(messages);
    const now = this.#editor.seen();
    const { seen } = this.#state;
    const alignment = align(seen ?? NOTHING_SEEN, now, (index) => this.#editor.isAgents(index));
    if (alignment.change === "grown" && (seen === undefined || seen.pinned === now.pinned)) {
      this.#state = { ...this.#state, seen: now };
      return;
    }
    const before = this.#state;
    const { state, cutLost } = realigned(before, now, alignment);
    this.#state = state;
    const reset = alignment.change === "reset" && before.turns > 0;
    if (!reset && !cutLost) return;
    this.#state = afterClear(state);
    this.#emit(
      {
        type: "cleared",
        tokens_before: before.level ?? null,
        tokens_after: expectedTokens(this.#input()),
        reason: historyChanged(alignment.change),
      },
      before.window,
    );
  }

  #input(limits: Limits = this.#limits()): ActionInput<M> {
    const { store } = this.#options;
    return {
      editor: this.#editor,
      state: this.#state,
      policy: this.policy,
      limits,
      archive: { put: ({ call, text }) => storeText(store, call, text), recallable: store !== undefined },
    };
  }

  /** Applies a response and reports it in the window in which it happened. */
  #apply<A>({ state, event, action }: ActionResult<A>): A {
    const { window } = this.#state;
    this.#state = state;
    this.#emit(event, window);
    return action;
  }

  #compactHow(): "compact" | "fresh_session" {
    const { compact } = this.policy;
    return compact === null ? "compact" : howToCompact(this.#state, compact, this.policy);
  }

  #window(model?: string) {
    return windowOf(this.#state, this.#options.window, model);
  }

  #warnOfUnknownWindow(tokens: number | undefined, model: string): void {
    if (tokens !== undefined || this.#windowWarned) return;
    const { thresholds } = this.policy;
    // With any size that was possible, a threshold in percent has one.
    if (
      Object.keys(limitsOf(thresholds, 1_000_000)).length ===
      Object.keys(limitsOf(thresholds, undefined)).length
    )
      return;
    this.#windowWarned = true;
    (this.#options.onWarning ?? console.warn)(windowUnknown(model));
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
      // Omit a catalog size: the server has its own catalog, which users can correct.
      reportedWindow: other || window.source === "catalog" ? undefined : window.tokens,
      composition: level === undefined ? undefined : this.#editor.composition(this.#state, level),
    });
    const identity = other ? { ...this.identity, agent, parentAgent: own } : this.identity;
    this.#options.onEvent(
      eventOf(identity, at, other ? undefined : this.#state.window, this.#nextEventNumber(), body),
    );
  }

  /**
   * Reports an event that the harness itself caused or saw. With `subAgent`, the event belongs to that sub-agent,
   * which has its own windows; otherwise it belongs to this agent's current window.
   */
  note(body: EventBody, subAgent?: string): void {
    if (subAgent !== undefined) {
      const identity = { ...this.identity, agent: subAgent, parentAgent: this.identity.agent ?? "main" };
      this.#options.onEvent?.(eventOf(identity, this.#clock(), undefined, this.#nextEventNumber(), body));
      return;
    }
    this.#emit(body);
    if (body.type === "compacted" || body.type === "masked") this.#state = { ...this.#state, lowered: true };
  }

  #emit(body: EventBody, window = this.#state.window): void {
    const number = this.#nextEventNumber();
    this.#options.onEvent?.(eventOf(this.identity, this.#clock(), window, number, body));
  }

  #nextEventNumber(): number {
    this.#state = { ...this.#state, events: this.#state.events + 1 };
    return this.#state.events;
  }
}

const UNCOUNTED: Usage = {
  input_tokens: undefined,
  cache_read_tokens: undefined,
  cache_write_tokens: undefined,
  output_tokens: undefined,
  reasoning_tokens: undefined,
};

/** Makes a turn of an answer whose provider did not count it. */
function withoutCount(reading: UsageReading, value: unknown, { answered }: ObserveFacts): UsageReading {
  if (answered !== true || reading.kind !== "none" || reading.reason !== "no_usage") return reading;
  const { id, model } = (value ?? {}) as { id?: unknown; model?: unknown };
  const text = (one: unknown) => (typeof one === "string" && one !== "" ? one : undefined);
  return {
    kind: "turn",
    usage: UNCOUNTED,
    id: text(id),
    model: text(model),
    agent: undefined,
    source: "protocol",
    costUsd: undefined,
  };
}

/** Reads the messages of one guard. */
export function readerOf<M>({ shape, tokenizer = estimateTokens }: GuardOptions<M>): MessageReader<M> {
  // Without a shape, M is its default, Message.
  return new MessageReader(shape ?? (plainShape as unknown as Shape<M>), tokenizer);
}

/** A state of before edits had fingerprints loses them: nothing tells which messages they belong to. */
function restored(state: GuardState | undefined): GuardState | undefined {
  if (state === undefined || state.version === 2) return state;
  return { ...(state as GuardState), version: 2, masks: [], cut: undefined, seen: undefined, notices: [] };
}
