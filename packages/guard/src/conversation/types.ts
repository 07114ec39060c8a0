import type { PlimsollEventInput, WindowSource } from "@plimsoll/protocol/pure";
import type { GuardStatus, Limits, RestartReason, StopCause } from "../decide/decide.ts";
import type { Prediction } from "../measure/calibrate.ts";
import type { Tokenizer } from "../measure/estimate.ts";
import type { NoTurnReason } from "../measure/usage.ts";
import type { PolicyInput } from "../policy/policy.ts";
import type { Identity } from "../report/events.ts";
import type { NoticeCounts } from "../respond/texts.ts";
import type { UsageFlag } from "../state/observe-turn.ts";
import type { GuardState } from "../state/state.ts";
import type { WindowOption } from "../state/window-size.ts";
import type { ResultPart } from "../view/history.ts";
import type { Shape } from "../view/shape.ts";
import type { NoticePlace } from "../view/view.ts";

/** Stores the full text of masked results. `put` may throw: the guard then leaves that result unmasked. */
export interface MaskStore {
  put(id: string, text: string): void;
  get(id: string): string | undefined;
}

/** What a guard needs to know. */
export interface GuardOptions<M> {
  /** Without a session, each conversation is a session of its own; with one, each is an agent of that session. */
  identity: Omit<Identity, "session"> & { session?: string | undefined };
  policy?: PolicyInput;
  /** Reads and rewrites the harness's message format. Default: {@link Message}. */
  shape?: Shape<M>;
  model?: string;
  /**
   * Window size in tokens, the id of a model whose size the catalog has (such as `gpt-5.1`), or a function that returns the
   * size by model name. Without one, the size stays unknown until a provider reports it: a name alone may mean a server that
   * was started with a smaller window.
   */
  window?: WindowOption;
  /** Tokens sent in addition to the messages, such as tool schemas. Used until the first real count. */
  overheadTokens?: number;
  /** Counts the tokens of one text. Default: the built-in estimator. */
  tokenizer?: Tokenizer;
  /** Where to store masked texts, so that `recall` can return them. */
  store?: MaskStore;
  /**
   * Writes the text that replaces a masked result. With a `store`, it gets the key under which `recall` returns the whole
   * text. Default: `placeholderFor`.
   */
  placeholder?: (result: ResultPart, key: string | undefined) => string;
  /**
   * Where the notices to the agent are sent, such as the one before a restart. Default: `merge`, which every server takes.
   */
  notices?: NoticePlace;
  /**
   * Whether notices tell the agent how many tokens are used and left. Default: `by_model`, to the models that are known to take
   * that well. Others may hurry, stop early or hand their work over.
   */
  noticeCounts?: NoticeCounts;
  /** Where the agent is asked to write its notes before a restart, such as `NOTES.md`. Default: workspace files. */
  notesFile?: string;
  /** Receives each event as it happens, such as `reporter.record`. */
  onEvent?: (event: PlimsollEventInput) => void;
  /** Receives what the user of the guard should know, once each. Default: `console.warn`. */
  onWarning?: (message: string) => void;
  /** Current time in epoch ms. Default: `Date.now`. */
  clock?: () => number;
}

/** What one conversation needs to know. */
export interface ConversationOptions<M> extends GuardOptions<M> {
  identity: Identity;
  /** A state returned earlier by `snapshot()`. */
  state?: GuardState;
}

export interface ObserveFacts {
  /** Turn id to use when the response has none. */
  id?: string;
  model?: string;
  /** Window size reported by the provider, in tokens. */
  contextWindow?: number;
  durationMs?: number;
  costUsd?: number;
  /** Set when the call compacted the context; its prompt then does not count as a level. */
  purpose?: "compaction";
  /** Set when another agent with its own window made the call. */
  agent?: string;
  /**
   * `sent` of the `prepare` for this call. Needed only if calls of one conversation overlap. Estimated tokens. `undefined`
   * for a prompt that the guard did not see.
   */
  sent?: number | undefined;
  /** Something behind the guard's back shortened what the model sees, so a lower count is right. */
  edited?: boolean;
  /** The model answered. Without a usable count, the turn then counts with the estimate of its prompt. */
  answered?: boolean;
}

export interface Observation {
  /** `turn` set the level, `merged` completed an earlier turn, `other` belongs to another agent or purpose. */
  kind: "turn" | "merged" | "other" | NoTurnReason;
  /** Context tokens after this turn. */
  level: number | undefined;
  /** Level ÷ window tokens, as a fraction. */
  utilization: number | undefined;
  flags: readonly UsageFlag[];
  crossed: readonly { threshold: string; up: boolean; tokens: number }[];
}

/** A response that the guard carried out, or one that the harness must carry out. */
export type Action<M> =
  | {
      type: "mask";
      observations: number;
      tools: readonly string[];
      tokensBefore: number;
      tokensAfter: number;
    }
  | {
      /** Summarise `messages`, then call `compacted(summary)`. */
      type: "compact" | "fresh_session";
      messages: readonly M[];
      /** Maximum length of the summary, in characters. */
      maxChars: number;
      /** Text to show to the user. */
      say: string;
    }
  /** A summary that was prepared in the background replaced older turns. */
  | { type: "compacted"; tokensBefore: number; tokensAfter: number }
  | { type: "wind_down"; text: string; turnsLeft: number }
  | {
      type: "restart";
      reason: RestartReason | "ceiling";
      session: number;
      previousTurns: number;
      carriedTurns: number;
    }
  | { type: "confirm_restart"; reason: RestartReason; say: string }
  /** The oldest turns were cut, because the prompt did not fit. In tokens. */
  | { type: "cut"; tokensBefore: number; tokensAfter: number }
  /** The prompt must not be sent. */
  | { type: "stop"; reason: StopCause; say: string };

/** What a harness knows of the request that it prepares. */
export interface PrepareFacts {
  /**
   * The model that will answer, or all that may, such as those that a client falls back to; the preferred one first. The guard
   * uses the smallest of their windows. `undefined` means as before.
   */
  model?: string | readonly string[] | undefined;
  /** False if nobody can write a summary, so that none is asked for. */
  summaries?: boolean;
  /**
   * What the request holds beside the messages, in any form: tool definitions, instructions, a system prompt of its own, a
   * schema of the answer. Its tokens are estimated from its text. `undefined` means as before.
   */
  besides?: unknown;
  /** Most tokens that the answer may have. They are kept free in the window. `undefined` means as before. */
  outputTokens?: number | undefined;
  /** True for the same call again, such as after a summary. A changed policy then waits for the next call. */
  sameCall?: boolean;
}

export interface Prepared<M> {
  /** The messages to send. The input messages are never changed. */
  messages: M[];
  /** With `notices: "system"`: texts for the system prompt, if it is not among the messages. */
  system: readonly string[];
  actions: readonly Action<M>[];
  status: GuardStatus;
  /** Estimated tokens of `messages`, uncorrected. */
  sent: number;
  /** Expected context tokens of `messages`, with their source and the recent prediction error. */
  level: Prediction;
}

export interface GuardReading {
  level: Prediction | undefined;
  /** Highest level so far, in tokens. */
  peak: number;
  /** For a model whose size is `unknown`: the smallest size known in this conversation, if any. */
  windowTokens: number | undefined;
  windowSource: WindowSource;
  /** Level ÷ window tokens, as a fraction. */
  utilization: number | undefined;
  /** The policy's thresholds in tokens. */
  limits: Limits;
}
