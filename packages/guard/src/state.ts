import type { ThresholdName, Usage } from "@plimsoll/protocol/pure";
import type { Calibration } from "./measure/calibrate.ts";
import { newCalibration } from "./measure/calibrate.ts";

/** Where the view begins in the canonical history, and what stands in place of the part before. */
export interface Cut {
  /** Index of the first canonical message that is still sent; leading system messages are sent besides. */
  at: number;
  /** Text in the user's role before it: a summary, a handoff or a restart marker. */
  head: string;
  /** Turns the head stands for. */
  turns: number;
}

export interface Mask {
  id: string;
  /** Where the store has the full text, when not under `id`. */
  key?: string;
  placeholder: string;
  /** Estimated tokens saved. */
  saved: number;
}

/** Something said to the agent that is in the view and not in the canonical history. */
export interface Notice {
  kind: "masked" | "wind_down";
  /** Canonical messages before it. */
  after: number;
  text: string;
}

/** What masking really reclaimed: the estimate when it was done, the truth from the next real count. Tokens. */
export interface Reclaimed {
  estimated: number;
  measured: number | undefined;
}

/** Everything a guard knows. Plain JSON: it can be stored and taken up by another process. */
export interface GuardState {
  version: 1;
  model: string | undefined;
  /** Window size last reported, and for which model. Tokens. */
  reported: { model: string | undefined; tokens: number } | undefined;
  calibration: Calibration;
  /** Estimate of the view that was sent last. */
  sent: number | undefined;
  /** Context tokens of the latest turn that could be believed. */
  level: number | undefined;
  peak: number;
  above: readonly ThresholdName[];
  /** The latest turns by id, for merging what is reported twice. */
  recent: { id: string; usage: Usage; at: number }[];
  masks: Mask[];
  cut: Cut | undefined;
  notices: Notice[];
  /** Turn number at which the wind-down was sent. */
  windDownAt: number | undefined;
  /** Counts that contradict the estimate, in a row. */
  implausible: number;
  /** The level fell on purpose since the last count: a lower one is no surprise. */
  lowered: boolean;
  /** Compaction is refused until the level passes this: the last attempt saved too little. Tokens. */
  compactAfter: number;
  /** Number of turns when a summary was first asked for and not yet given. */
  compactAsked: number | undefined;
  reclaimed: Reclaimed | undefined;
  /** A restart was due at the last prompt, and would have freed next to nothing. */
  restartPointless: boolean;
  /** Number of the session, from 1; a restart begins the next. */
  session: number;
  window: number;
  /** Turns in this session, and over all. */
  turns: number;
  allTurns: number;
  restarts: number;
  compactions: number;
  maskings: number;
  warnings: number;
  /** Events made, for their ids. */
  events: number;
}

export function newState(scale: number, overheadTokens: number): GuardState {
  return {
    version: 1,
    model: undefined,
    reported: undefined,
    calibration: newCalibration(scale, overheadTokens),
    sent: undefined,
    level: undefined,
    peak: 0,
    above: [],
    recent: [],
    masks: [],
    cut: undefined,
    notices: [],
    windDownAt: undefined,
    implausible: 0,
    lowered: false,
    compactAfter: 0,
    compactAsked: undefined,
    reclaimed: undefined,
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
