import { limitsOf, lineOfAction, restartsSpent, windDownOver } from "../decide.ts";
import { noRestartLeft } from "../error.ts";
import { ContextGuard } from "../guard.ts";
import { estimateTokens } from "../measure/estimate.ts";
import {
  COMPACTING_NOTICE,
  handoffHead,
  maxRestartsReached,
  RESTART_CONFIRMATION,
  windDownNotice,
} from "../texts.ts";
import type { GuardOptions } from "../types.ts";
import { digest } from "../view/digest.ts";
import { History } from "../view/history.ts";
import { clip } from "../view/placeholder.ts";
import { type Message, plainShape } from "../view/shape.ts";
import { cappedOutput } from "./cap.ts";

// biome-ignore lint/suspicious/noExplicitAny: options and prompts are the SDK's own
type Query<M> = (params: { prompt: any; options?: any }) => AsyncIterable<M>;

interface SdkMessage {
  type: string;
}

export interface ClaudeSessionOptions<M extends SdkMessage> extends Omit<GuardOptions<Message>, "shape"> {
  /** The SDK's `query`. */
  query: Query<M>;
  /** The SDK's options; hooks given here run beside the guard's. */
  options?: Record<string, unknown>;
  /** Longest text of a tool's output that reaches the model, characters. */
  maxToolOutputChars?: number;
  /** Makes the handoff for a fresh session; without a model when left out or failing. */
  summarize?: (request: { messages: readonly Message[]; maxChars: number }) => Promise<string> | string;
  say?: (text: string) => void;
  /** Asked before a restart at the hard line where restarts must be confirmed; no answer is no. */
  confirm?: () => Promise<boolean> | boolean;
  /**
   * What becomes of a prompt at or above the hard line when no restart is allowed any more: `throw` a `GuardError`, or
   * `send` it all the same. Below that line the session goes on either way. `throw` unless said.
   */
  onStop?: "throw" | "send";
}

/** At which a fresh session is due with the next prompt. */
type Line = "ceiling" | "hard";

const HANDOFF_CHARS = 6_000;
/** A fresh session that frees less would soon be followed by the next. Fraction of the line. */
const LEAST_GAIN = 0.1;

/**
 * A conversation over the Claude Agent SDK that stays under its ceiling. The SDK keeps the history itself and lets
 * nobody rewrite it, so the guard works where it can: it measures each response, cuts tool output before it enters
 * the context, warns the agent once at the hard line, and continues in a fresh session with a handoff once the
 * ceiling is passed. A sub-agent has its own window and never moves the meter.
 */
export class ClaudeSession<M extends SdkMessage> {
  readonly guard: ContextGuard<Message>;
  readonly #options: ClaudeSessionOptions<M>;
  #sessionId: string | undefined;
  #transcript: Message[] = [];
  #handoff: string | undefined;
  #windDownSent = false;
  /** Level at which the last fresh session began, without its first prompt: the next would begin there too. Tokens. */
  #floor: number | undefined;
  #promptTokens = 0;
  /** A fresh session was due and would have freed next to nothing. */
  #pointless = false;

  constructor(options: ClaudeSessionOptions<M>) {
    this.#options = options;
    this.guard = new ContextGuard<Message>(options);
  }

  /** The SDK's session; changes when a fresh one is begun. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /**
   * Sends one prompt and passes on every message of the SDK.
   * @throws {GuardError} `max_restarts`, unless `onStop` is `send`; and what the SDK throws.
   */
  async *send(prompt: string): AsyncGenerator<M> {
    const passed = this.#sessionId === undefined ? undefined : this.#passed();
    if (passed !== undefined && (await this.#mayRestart(passed))) await this.#startFresh(passed);
    const text = this.#handoff === undefined ? prompt : `${handoffHead(this.#handoff)}\n\n${prompt}`;
    this.#transcript.push({ role: "user", content: prompt });
    this.#promptTokens = estimateTokens(prompt);
    const options = {
      ...this.#options.options,
      hooks: this.#hooks(),
      ...(this.#sessionId === undefined ? {} : { resume: this.#sessionId }),
    };
    for await (const message of this.#options.query({ prompt: text, options })) {
      this.#take(message as unknown as Record<string, unknown>);
      yield message;
    }
  }

  #take(message: Record<string, unknown>): void {
    if (typeof message.session_id === "string" && message.type === "system") {
      this.#sessionId = message.session_id;
      // Only now does a session hold it: had the call failed before, the next would have to carry it again.
      this.#handoff = undefined;
    }
    if (message.type === "system" && message.subtype === "compact_boundary") {
      const metadata = message.compact_metadata as { trigger?: string; pre_tokens?: number } | undefined;
      // `post_tokens` leaves out system prompt and tools: the next turn tells the true level.
      this.guard.note({
        type: "compacted",
        trigger: metadata?.trigger === "manual" ? "manual" : "auto",
        ...(metadata?.pre_tokens === undefined ? {} : { tokens_before: metadata.pre_tokens }),
        ...(typeof message.uuid === "string" ? { id: message.uuid } : {}),
      });
      return;
    }
    if (message.type === "assistant" || message.type === "result") {
      const { kind, level } = this.guard.observe(message);
      if (kind === "turn" && level !== undefined && this.guard.state.restarts > 0) {
        this.#floor ??= Math.max(0, level - this.#promptTokens);
      }
    }
    if (message.parent_tool_use_id == null) this.#transcript.push(...transcriptOf(message));
  }

  #limits() {
    return limitsOf(this.guard.policy.thresholds, this.guard.read().windowTokens);
  }

  /** The line passed at which a fresh session is due; undefined below. */
  #passed(): Line | undefined {
    const { policy, state } = this.guard;
    if (policy.mode === "warn_only") return undefined;
    const limits = this.#limits();
    const over = (line: number | undefined) => line !== undefined && (state.level ?? 0) >= line;
    if (policy.compact !== null && over(lineOfAction(limits).compact)) return "ceiling";
    return this.#restarts() && over(limits.hard) ? "hard" : undefined;
  }

  #restarts(): boolean {
    const { restart } = this.guard.policy;
    return restart !== null && restart.how !== "off";
  }

  /** Whether a fresh session, which is due, is allowed and worth it. */
  async #mayRestart(passed: Line): Promise<boolean> {
    const { policy, state } = this.guard;
    const level = state.level ?? 0;
    const withhold = (reason: "max_restarts" | "unconfirmed" | "no_gain") =>
      this.guard.note({ type: "withheld", response: "restart", reason, context_tokens: level });
    if (restartsSpent(state, policy)) {
      const most = policy.restart?.max ?? 0;
      const { hard } = this.#limits();
      withhold("max_restarts");
      if (hard === undefined || level < hard) return false;
      this.#options.say?.(maxRestartsReached(most));
      if (this.#options.onStop !== "send") throw noRestartLeft(most);
      return false;
    }
    const limits = this.#limits();
    const line = (passed === "hard" ? limits.hard : lineOfAction(limits).compact) ?? 0;
    const pointless = level - (this.#floor ?? 0) < (policy.compact?.minGain ?? LEAST_GAIN) * line;
    // Said once: what is tried again with every prompt is a loop.
    if (pointless && !this.#pointless) withhold("no_gain");
    this.#pointless = pointless;
    if (pointless) return false;
    if (passed === "ceiling" || policy.restart?.how !== "ask") return true;
    this.#options.say?.(RESTART_CONFIRMATION);
    if ((await this.#options.confirm?.()) === true) return true;
    withhold("unconfirmed");
    return false;
  }

  async #startFresh(passed: Line): Promise<void> {
    this.#options.say?.(COMPACTING_NOTICE);
    this.#handoff = await this.#summary();
    this.#sessionId = undefined;
    this.#transcript = [];
    this.#windDownSent = false;
    this.#floor = undefined;
    // At the hard line the grace ends with the prompt at hand.
    this.guard.restart(passed === "ceiling" ? "ceiling" : "grace_spent");
  }

  async #summary(): Promise<string> {
    const messages = this.#transcript;
    try {
      const made = await this.#options.summarize?.({ messages, maxChars: HANDOFF_CHARS });
      if (made !== undefined && made.trim() !== "") return clip(made, HANDOFF_CHARS);
    } catch {
      // The handoff without a model is always there.
    }
    const history = new History<Message>(plainShape, (text) => text.length / 4);
    history.sync(messages);
    return digest(history, plainShape, 0, messages.length, HANDOFF_CHARS);
  }

  #hooks(): Record<string, unknown> {
    const given = (this.#options.options?.hooks ?? {}) as Record<string, unknown[]>;
    return { ...given, PostToolUse: [...(given.PostToolUse ?? []), { hooks: [this.#afterTool] }] };
  }

  readonly #afterTool = async (input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const output: Record<string, unknown> = {};
    const capped = cappedOutput(input.tool_response, this.#options.maxToolOutputChars ?? 40_000);
    if (capped !== undefined && this.#stored(input)) {
      output.updatedToolOutput = capped.output;
      const tool = typeof input.tool_name === "string" ? { tool: input.tool_name } : {};
      const agent = typeof input.agent_id === "string" ? input.agent_id : undefined;
      this.guard.note({ type: "output_cut", ...tool, characters: capped.leftOut }, agent);
    }
    const notice = input.agent_id === undefined ? this.#windDown() : undefined;
    if (notice !== undefined) output.additionalContext = notice;
    if (Object.keys(output).length === 0) return {};
    return { hookSpecificOutput: { hookEventName: "PostToolUse", ...output } };
  };

  /** What cannot be kept in full is not cut. */
  #stored(input: Record<string, unknown>): boolean {
    try {
      this.#options.store?.put(String(input.tool_use_id), JSON.stringify(input.tool_response));
      return true;
    } catch {
      return false;
    }
  }

  #windDown(): string | undefined {
    const { policy, state } = this.guard;
    const { hard } = this.#limits();
    const level = state.level ?? 0;
    if (policy.mode === "warn_only" || !this.#restarts() || hard === undefined) return undefined;
    if (windDownOver(level, this.#limits())) this.#windDownSent = false;
    if (level < hard || this.#windDownSent) return undefined;
    this.#windDownSent = true;
    // Turns cannot be counted down here: the session is only left between two prompts.
    this.guard.note({ type: "wind_down", context_tokens: level });
    return windDownNotice({
      contextTokens: level,
      windowTokens: this.guard.read().windowTokens,
      hardTokens: hard,
      graceTurns: undefined,
      next: restartsSpent(state, policy)
        ? "none"
        : policy.restart?.how === "ask" && this.#passed() === "hard"
          ? "ask"
          : "restart",
    });
  }
}

type Block = {
  type?: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
};

/** What a summary needs of an SDK message. */
function transcriptOf(message: Record<string, unknown>): Message[] {
  const content = (message.message as { content?: unknown } | undefined)?.content;
  if (!Array.isArray(content)) return [];
  return (content as Block[]).flatMap((block): Message[] => {
    if (block.type === "text") {
      return [{ role: message.type === "assistant" ? "assistant" : "user", content: block.text ?? "" }];
    }
    if (block.type === "tool_use") {
      return [
        {
          role: "assistant",
          content: "",
          toolCalls: [{ id: block.id ?? "", name: block.name ?? "", arguments: block.input }],
        },
      ];
    }
    if (block.type === "tool_result") {
      const text = typeof block.content === "string" ? block.content : JSON.stringify(block.content ?? "");
      return [{ role: "tool", content: text, toolCallId: block.tool_use_id ?? "" }];
    }
    return [];
  });
}
