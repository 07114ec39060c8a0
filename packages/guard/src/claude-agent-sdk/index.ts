import { Conversation } from "../conversation.ts";
import { limitsOf, lineOfAction, restartsSpent, windDownOver } from "../decide.ts";
import { noRestartLeft } from "../error.ts";
import { estimateTokens } from "../measure/estimate.ts";
import {
  COMPACTING_NOTICE,
  handoffHead,
  maxRestartsReached,
  RESTART_CONFIRMATION,
  windDownNotice,
} from "../texts.ts";
import type { ConversationOptions } from "../types.ts";
import { digest } from "../view/digest.ts";
import { MessageHistory } from "../view/history.ts";
import { clip } from "../view/placeholder.ts";
import { MessageReader } from "../view/reader.ts";
import { type Message, plainShape } from "../view/shape.ts";
import { capOutput } from "./cap-output.ts";

// biome-ignore lint/suspicious/noExplicitAny: the SDK defines options and prompts
type Query<M> = (params: { prompt: any; options?: any }) => AsyncIterable<M>;

interface SdkMessage {
  type: string;
}

export interface ClaudeSessionOptions<M extends SdkMessage>
  extends Omit<ConversationOptions<Message>, "shape"> {
  /** The SDK's `query` function. */
  query: Query<M>;
  /** The SDK's options. Hooks in them run in addition to the guard's. */
  options?: Record<string, unknown>;
  /** Maximum length of each text in a tool's output, in characters. Default: 40,000. */
  maxToolOutputChars?: number;
  /** Writes the handoff for a fresh session. If it is missing or fails, the guard writes one without a model. */
  summarize?: (request: { messages: readonly Message[]; maxChars: number }) => Promise<string> | string;
  /** Receives text to show to the user. */
  say?: (text: string) => void;
  /** Called before a restart at the hard line when restarts need confirmation. Without it, restarts are declined. */
  confirm?: () => Promise<boolean> | boolean;
  /**
   * What to do with a prompt at or above the hard line when no restart is left: `throw` a `GuardError`, or `send` it
   * anyway. Below that line the session continues in either case. Default: `throw`.
   */
  onStop?: "throw" | "send";
}

/** The line at which the next prompt starts a fresh session. */
type RestartLine = "ceiling" | "hard";

const HANDOFF_CHARS = 6_000;
/** A fresh session that frees less than this fraction of the line would soon need another. */
const LEAST_GAIN = 0.1;

/**
 * A conversation over the Claude Agent SDK that stays under its ceiling. The SDK owns the history, so the guard
 * measures each response, shortens tool output before it enters the context, warns the agent once at the hard line,
 * and continues in a fresh session with a handoff above the ceiling. Sub-agents have their own windows.
 * @example
 * const session = new ClaudeSession({ query, identity: { harness: "my-bot@host-1", session: "thread-91" } });
 * for await (const message of session.send("Hello")) console.log(message.type);
 */
export class ClaudeSession<M extends SdkMessage> {
  readonly guard: Conversation<Message>;
  readonly #options: ClaudeSessionOptions<M>;
  #sessionId: string | undefined;
  #transcript: Message[] = [];
  #handoff: string | undefined;
  #windDownSent = false;
  /**
   * Level at which the last fresh session started, without its first prompt. The next one would start there too.
   * Tokens.
   */
  #floor: number | undefined;
  #promptTokens = 0;
  /** A fresh session was due but would have freed almost nothing. */
  #pointless = false;

  constructor(options: ClaudeSessionOptions<M>) {
    this.#options = options;
    this.guard = new Conversation<Message>(options);
  }

  /** The SDK's session id. It changes with each fresh session. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /**
   * Sends one prompt and yields every message of the SDK.
   * @throws {GuardError} `max_restarts`, unless `onStop` is `send`. Errors of the SDK are passed through.
   */
  async *send(prompt: string): AsyncGenerator<M> {
    const crossed = this.#sessionId === undefined ? undefined : this.#lineCrossed();
    if (crossed !== undefined && (await this.#mayRestart(crossed))) await this.#startFresh(crossed);
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
      // Keep the handoff until a session has received it, in case the call fails first.
      this.#handoff = undefined;
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

  /** Returns the crossed line at which a fresh session is due, or `undefined` below all lines. */
  #lineCrossed(): RestartLine | undefined {
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

  /** Returns true if a due fresh session is allowed and frees enough. */
  async #mayRestart(crossed: RestartLine): Promise<boolean> {
    const { policy, state } = this.guard;
    const level = state.level ?? 0;
    const withhold = (reason: "max_restarts" | "unconfirmed" | "no_gain") =>
      this.guard.note({ type: "withheld", response: "restart", reason, context_tokens: level });
    if (restartsSpent(state, policy)) {
      const max = policy.restart?.max ?? 0;
      const { hard } = this.#limits();
      withhold("max_restarts");
      if (hard === undefined || level < hard) return false;
      this.#options.say?.(maxRestartsReached(max));
      if (this.#options.onStop !== "send") throw noRestartLeft(max);
      return false;
    }
    const limits = this.#limits();
    const line = (crossed === "hard" ? limits.hard : lineOfAction(limits).compact) ?? 0;
    const pointless = level - (this.#floor ?? 0) < (policy.compact?.minGain ?? LEAST_GAIN) * line;
    // Reported once; otherwise every prompt would report it again.
    if (pointless && !this.#pointless) withhold("no_gain");
    this.#pointless = pointless;
    if (pointless) return false;
    if (crossed === "ceiling" || policy.restart?.how !== "ask") return true;
    this.#options.say?.(RESTART_CONFIRMATION);
    if ((await this.#options.confirm?.()) === true) return true;
    withhold("unconfirmed");
    return false;
  }

  async #startFresh(crossed: RestartLine): Promise<void> {
    this.#options.say?.(COMPACTING_NOTICE);
    this.#handoff = await this.#summary();
    this.#sessionId = undefined;
    this.#transcript = [];
    this.#windDownSent = false;
    this.#floor = undefined;
    // At the hard line the grace period ends with this prompt.
    this.guard.restart(crossed === "ceiling" ? "ceiling" : "grace_spent");
  }

  async #summary(): Promise<string> {
    const messages = this.#transcript;
    try {
      const made = await this.#options.summarize?.({ messages, maxChars: HANDOFF_CHARS });
      if (made !== undefined && made.trim() !== "") return clip(made, HANDOFF_CHARS);
    } catch {
      // Fall back to the handoff without a model.
    }
    const history = new MessageHistory(new MessageReader(plainShape, (text) => text.length / 4));
    history.sync(messages);
    return digest(history, plainShape, 0, messages.length, HANDOFF_CHARS);
  }

  #hooks(): Record<string, unknown> {
    const given = (this.#options.options?.hooks ?? {}) as Record<string, unknown[]>;
    return { ...given, PostToolUse: [...(given.PostToolUse ?? []), { hooks: [this.#afterTool] }] };
  }

  readonly #afterTool = async (input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const output: Record<string, unknown> = {};
    const capped = capOutput(input.tool_response, this.#options.maxToolOutputChars ?? 40_000);
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

  /** Stores the full output. Returns false on failure; the output must then not be shortened. */
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
    // There is no turn countdown: the session can only be replaced between two prompts.
    this.guard.note({ type: "wind_down", context_tokens: level });
    return windDownNotice({
      contextTokens: level,
      windowTokens: this.guard.read().windowTokens,
      hardTokens: hard,
      graceTurns: undefined,
      next: restartsSpent(state, policy)
        ? "none"
        : policy.restart?.how === "ask" && this.#lineCrossed() === "hard"
          ? "ask"
          : "restart",
    });
  }
}

type SdkBlock = {
  type?: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
};

/** Extracts the messages that a summary needs from an SDK message. */
function transcriptOf(message: Record<string, unknown>): Message[] {
  const content = (message.message as { content?: unknown } | undefined)?.content;
  if (!Array.isArray(content)) return [];
  return (content as SdkBlock[]).flatMap((block): Message[] => {
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
