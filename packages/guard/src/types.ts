import type { PlimsollEventInput, WindowLookup, WindowSource } from "@plimsoll/protocol/pure";
import type { GuardStatus, Limits, RestartReason } from "./decide.ts";
import type { Identity } from "./events.ts";
import type { Prediction } from "./measure/calibrate.ts";
import type { Tokenizer } from "./measure/estimate.ts";
import type { NoTurnReason } from "./measure/usage.ts";
import type { UsageFlag } from "./observe.ts";
import type { PolicyInput } from "./policy.ts";
import type { GuardState } from "./state.ts";
import type { ResultPart } from "./view/history.ts";
import type { Shape } from "./view/shape.ts";

/** Keeps what was masked, so that it can be read again. */
export interface MaskStore {
  put(id: string, text: string): void;
  get(id: string): string | undefined;
}

export interface GuardOptions<M> {
  identity: Identity;
  policy?: PolicyInput;
  /** How to read the harness's messages; {@link Message} when left out. */
  shape?: Shape<M>;
  model?: string;
  /** Window size in tokens, or a lookup by model name. What nobody knows stays unknown. */
  window?: number | WindowLookup;
  /** Tokens sent beside the messages (tool schemas), until a real count tells. */
  overheadTokens?: number;
  /** Exact or better counting of one text; the built-in estimator when left out. */
  tokenizer?: Tokenizer;
  store?: MaskStore;
  placeholder?: (result: ResultPart) => string;
  onEvent?: (event: PlimsollEventInput) => void;
  /** Epoch ms. */
  clock?: () => number;
  /** Takes up a state stored earlier. */
  state?: GuardState;
}

export interface ObserveFacts {
  /** Id of the turn, when the object carries none. */
  id?: string;
  model?: string;
  /** Window size the provider reported, tokens. */
  contextWindow?: number;
  durationMs?: number;
  costUsd?: number;
  /** The call was made to compact the context: its prompt is no level. */
  purpose?: "compaction";
  /** The call belongs to another agent, with a window of its own. */
  agent?: string;
}

export interface Observation {
  /** `turn` moved the level; `merged` completed an earlier one; `other` belongs to another agent or purpose. */
  kind: "turn" | "merged" | "other" | NoTurnReason;
  /** Tokens in the window after this turn, and their source. */
  level: number | undefined;
  utilization: number | undefined;
  flags: readonly UsageFlag[];
  crossed: readonly { threshold: string; up: boolean; tokens: number }[];
}

/** Something that was done, or that the harness must do. */
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
      /** Most characters the summary may have. */
      maxChars: number;
      /** To be shown to the person. */
      say: string;
    }
  | { type: "wind_down"; text: string; turnsLeft: number }
  | {
      type: "restart";
      reason: RestartReason | "ceiling";
      session: number;
      previousTurns: number;
      carriedTurns: number;
    }
  | { type: "confirm_restart"; reason: RestartReason; say: string }
  | { type: "stop"; reason: "max_restarts"; say: string };

export interface Prepared<M> {
  /** What to send. The messages given are never changed. */
  messages: M[];
  actions: readonly Action<M>[];
  status: GuardStatus;
  /** Expected context tokens of `messages`, with its source and the error of late. */
  level: Prediction;
}

export interface GuardReading {
  level: Prediction | undefined;
  peak: number;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  utilization: number | undefined;
  limits: Limits;
}
