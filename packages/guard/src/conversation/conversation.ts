import { stopOfAnswer, utilizationOf } from "@plimsoll/fold";
import { LONGEST, type TurnContents } from "@plimsoll/protocol/pure";
import {
  howToCompact,
  isExhausted,
  type Limits,
  limitsOf,
  limitsWithin,
  lineOfAction,
  needWindow,
  type RestartReason,
  roomFor,
} from "../decide/decide.ts";
import { BesidesReader } from "../measure/besides.ts";
import { calibrate, inContext, type Prediction, predict, rescaled } from "../measure/calibrate.ts";
import { tokenizerScale } from "../measure/estimate.ts";
import { type ProviderEdits, readProviderEdits } from "../measure/provider-edits.ts";
import { uncountedTurn } from "../measure/uncounted.ts";
import { readUsage } from "../measure/usage.ts";
import { checkOptions, checkPolicy } from "../policy/check-options.ts";
import { type GuardPolicy, type PolicyInput, resolvePolicy } from "../policy/policy.ts";
import { storeText } from "../recall/store-text.ts";
import { ConversationEvents } from "../report/conversation-events.ts";
import type { EventBody, Identity } from "../report/events.ts";
import { crossingBody, type TurnToReport } from "../report/turn-event.ts";
import { type ActionInput, type ActionResult, compact, expectedTokens, restart } from "../respond/actions.ts";
import { type Companion, respondWith } from "../respond/companion.ts";
import {
  countDoubted,
  EXHAUSTED,
  historyChanged,
  NO_SUMMARISER,
  NOTES_FILE,
  toolsTooLarge,
  windowAssumed,
  windowUnknown,
} from "../respond/texts.ts";
import { observeTurn } from "../state/observe-turn.ts";
import { type GuardState, newState, restoredState } from "../state/state.ts";
import { settleWindDown, withFact } from "../state/state-changes.ts";
import { syncHistory } from "../state/sync-history.ts";
import { type GuardWindow, windowOf, withWindow } from "../state/window-size.ts";
import { Editor } from "../view/editor.ts";
import { LIST_KEY, listOf } from "../view/filed.ts";
import { placeholderFor } from "../view/placeholder.ts";
import { type MessageReader, readerOf } from "../view/reader.ts";
import type { Message, Shape } from "../view/shape.ts";
import type {
  Action,
  ConversationOptions,
  GuardReading,
  Observation,
  ObserveFacts,
  Prepared,
  PrepareFacts,
} from "./types.ts";

/** Tells a harness something. Its failure must not cost the answer of a model. */
function quietly(tell: (text: string) => unknown): (text: string) => void {
  return (text) => {
    try {
      Promise.resolve(tell(text)).catch(() => {});
    } catch {
      // Nobody is left to tell.
    }
  };
}

type Withheld = Extract<EventBody, { type: "withheld" }>;

/** Counts in a row that cannot be, after which the user is warned: one may be a mishap. */
const WARNED_AT = 2;
/** The warning about tools, which is given once whatever its numbers are. */
const TOOLS_TOO_LARGE = "tools";
/** Contents are reported again once the level has changed by this share. */
const CONTENTS_STEP = 0.1;

/**
 * Keeps the context of one conversation under its line. Synchronous and without I/O: `observe` reads the usage that a
 * provider returned, and `prepare` returns the messages to send and the actions taken or required.
 */
export class Conversation<M = Message> {
  policy: GuardPolicy;
  #nextPolicy: GuardPolicy | undefined;
  readonly identity: Identity;
  readonly shape: Shape<M>;
  readonly #options: ConversationOptions<M>;
  readonly #editor: Editor<M>;
  readonly #clock: () => number;
  readonly #events: ConversationEvents;
  readonly #besides: BesidesReader;
  /** What the latest request holds beside its messages. */
  #beside: unknown;
  /** The level whose contents were reported last, tokens. */
  #contentsLevel: number | undefined;
  #state: GuardState;
  readonly #warned = new Set<string>();
  readonly #tell: (text: string) => void;
  #companion: Companion<M> | undefined;
  /** The latest turn, until the results of its tool calls are reported. */
  #asking: { id: string; window: number; messages: number } | undefined;

  /**
   * @param shared reader of the conversations of a guard
   * @param others names of options that the caller reads itself; any other unknown option is refused
   * @throws {GuardError} `invalid_option`
   */
  constructor(options: ConversationOptions<M>, shared?: MessageReader<M>, others: readonly string[] = []) {
    checkOptions(options ?? {}, ["state", ...others]);
    const reader = shared ?? readerOf(options);
    this.#options = options;
    this.identity = options.identity;
    this.policy = resolvePolicy(options.policy);
    this.shape = reader.shape;
    this.#clock = options.clock ?? Date.now;
    const scale = options.tokenizer === undefined ? tokenizerScale(options.model) : 1;
    this.#state =
      options.state === undefined
        ? { ...newState(scale, options.overheadTokens ?? 0), model: options.model }
        : restoredState(options.state);
    this.#tell = quietly(options.onWarning ?? console.warn);
    const { identity, onEvent } = options;
    const target = { identity, onEvent, onWarning: this.#tell, clock: this.#clock };
    this.#events = new ConversationEvents(target, this.#state.events);
    this.#besides = new BesidesReader(reader.tokenizer);
    this.#editor = new Editor(reader, this.#state.masks, {
      place: options.notices ?? "merge",
      counts: options.noticeCounts ?? "by_model",
      file: options.notesFile ?? NOTES_FILE,
    });
  }

  /** Sets who prepares edits in the background, in place of the one before. `optimistic` calls it. */
  attach(companion: Companion<M> | undefined): void {
    this.#companion?.stop();
    this.#companion = companion;
  }

  /** Replaces the policy before the next turn. A call that is under way ends under the old one. */
  changePolicy(policy: PolicyInput): void {
    checkPolicy(policy);
    this.#nextPolicy = resolvePolicy(policy);
  }

  /** Returns a copy of the state as plain JSON, for the `state` option of a later guard. */
  snapshot(): GuardState {
    return structuredClone(this.state);
  }

  /** The current state. Use `snapshot()` to store it. */
  get state(): Readonly<GuardState> {
    return { ...this.#state, events: this.#events.number };
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
    const { level } = this.#state;
    const read = readUsage(value);
    const reading = facts.answered === true ? uncountedTurn(read, value) : read;
    if (reading.kind === "none") {
      this.#learnWindows(reading.windows);
      return { kind: reading.reason, level, utilization: undefined, flags: [], crossed: [] };
    }
    const at = this.#clock();
    const model = reading.model ?? facts.model ?? this.#state.model ?? "unknown";
    if (facts.contextWindow !== undefined) this.reportWindow(facts.contextWindow, model);
    const names = this.#namesOf(model, facts.model);
    const id = reading.id ?? facts.id ?? `turn-${at.toString(36)}-${this.#events.number.toString(36)}`;
    const agent = facts.agent ?? reading.agent;
    const own = this.identity.agent ?? "main";
    const stop = stopOfAnswer(value);
    if ((agent !== undefined && agent !== own) || facts.purpose !== undefined) {
      const { usage, evidence } = reading;
      this.#reportTurn({ id, model, usage, evidence, facts, observed: undefined, stop }, names, at, agent);
      return { kind: "other", level, utilization: undefined, flags: [], crossed: [] };
    }
    if ("sent" in facts) this.#state = { ...this.#state, sent: facts.sent };
    const window = this.#window([names]);
    this.#checkWindow(window, model);
    this.#remember(window, names);
    const edits = this.#editsOf(value, window.tokens);
    const expected = this.#expected();
    const isEdited = edits !== undefined || facts.edited === true || this.#state.edited;
    const observed = observeTurn(
      this.#state,
      {
        ...{ id, at, model, usage: reading.usage, evidence: reading.evidence },
        ...{ windowTokens: window.tokens, isEdited },
      },
      this.policy,
    );
    this.#state = observed.state;
    const limits = limitsOf(this.policy.thresholds, window.tokens);
    this.#state = settleWindDown(this.#state, limits, this.#state.level);
    if (edits !== undefined && !observed.merged) this.#reportEdits(edits, expected, observed.level);
    const { evidence } = reading;
    const turn = { id, model, usage: observed.usage, evidence, facts, observed, stop };
    this.#reportTurn(turn, names, at, undefined);
    this.#asking =
      stop === "end_turn" ? undefined : { id, window: this.#state.window, messages: this.#editor.length };
    if (this.#state.doubt?.times === WARNED_AT)
      this.#warn(countDoubted(model, this.#state.doubt.tokens, observed.level ?? 0));
    for (const crossing of observed.crossings) this.#emit(crossingBody(crossing));
    this.#switchPolicy();
    this.#companion?.observed(() => this.#input());
    return {
      kind: observed.merged ? "merged" : "turn",
      level: observed.level,
      utilization: observed.utilization,
      flags: observed.flags,
      crossed: observed.crossings.map(({ thresholdTokens: tokens, threshold, up }) => ({
        threshold,
        up,
        tokens,
      })),
    };
  }

  /** Sets the window size that the provider reported for a model, in tokens. It overrides the configured size. */
  reportWindow(tokens: number, model = this.#state.asked[0] ?? this.#state.model): void {
    if (!(tokens > 0)) return;
    const windows = withWindow(this.#state.windows, { model, tokens, source: "reported" });
    this.#state = { ...this.#state, windows };
  }

  /** Estimates the context tokens of `messages` with the edits made so far. Makes no new edits. */
  estimate(messages: readonly M[], facts: PrepareFacts = {}): { level: Prediction; limits: Limits } {
    this.#ask(facts);
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
  prepare(messages: readonly M[], facts: PrepareFacts = {}): Prepared<M> {
    const { summaries = true, sameCall } = facts;
    if (sameCall !== true) this.#switchPolicy();
    this.#ask(facts);
    this.#sync(messages);
    this.#reportResults();
    const summarizes = summaries || this.#companion?.summarizes === true;
    if (!summarizes && this.policy.compact !== null) this.#warn(NO_SUMMARISER);
    const window = this.#window();
    if (window.tokens !== undefined) this.#checkWindow(window);
    const roomTokens = roomFor(window.tokens, this.#state.reserved);
    const limits = this.#limits();
    const placeholder = this.#options.placeholder ?? placeholderFor;
    const how = { windowTokens: window.tokens, roomTokens, placeholder, summaries };
    const { state, events, actions, status } = respondWith(this.#companion, this.#input(limits), how);
    if (actions.some((action) => action.type === "stop" && action.reason === "too_long"))
      this.#checkTools(roomTokens, facts.besides);
    const sent = this.#editor.estimate(state);
    this.#state = { ...state, sent };
    for (const { body, window } of events) this.#emit(body, window);
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
    if (isExhausted(result.state)) this.#warn(EXHAUSTED);
    return result.action;
  }

  /** Summarises, without a model, the messages that a `compact` action would summarise. `maxChars` limits the length. */
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
    this.#state = withFact(this.#state, name, text);
  }

  /** Starts the next session now with the messages of the last `prepare`. Call it to accept a `confirm_restart` action. */
  restart(reason: RestartReason | "ceiling" = "requested"): Action<M> {
    // Another response replaces the unanswered request.
    if (this.#state.compactAsked !== undefined) this.#withhold("compact", "no_summary");
    return this.#apply(restart(this.#input(), reason));
  }

  /** Call this when the harness replaces its history with the messages that `prepare` returned: the guard drops its edits. */
  adopt(): void {
    this.#editor.sync(this.#editor.build(this.#state).messages);
    this.#editor.setMasks([]);
    this.#state = { ...this.#state, masks: [], cut: undefined, notices: [], seen: this.#editor.seen() };
  }

  /** Lets go of the messages, unless a summary of them is under way. The next `prepare` reads them again. */
  release(): void {
    if (this.#state.compactAsked === undefined) this.#editor.sync([]);
  }

  /** Restores masked results from the next `prepare` on: those with the given keys, or all of them. Returns how many. */
  unmask(keys?: readonly string[]): number {
    const before = this.#state.masks;
    const masks = keys === undefined ? [] : before.filter((mask) => !keys.includes(mask.key));
    this.#state = { ...this.#state, masks };
    this.#editor.setMasks(masks);
    return before.length - masks.length;
  }

  /**
   * Returns the full text of a masked or removed result from the store, or `undefined` if the store does not have it. The key
   * `removed-results` returns the list of the results that were removed with their turns.
   */
  recall(key: string): string | undefined {
    const { filed = [] } = this.#state;
    return (
      this.#options.store?.get(key) ?? (key === LIST_KEY && filed.length > 0 ? listOf(filed) : undefined)
    );
  }

  #switchPolicy(): void {
    this.policy = this.#nextPolicy ?? this.policy;
    this.#nextPolicy = undefined;
  }

  /** Expected count of the prompt that was sent last, or the last level. Tokens. */
  #expected(): number | undefined {
    const { sent, calibration, level } = this.#state;
    return sent === undefined || calibration.counts === 0 ? level : predict(calibration, sent).tokens;
  }

  /** What the provider says it changed. It may truncate only a prompt that does not fit. */
  #editsOf(answer: unknown, windowTokens: number | undefined): ProviderEdits | undefined {
    const edits = readProviderEdits(answer);
    if (edits === undefined || edits.cleared > 0 || edits.clearedTokens > 0 || edits.compacted) return edits;
    const level = this.#expected();
    return level !== undefined && windowTokens !== undefined && level >= windowTokens * 0.9
      ? edits
      : undefined;
  }

  /** Reports edits of the provider, once: it may repeat them with each call. */
  #reportEdits(edits: ProviderEdits, before: number | undefined, after: number | undefined): void {
    const tokens_before = before ?? (after === undefined ? null : after + edits.clearedTokens);
    const fallen = tokens_before === null || after === undefined ? 0 : tokens_before - after;
    if (fallen <= 0 || fallen < edits.clearedTokens / 2) return;
    const levels = { tokens_before, tokens_after: after ?? null, actor: "provider" } as const;
    if (edits.compacted || edits.mayTruncate) this.#emit({ type: "compacted", trigger: "auto", ...levels });
    else this.#emit({ type: "masked", observations: edits.cleared, ...levels });
  }

  /** Takes in what is known of the call that is about to be sent. */
  #ask({ besides, model, outputTokens }: PrepareFacts): void {
    const reserved = outputTokens ?? this.#state.reserved;
    const asked = model === undefined ? this.#state.asked : [model].flat();
    if (besides !== undefined) this.#beside = besides;
    const tokens = besides === undefined ? this.#state.besides : this.#besides.tokensOf(besides);
    this.#state = { ...this.#state, asked, besides: tokens, reserved };
    if (asked[0] === undefined || this.#options.tokenizer !== undefined) return;
    const calibration = rescaled(this.#state.calibration, tokenizerScale(asked[0]));
    this.#state = { ...this.#state, calibration };
  }

  #withhold(response: Withheld["response"], reason: Withheld["reason"]): void {
    this.#emit({ type: "withheld", response, reason, context_tokens: expectedTokens(this.#input()) });
  }

  /** Reads the messages, and moves the edits to where their messages stand now. */
  #sync(messages: readonly M[]): void {
    const { level, window } = this.#state;
    const { state, cleared } = syncHistory(this.#state, this.#editor, messages);
    this.#state = state;
    if (cleared === undefined) return;
    const tokens_after = expectedTokens(this.#input());
    const reason = historyChanged(cleared);
    this.#emit({ type: "cleared", tokens_before: level ?? null, tokens_after, reason }, window);
  }

  /** Reports how the tool calls ended that the latest turn asked for. */
  #reportResults(): void {
    if (this.#asking === undefined) return;
    const { id: turn, window, messages } = this.#asking;
    const results = this.#editor.latestResults(messages);
    if (results === undefined) return;
    this.#asking = undefined;
    for (const [index, result] of results.entries()) {
      const id = `${turn}/tool-${index}`;
      // Servers refuse longer ids.
      if (id.length <= LONGEST.id) this.#emit({ type: "tool_result", id, result, turn }, window);
    }
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

  /** @param models those that may answer or have answered, each under its names */
  #window(models: readonly (readonly string[])[] = this.#candidates()): GuardWindow {
    return windowOf(this.#state, this.#options.window, models);
  }

  #candidates(): string[][] {
    const { asked, model } = this.#state;
    if (asked.length > 0) return asked.map((name) => [name]);
    return model === undefined ? [] : [[model]];
  }

  /** The names of the model that answered: servers answer under another name than the one that was asked for. */
  #namesOf(model: string, requested: string | undefined): string[] {
    const { asked } = this.#state;
    const names = requested === undefined ? asked : [requested, ...asked];
    const alias = asked.length <= 1 ? names[0] : names.find((name) => model.startsWith(name));
    return alias === undefined || alias === model ? [model] : [model, alias];
  }

  /** Keeps the size for calls of the same model by another name, and for models whose size is unknown. */
  #remember({ tokens, source }: GuardWindow, names: readonly string[]): void {
    if (tokens === undefined || source === "unknown") return;
    let { windows } = this.#state;
    for (const model of names) windows = withWindow(windows, { model, tokens, source });
    this.#state = { ...this.#state, windows };
  }

  #checkWindow({ tokens, unknownModel }: GuardWindow, model = unknownModel): void {
    if (unknownModel !== undefined && tokens !== undefined) this.#warn(windowAssumed(unknownModel, tokens));
    else if (tokens === undefined && needWindow(this.policy.thresholds))
      this.#warn(windowUnknown(model ?? "the model"));
  }

  /** Shows each text once. */
  #warn(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#tell(text);
  }

  #limits(): Limits {
    const { tokens } = this.#window();
    return limitsWithin(this.policy.thresholds, tokens, roomFor(tokens, this.#state.reserved));
  }

  /** Warns if what is sent beside the messages fills the window by itself. */
  #checkTools(roomTokens: number | undefined, besides: unknown): void {
    const { calibration, besides: tokens } = this.#state;
    const fixed = inContext(calibration, tokens);
    if (roomTokens === undefined || fixed < roomTokens || this.#warned.has(TOOLS_TOO_LARGE)) return;
    this.#warned.add(TOOLS_TOO_LARGE);
    const largest = this.#besides.tools(besides).sort((one, other) => other.tokens - one.tokens);
    this.#warn(toolsTooLarge(fixed, roomTokens, largest.slice(0, 3)));
  }

  #learnWindows(windows: Readonly<Record<string, number>>): void {
    const { model } = this.#state;
    const tokens = model === undefined ? undefined : windows[model];
    if (tokens !== undefined) this.reportWindow(tokens, model);
  }

  /** @param agent that made the call, if it is named */
  #reportTurn(
    turn: Omit<TurnToReport, "reportedWindow" | "composition" | "contents">,
    names: readonly string[],
    at: number,
    agent: string | undefined,
  ): void {
    if (this.#options.onEvent === undefined) return;
    const other = agent === (this.identity.agent ?? "main") ? undefined : agent;
    const level = this.#state.sent === undefined ? undefined : turn.observed?.level;
    const { tokens, source } = this.#window([names]);
    // Omit a catalog size: the server has its own catalog, which users can correct.
    const isKnown = source === "reported" || source === "configured";
    const reportedWindow = other === undefined && isKnown ? tokens : undefined;
    const composition = level === undefined ? undefined : this.#editor.composition(this.#state, level);
    const contents = level === undefined ? undefined : this.#contents(level);
    this.#events.emitTurn({ ...turn, reportedWindow, composition, contents }, at, this.#state.window, other);
  }

  /** What a level holds, unless the last report of it was at about the same level: it is the largest part of an event. */
  #contents(level: number): TurnContents | undefined {
    const told = this.#contentsLevel;
    if (told !== undefined && Math.abs(level - told) < CONTENTS_STEP * told) return undefined;
    this.#contentsLevel = level;
    const beside = this.#beside;
    const definitions = this.#besides.tools(beside);
    return this.#editor.contents(this.#state, level, {
      definitions,
      instructions: this.#besides.instructions(beside),
    });
  }

  /**
   * Reports an event that the harness itself caused or noticed. With `subAgent`, the event belongs to that sub-agent,
   * which has its own windows; otherwise it belongs to this agent's current window.
   */
  note(body: EventBody, subAgent?: string): void {
    if (subAgent !== undefined) {
      this.#events.emitOf(subAgent, body);
      return;
    }
    this.#emit(body);
    if (body.type === "compacted" || body.type === "masked")
      this.#state = { ...this.#state, lowered: true, edited: true };
  }

  #emit(body: EventBody, window = this.#state.window): void {
    this.#events.emit(body, window);
  }
}
