import type { ThresholdName, Usage, WindowSource } from "@plimsoll/protocol/pure";
import { type Calibration, newCalibration } from "../measure/calibrate.ts";
import { tokenizerScale } from "../measure/estimate.ts";
import type { Trail } from "../view/alignment.ts";

/** Where the view starts in the canonical history, and the text that replaces everything before that point. */
export interface Cut {
  /** Index of the first canonical message that is still sent. Leading system messages are always sent. */
  at: number;
  /** A summary, handoff or restart marker, sent as a user message before it. */
  head: string;
  /** Number of turns that `head` replaces. */
  turns: number;
  /** The summary in `head`, without what the user said. Undefined for a restart. */
  summary?: string;
  /** What the user said before it, word for word, as far as it was kept. */
  said?: readonly string[];
}

/** Something that must stay in the context word for word. */
export interface Fact {
  name: string;
  text: string;
}

export interface Mask {
  /** The part that it replaces: its call, and a hash of its text. */
  mark: string;
  /** Key of the full text in the store: the id of the call, unless another text has that key. */
  key: string;
  placeholder: string;
  /** Estimated tokens saved. */
  saved: number;
  /** Start and end of the text are still there. It may be masked wholly later. */
  short?: true;
}

/** A result of a tool that was removed with its turns. */
export interface Filed {
  /** Key of the full text in the store. */
  key: string;
  /** The tool and its subject. */
  what: string;
}

/** A message from the guard to the agent. It is in the view but not in the canonical history. */
export interface AgentNotice {
  kind: "masked" | "wind_down";
  /** Number of canonical messages before it. */
  after: number;
  text: string;
  /** The same without counts, for models that do not take them well. */
  plain?: string;
}

/** Tokens reclaimed by masking: estimated at first, then measured by the next real count. */
export interface Reclaimed {
  estimated: number;
  measured: number | undefined;
}

/** A count that cannot be, and how the counts after it went on. Tokens. */
export interface Doubt {
  /** Estimate of the counted prompt. */
  sent: number;
  tokens: number;
  /** Later counts that grew as the prompt did. */
  follows: number;
  /** Counts in a row that were not believed. */
  times: number;
}

/** The window of one model, in tokens. `model` is undefined for a size that was reported without one. */
export interface KnownWindow {
  model: string | undefined;
  tokens: number;
  source: Exclude<WindowSource, "unknown">;
}

/** The history that was seen last. */
export interface SeenHistory extends Trail {
  /** Number of leading system messages. */
  pinned: number;
  /** Of what they say. */
  system: number;
}

/** The guard's whole state. Plain JSON, so another process can store it and continue from it. */
export interface GuardState {
  version: 2;
  model: string | undefined;
  /** Window sizes known in this conversation, the latest last. */
  windows: readonly KnownWindow[];
  /** Models that may answer the call that was prepared last, the preferred one first. Empty if nobody said. */
  asked: readonly string[];
  calibration: Calibration;
  /** Estimated tokens of the request that was sent last. */
  sent: number | undefined;
  /** Estimated tokens that are sent beside the messages, such as tool definitions. */
  besides: number;
  /** Tokens of the window that are kept free for the answer. */
  reserved: number;
  /** Context tokens of the latest turn. Where the count was missing or implausible, an estimate. */
  level: number | undefined;
  peak: number;
  /** Thresholds that the level is above. */
  above: readonly ThresholdName[];
  /** The latest turns by id, to merge repeated reports. */
  recent: { id: string; usage: Usage; at: number }[];
  masks: Mask[];
  /** Results that summaries, restarts and cuts removed, newest last. Undefined without a store. */
  filed?: readonly Filed[];
  cut: Cut | undefined;
  seen: SeenHistory | undefined;
  /** What the harness declared. It stands in every summary. */
  facts?: readonly Fact[];
  notices: AgentNotice[];
  /** Value of `allTurns` when the wind-down notice was sent. */
  windDownAt: number | undefined;
  /** The last count that was not believed. Undefined after one that was. */
  doubt: Doubt | undefined;
  /** The guard or harness lowered the level since the last count, so a lower count is expected. */
  lowered: boolean;
  /** The harness or the provider shortened what the model sees, which the estimate does not know. */
  edited: boolean;
  /** Level above which compaction is tried again, in tokens. Set when a summary saved too little. */
  compactAfter: number;
  /** Value of `allTurns` when a still unanswered summary request was made. */
  compactAsked: number | undefined;
  reclaimed: Reclaimed | undefined;
  /** Value of `allTurns` at the last masking, summary or restart. */
  actedAt: number | undefined;
  /** Summaries in a row that saved too little. */
  weakActions: number;
  /** Average number of tokens that a turn adds. */
  growth: number;
  /** At the last prompt a restart was due but would have freed almost nothing. */
  restartPointless: boolean;
  /** Session number, from 1. A restart starts the next session. */
  session: number;
  window: number;
  /** Turns in this session. `allTurns` counts every session. */
  turns: number;
  allTurns: number;
  restarts: number;
  compactions: number;
  maskings: number;
  warnings: number;
  /** Number of events created so far; part of their ids. */
  events: number;
}

export function newState(scale: number, overheadTokens: number): GuardState {
  return {
    version: 2,
    model: undefined,
    windows: [],
    asked: [],
    calibration: newCalibration(scale, overheadTokens),
    sent: undefined,
    besides: 0,
    reserved: 0,
    level: undefined,
    peak: 0,
    above: [],
    recent: [],
    masks: [],
    cut: undefined,
    seen: undefined,
    notices: [],
    windDownAt: undefined,
    doubt: undefined,
    lowered: false,
    edited: false,
    compactAfter: 0,
    compactAsked: undefined,
    reclaimed: undefined,
    actedAt: undefined,
    weakActions: 0,
    growth: 0,
    restartPointless: false,
    session: 1,
    window: 0,
    turns: 0,
    allTurns: 0,
    restarts: 0,
    compactions: 0,
    maskings: 0,
    warnings: 0,
    events: 0,
  };
}

/** A state of before conversations had several models has one reported window. */
type OldWindow = { model: string | undefined; tokens: number } | undefined;

/**
 * Fills in what a state of an older version lacks. One of before edits had fingerprints loses them: nothing says which messages
 * they belong to.
 */
export function restoredState({ reported, ...state }: GuardState & { reported?: OldWindow }): GuardState {
  const windows = reported === undefined ? [] : [{ ...reported, source: "reported" as const }];
  const calibration = { scale: tokenizerScale(state.model), ...state.calibration };
  const whole = { ...newState(1, 0), ...state, windows: state.windows ?? windows, calibration };
  if (state.version === 2) return whole;
  return { ...whole, version: 2, masks: [], cut: undefined, seen: undefined, notices: [] };
}
