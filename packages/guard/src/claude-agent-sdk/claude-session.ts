import { Conversation } from "../conversation/conversation.ts";
import { limitsOf, windDownOver } from "../decide/decide.ts";
import { noRestartLeft } from "../error.ts";
import { CallForecast } from "../measure/forecast.ts";
import { nextOf } from "../respond/actions.ts";
import {
  COMPACTING_NOTICE,
  maxRestartsReached,
  NOTES_FILE,
  RESTART_CONFIRMATION,
  tellsCounts,
  windDownNotice,
} from "../respond/texts.ts";
import type { Message } from "../view/shape.ts";
import { decidePrompt, decideStep, type FreshReason, type StepFacts } from "./decide-step.ts";
import { HandoffWriter } from "./handoff-writer.ts";
import { type Inputs, inputsOf, type SessionPrompt } from "./inputs.ts";
import { LiveQuery } from "./live-query.ts";
import { type Arrival, nextInput, nextOutput } from "./next-arrival.ts";
import { ResultTotals } from "./result-totals.ts";
import { blocksOf, type SdkControls, type SdkMessage, type SdkUserMessage } from "./sdk-types.ts";
import { type ClaudeSessionOptions, opensStored, optionsFor, SESSION_OPTIONS } from "./session-options.ts";
import { type BatchAnswer, STOP, type ToolBatch, withStepHook } from "./step-hook.ts";
import { cappedOutputs } from "./tool-output.ts";
import { growthOf, growthOfBlock, wordsTokens } from "./transcript.ts";

/** Why the current session makes no further call. */
type Stop = { type: "fresh"; reason: FreshReason } | { type: "no_restart" };

/**
 * A conversation over the Claude Agent SDK that stays under its ceiling. The SDK owns the history, so the guard measures
 * each response, shortens tool output before it enters the context, and predicts the next call before it is made. At its
 * line it stops the session, also in the middle of a prompt, and continues in a fresh one with a handoff. Sub-agents have
 * their own windows.
 * @example
 * const session = new ClaudeSession({ query, identity: { harness: "my-bot@host-1", session: "thread-91" } });
 * for await (const message of session.send("Hello")) console.log(message.type);
 */
export class ClaudeSession<M extends SdkMessage> {
  readonly guard: Conversation<Message>;
  readonly #options: ClaudeSessionOptions<M>;
  readonly #handoff: HandoffWriter;
  readonly #forecast = new CallForecast();
  readonly #totals = new ResultTotals();
  readonly #results = new Set<string>();
  /** Why a restart was withheld, to report it once. */
  readonly #withheld = new Set<string>();
  #settings: Record<string, unknown> = {};
  #sending: Promise<void> = Promise.resolve();
  #live: LiveQuery<M> | undefined;
  #sessionId: string | undefined;
  #fresh = false;
  #stored = false;
  /** The prompt that the agent works on. */
  #current: SdkUserMessage | undefined;
  #unsent: SdkUserMessage | undefined;
  #stop: Stop | undefined;
  #interrupted = false;
  #declined = false;
  #windDownAt: number | undefined;
  /**
   * Level at which the last fresh session started, without its first prompt. The next one would start there too.
   * Tokens.
   */
  #floor: number | undefined;
  #promptTokens = 0;
  /** Responses of the current session, and of all sessions to the current prompt. */
  #turns = 0;
  #promptTurns = 0;

  constructor(options: ClaudeSessionOptions<M>) {
    this.guard = new Conversation<Message>(options, undefined, SESSION_OPTIONS);
    this.#options = options;
    this.#handoff = new HandoffWriter(options);
  }

  /** The SDK's session id. It changes with each fresh session. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** The prompt that the last `send` took from a stream and did not send, because it threw. */
  get unsent(): SdkUserMessage | undefined {
    return this.#unsent;
  }

  /** The SDK's running query, for controls that this class does not have. A fresh session runs in another one. */
  get query(): SdkControls | undefined {
    return this.#live?.controls;
  }

  /** Stops the work on the current prompt. A fresh session does not take it up again. */
  async interrupt(): Promise<void> {
    this.#interrupted = true;
    await this.#live?.controls.interrupt?.();
  }

  /** Sets the model of this session and of every fresh one. */
  async setModel(model?: string): Promise<void> {
    this.#settings = { ...this.#settings, model };
    await this.#live?.controls.setModel?.(model);
  }

  /** Sets the permission mode, such as `plan`, of this session and of every fresh one. */
  async setPermissionMode(permissionMode: string): Promise<void> {
    this.#settings = { ...this.#settings, permissionMode };
    await this.#live?.controls.setPermissionMode?.(permissionMode);
  }

  /**
   * Sends one prompt, or each prompt of a stream after the answer to the one before, and yields every message of the
   * SDK. A prompt that continues in a fresh session has one `result`. A second call waits for the first.
   * @throws {GuardError} `max_restarts`, unless `onStop` is `send`. Errors of the SDK are passed through.
   * @example
   * for await (const message of session.send("Hello")) if (message.type === "result") console.log(session.sessionId);
   */
  async *send(prompt: SessionPrompt): AsyncGenerator<M> {
    const before = this.#sending;
    let finished = () => {};
    this.#sending = new Promise((resolve) => {
      finished = resolve;
    });
    await before;
    try {
      this.#totals.begin();
      yield* this.#converse(inputsOf(prompt));
    } finally {
      this.#close();
      this.#current = undefined;
      this.#stop = undefined;
      finished();
    }
  }

  async *#converse(inputs: Inputs): AsyncGenerator<M> {
    let input: Promise<Arrival<M>> | undefined;
    let output: { of: LiveQuery<M>; arrival: Promise<Arrival<M>> } | undefined;
    let open = true;
    for (;;) {
      if (open && this.#current === undefined) input ??= nextInput(inputs);
      const live = this.#live;
      if (output?.of !== live) output = undefined;
      if (live !== undefined) output ??= { of: live, arrival: nextOutput(live) };
      const waiting = [output?.arrival, input].filter((one) => one !== undefined);
      if (waiting.length === 0) return;
      const arrival = await Promise.race(waiting);
      if (arrival.from === "caller") {
        input = undefined;
        open = !inputs.single && arrival.input.done !== true;
        if (arrival.input.done === true) this.#live?.end();
        else await this.#ask(arrival.input.value, inputs.single);
        continue;
      }
      output = undefined;
      if ("error" in arrival) {
        this.#close();
        if (this.#isLost(open)) throw arrival.error;
      } else if (arrival.output.done === true) {
        this.#close();
        yield* this.#ended(undefined, inputs.single);
      } else if (arrival.output.value.type === "result") {
        yield* this.#ended(arrival.output.value, inputs.single);
      } else {
        yield arrival.output.value;
      }
    }
  }

  /**
   * True if the end of the SDK's process matters. Between two prompts it does not, because the next one opens the session
   * again; nor after an interrupt, which the SDK reports as an error.
   */
  #isLost(open: boolean): boolean {
    return this.#current !== undefined || !(open || this.#interrupted);
  }

  /** The agent answered the prompt, or was stopped while it worked on it. */
  async *#ended(result: M | undefined, single: boolean): AsyncGenerator<M> {
    const stop = this.#takeStop(result);
    const prompt = this.#current;
    if (stop?.type === "fresh" && prompt !== undefined && !this.#interrupted) {
      await this.#startFresh(stop.reason, true);
      if (!this.#interrupted) {
        if (result !== undefined) this.#totals.hide(result as object as Record<string, unknown>);
        this.#push(prompt, single);
        return;
      }
    }
    this.#current = undefined;
    if (result !== undefined) yield this.#totals.whole(result);
    if (stop?.type === "no_restart") throw noRestartLeft(this.guard.policy.restart?.max ?? 0);
  }

  #takeStop(result: M | undefined): Stop | undefined {
    const stop = this.#stop;
    this.#stop = undefined;
    const why = (result as { terminal_reason?: string } | undefined)?.terminal_reason;
    // The agent may finish before the hook's answer takes effect.
    return why === undefined || why === "hook_stopped" ? stop : undefined;
  }

  /** Sends a prompt of the caller, in a fresh session if one is due. */
  async #ask(prompt: SdkUserMessage, single: boolean): Promise<void> {
    this.#unsent = single ? undefined : prompt;
    this.#interrupted = false;
    this.#declined = false;
    this.#promptTurns = 0;
    this.#withheld.delete("max_restarts");
    if (this.#sessionId !== undefined) await this.#restartIfDue(prompt);
    this.#handoff.prompted(prompt);
    this.#push(prompt, single);
    this.#unsent = undefined;
  }

  async #restartIfDue(prompt: SdkUserMessage): Promise<void> {
    const expected = this.#forecast.next(growthOf(prompt.message.content)).tokens;
    const step = decidePrompt(this.#facts(expected), this.guard.policy);
    if (step.type !== "withhold" || step.reason !== "no_gain") this.#withheld.delete("no_gain");
    if (step.type === "fresh" && (!step.confirm || (await this.#confirmed()))) {
      await this.#startFresh(step.reason, false);
    }
    if (step.type !== "withhold") return;
    this.#withhold(step.reason);
    if (step.stop && !this.#mayGoOn()) throw noRestartLeft(this.guard.policy.restart?.max ?? 0);
  }

  #push(prompt: SdkUserMessage, single: boolean): void {
    const { policy, state } = this.guard;
    const words = wordsTokens(this.#limits(), policy);
    const message = this.#handoff.onto(prompt, state.facts ?? [], words);
    this.#promptTokens = new CallForecast().next(growthOf(prompt.message.content)).tokens;
    this.#forecast.grow(growthOf(message.message.content));
    this.#current = prompt;
    this.#live ??= this.#open();
    this.#live.push(message);
    if (single) this.#live.end();
  }

  #open(): LiveQuery<M> {
    const given = { ...this.#options.options, ...this.#settings };
    const choice =
      this.#sessionId === undefined ? (this.#fresh ? "new" : "given") : { resume: this.#sessionId };
    if (choice === "given") this.#stored = opensStored(given);
    const used = { turns: this.#promptTurns, spentUsd: this.#totals.spentUsd };
    const options = { ...optionsFor(given, choice, used), hooks: this.#hooks() };
    const live: LiveQuery<M> = new LiveQuery(this.#options.query, options, (message) => {
      if (this.#live === live) this.#take(message as object as Record<string, unknown>);
    });
    return live;
  }

  #close(): void {
    const live = this.#live;
    this.#live = undefined;
    live?.close();
  }

  #take(message: Record<string, unknown>): void {
    if (typeof message.session_id === "string" && message.type === "system") {
      this.#sessionId = message.session_id;
      // Keep the handoff until a session has received it, in case the call fails first.
      this.#handoff.delivered();
    }
    if (message.type === "system" && message.subtype === "compact_boundary") {
      const metadata = message.compact_metadata as { trigger?: string; pre_tokens?: number } | undefined;
      // `post_tokens` excludes the system prompt and tools, so the next turn sets the level.
      this.guard.note({
        type: "compacted",
        trigger: metadata?.trigger === "manual" ? "manual" : "auto",
        ...(metadata?.pre_tokens === undefined ? {} : { tokens_before: metadata.pre_tokens }),
        ...(typeof message.uuid === "string" ? { id: message.uuid } : {}),
      });
      return;
    }
    if (message.type === "result") this.#totals.add(message);
    if (message.type === "assistant" || message.type === "result") this.#measure(message);
    if (message.parent_tool_use_id != null) return;
    this.#handoff.take(message);
    for (const block of blocksOf(message)) {
      if (block.type === "tool_result") this.#toolAnswered(block.tool_use_id ?? "", block.content);
      else this.#forecast.grow(growthOfBlock(block));
    }
  }

  #measure(message: Record<string, unknown>): void {
    const { kind, level } = this.guard.observe(message);
    if (kind !== "turn") return;
    this.#turns += 1;
    this.#promptTurns += 1;
    if (level === undefined) return;
    this.#forecast.counted(level);
    this.#results.clear();
    if (this.guard.state.restarts > 0) this.#floor ??= Math.max(0, level - this.#promptTokens);
  }

  /** Counts an answer once, whether the hook or the message with it comes first. */
  #toolAnswered(id: string, content: unknown): void {
    if (this.#results.has(id)) return;
    this.#results.add(id);
    this.#forecast.grow(growthOf(content));
  }

  readonly #onStep = async ({ tool_calls = [] }: ToolBatch): Promise<BatchAnswer> => {
    if (this.#current === undefined) return {};
    if (this.#stop !== undefined) return STOP;
    for (const call of tool_calls) this.#toolAnswered(call.tool_use_id, call.tool_response);
    const expected = this.#forecast.next().tokens;
    if (windDownOver(expected, this.#limits())) this.#windDownAt = undefined;
    const step = decideStep(this.#facts(expected), this.guard.policy);
    if (step.type === "wind_down") return this.#windDown(step.turnsLeft);
    if (step.type === "withhold") {
      this.#withhold(step.reason);
      if (!step.stop || this.#mayGoOn()) return {};
      this.#stop = { type: "no_restart" };
      return STOP;
    }
    if (step.type !== "fresh" || (step.confirm && !(await this.#confirmed()))) return {};
    this.#stop = { type: "fresh", reason: step.reason };
    return STOP;
  };

  #windDown(turnsLeft: number): BatchAnswer {
    const { policy, state } = this.guard;
    const level = state.level ?? 0;
    this.#windDownAt = state.allTurns;
    this.guard.note({ type: "wind_down", context_tokens: level, turns_left: turnsLeft });
    const additionalContext = windDownNotice({
      contextTokens: level,
      windowTokens: this.guard.read().windowTokens,
      hardTokens: this.#limits().hard ?? 0,
      graceTurns: turnsLeft,
      next: nextOf(state, policy),
      withCounts: tellsCounts(this.#options.noticeCounts ?? "by_model", [state.model]),
      notesFile: this.#options.notesFile ?? NOTES_FILE,
    });
    return { hookSpecificOutput: { hookEventName: "PostToolBatch", additionalContext } };
  }

  #limits() {
    return limitsOf(this.guard.policy.thresholds, this.guard.read().windowTokens);
  }

  #facts(expected: number): StepFacts {
    const { restarts, allTurns } = this.guard.state;
    return {
      expected,
      limits: this.#limits(),
      windowTokens: this.guard.read().windowTokens,
      floor: this.#floor ?? 0,
      restarts,
      turns: this.#turns,
      windDownTurns: this.#windDownAt === undefined ? undefined : allTurns - this.#windDownAt,
    };
  }

  #withhold(reason: "max_restarts" | "unconfirmed" | "no_gain"): void {
    if (this.#withheld.has(reason)) return;
    if (reason !== "unconfirmed") this.#withheld.add(reason);
    const { level } = this.guard.state;
    this.guard.note({ type: "withheld", response: "restart", reason, context_tokens: level ?? 0 });
  }

  /** Shows the user that no restart is left. Returns true if the call is made nevertheless. */
  #mayGoOn(): boolean {
    this.#options.say?.(maxRestartsReached(this.guard.policy.restart?.max ?? 0));
    return this.#options.onStop === "send";
  }

  /** Asks once per prompt. */
  async #confirmed(): Promise<boolean> {
    if (this.#declined) return false;
    this.#declined = true;
    this.#options.say?.(RESTART_CONFIRMATION);
    this.#declined = (await this.#options.confirm?.()) !== true;
    if (this.#declined) this.#withhold("unconfirmed");
    return !this.#declined;
  }

  /** Ends the session and prepares a fresh one. `underWay`: the current prompt continues there. */
  async #startFresh(reason: FreshReason, underWay: boolean): Promise<void> {
    const { options: { cwd, abortController } = {}, say } = this.#options;
    say?.(COMPACTING_NOTICE);
    const { signal } = (abortController ?? {}) as Partial<AbortController>;
    await this.#handoff.write({ id: this.#sessionId, stored: this.#stored, cwd, signal }, underWay);
    this.#close();
    this.#totals.retire();
    this.#forecast.fresh();
    this.#results.clear();
    this.#fresh = true;
    this.#stored = false;
    this.#sessionId = undefined;
    this.#windDownAt = undefined;
    this.#floor = undefined;
    this.#turns = 0;
    this.guard.restart(reason);
  }

  #hooks(): Record<string, unknown> {
    const hooks = withStepHook(this.#options.options?.hooks, this.#onStep);
    const cap = cappedOutputs(this.#options, (cut, agent) =>
      this.guard.note({ type: "output_cut", ...cut }, agent),
    );
    return { ...hooks, PostToolUse: [...(hooks.PostToolUse ?? []), { hooks: [cap] }] };
  }
}
