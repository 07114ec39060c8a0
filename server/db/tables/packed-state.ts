import {
  type AgentState,
  type CachedPrompt,
  type CrossingReport,
  type KnownCrossing,
  NO_FALL,
  type Peak,
  type PendingBoundary,
  type Summary,
  type SummaryCalls,
  type WindowSummary,
} from "@plimsoll/fold";
import { LOSABLE_KINDS, SURVIVALS, type Survived, type ThresholdName } from "@plimsoll/protocol/pure";

/** What the next event of an agent needs, as `agents.state` keeps it. */
export interface StoredState {
  state: AgentState;
  /** The window the agent is in, in full. */
  window: WindowSummary | undefined;
  /** The events since the last cut; see segments.ts. */
  open: Summary;
}

type Maybe<T> = T | null;

/** An agent's state by position, as JSON. It is rewritten with every batch; with field names it was twice as long. */
type PackedState = [
  tail: Maybe<[window: number, seq: number, at: number, key: string]>,
  lastTurnAt: Maybe<number>,
  lastMark: Maybe<[window: number, at: number, id: string]>,
  numbering: PackedNumbering,
  /** The last part is left out unless a prompt exceeded the size. */
  reported: [model: string, tokens: number, refuted?: 1][],
  model: Maybe<string>,
  current: Maybe<number>,
  currentAt: Maybe<number>,
  currentEstimated: 0 | 1,
  currentWindow: Maybe<number>,
  windowTokens: Maybe<number>,
  windowSource: AgentState["windowSource"],
  uncounted: number,
  recent: readonly number[],
  above: AgentState["above"],
  pending: PackedBoundary[],
  levels: PackedLevel[],
  unmatched: readonly CrossingReport[],
  /** Each of these is left out while it and all after it say nothing. */
  reportedLines?: readonly PackedLine[],
  generation?: number,
  traces?: readonly PackedTrace[],
  waited?: number,
  cached?: PackedPrompt,
  sinceFall?: [turns: number, before: Maybe<number>, refill: Maybe<number>] | 0,
  summaryCalls?: PackedCalls,
];

type PackedPrompt = [tokens: number, shortest: number, survived: number, hour?: number];

type PackedCalls = [
  model: string,
  calls: number,
  prompt: number,
  fresh: number,
  read: number,
  written: number,
  output: number,
  hour?: number,
];

type PackedTrace = [at: number, tokens: Maybe<number>, witnesses: number];

type PackedLine = [threshold: ThresholdName, model: Maybe<string>, tokens: number];

type PackedNumbering = [
  openers: number,
  anchor: Maybe<[at: number, offset: number]>,
  countedAt: Maybe<number>,
  sequence: Maybe<[window: number, top: Maybe<number>, unnumberedAt: Maybe<number>]>,
];

type PackedBoundary = [
  id: string,
  type: string,
  at: number,
  window: number,
  tokensBefore: Maybe<number>,
  tokensAfter: Maybe<number>,
  /** Left out if no report gave `tokensBefore`, and nothing is known of what survived. */
  statesBefore?: 0 | 1,
  /** Counts by `LOSABLE_KINDS` and `SURVIVALS`. */
  survived?: Maybe<number[]>[],
];

type PackedLevel = [
  turnKey: string,
  at: number,
  contextTokens: number,
  windowTokens: Maybe<number>,
  crossed: readonly KnownCrossing[],
];

type PackedWindow = [
  index: number,
  firstAt: number,
  lastAt: number,
  turns: number,
  firstTokens: Maybe<number>,
  lastTokens: Maybe<number>,
  peakTokens: Maybe<number>,
  peakUtilization: Maybe<number>,
  windowTokens: Maybe<number>,
];

type PackedSummary = [
  turns: number,
  peak: Maybe<[tokens: number, windowTokens: Maybe<number>, at: number]>,
  peakUtilization: Maybe<number>,
  windows: PackedWindow[],
];

/** SQL of figures of a row of `segments`: `current` of its state, and `turns` of its summary. */
export const levelOfState = (alias: string) => `(${alias}.state::json ->> 6)::int4`;
export const turnsOfSummary = (alias: string) => `(${alias}.summary::json ->> 0)::int4`;

/** Marks since the last cut are left out while there are none. */
type PackedStored = [PackedState, Maybe<PackedWindow>, PackedSummary, marks?: number];

export function packStored({ state, window, open }: StoredState): string {
  const parts = [packState(state), JSON.stringify(window ? packWindow(window) : null), packSummary(open)];
  if (open.marks > 0) parts.push(String(open.marks));
  return `[${parts.join(",")}]`;
}

export function unpackStored(text: string): StoredState {
  const [state, window, open, marks = 0] = JSON.parse(text) as PackedStored;
  return {
    state: stateOf(state),
    window: window === null ? undefined : windowOf(window),
    open: { ...summaryOf(open), marks },
  };
}

/** Two states are the same exactly if their texts are. */
export function packState(state: AgentState): string {
  const {
    tail,
    lastMark,
    numbering,
    reportedLines,
    generation,
    traces,
    waited,
    cached,
    sinceFall,
    summaryCalls,
  } = state;
  const { anchor, sequence } = numbering;
  const packed: Nullish<Always<PackedState>> = [
    tail && [tail.window, tail.seq, tail.at, tail.key],
    state.lastTurnAt,
    lastMark && [lastMark.window, lastMark.at, lastMark.id],
    [
      numbering.openers,
      anchor && [anchor.at, anchor.offset],
      numbering.countedAt,
      sequence && [sequence.window, sequence.top, sequence.unnumberedAt],
    ],
    state.reported.map(({ model, tokens, refuted }) => (refuted ? [model, tokens, 1] : [model, tokens])),
    state.model,
    state.current,
    state.currentAt,
    state.currentEstimated ? 1 : 0,
    state.currentWindow,
    state.windowTokens,
    state.windowSource,
    state.uncounted,
    state.recent,
    state.above,
    state.pending.map(packBoundary),
    state.levels.map(({ turnKey, at, contextTokens, windowTokens, crossed }) => [
      turnKey,
      at,
      contextTokens,
      windowTokens,
      crossed,
    ]),
    state.unmatched,
  ];
  const rest: unknown[] = [
    reportedLines.map(({ threshold, model, tokens }) => [threshold, model, tokens]),
    generation,
    traces.map(({ at, tokens, witnesses }) => [at, tokens, witnesses]),
    waited,
    cached && packPrompt(cached),
    sinceFall.turns && [sinceFall.turns, sinceFall.before, sinceFall.refill],
    summaryCalls && packCalls(summaryCalls),
  ];
  const saysNothing = (part: unknown) => part === undefined || part === 0 || (part as unknown[]).length === 0;
  while (rest.length > 0 && saysNothing(rest.at(-1))) rest.pop();
  return JSON.stringify([...packed, ...rest]);
}

/** A packed state without the positions that may be missing. */
type Always<T> = T extends [
  ...infer Rest,
  reportedLines?: readonly PackedLine[],
  generation?: number,
  traces?: readonly PackedTrace[],
  waited?: number,
  cached?: PackedPrompt,
  sinceFall?: [number, Maybe<number>, Maybe<number>] | 0,
  summaryCalls?: PackedCalls,
]
  ? Rest
  : never;

/** The packed form before JSON turns what is undefined into null. */
type Nullish<T> = T extends null
  ? undefined
  : T extends readonly [unknown, ...unknown[]]
    ? { [K in keyof T]: Nullish<T[K]> }
    : T extends (infer Item)[]
      ? Nullish<Item>[]
      : T;

export function unpackState(text: string): AgentState {
  return stateOf(JSON.parse(text) as PackedState);
}

export function packSummary({ turns, peak, peakUtilization, windows }: Summary): string {
  return JSON.stringify([
    turns,
    peak && [peak.tokens, peak.windowTokens, peak.at],
    peakUtilization,
    windows.map(packWindow),
  ]);
}

export function unpackSummary(text: string): Summary {
  return summaryOf(JSON.parse(text) as PackedSummary);
}

function packBoundary(boundary: PendingBoundary): Nullish<PackedBoundary> {
  const { id, type, at, window, tokensBefore, tokensAfter, statesBefore, survived } = boundary;
  if (survived !== undefined)
    return [
      ...([id, type, at, window, tokensBefore, tokensAfter, statesBefore ? 1 : 0] as const),
      LOSABLE_KINDS.map((kind) => survived[kind] && SURVIVALS.map((one) => survived[kind]![one])),
    ];
  if (statesBefore) return [id, type, at, window, tokensBefore, tokensAfter, 1];
  return [id, type, at, window, tokensBefore, tokensAfter];
}

function packWindow(window: WindowSummary): (number | undefined)[] {
  return [
    window.index,
    window.firstAt,
    window.lastAt,
    window.turns,
    window.firstTokens,
    window.lastTokens,
    window.peakTokens,
    window.peakUtilization,
    window.windowTokens,
  ];
}

function stateOf(packed: PackedState): AgentState {
  // biome-ignore format: in the order of the positions
  const [
    tail, lastTurnAt, lastMark, [openers, anchor, countedAt, sequence], reported, model, current, currentAt,
    currentEstimated, currentWindow, windowTokens, windowSource, uncounted, recent, above, pending, levels, unmatched,
    reportedLines = [], generation = 0, traces = [], waited = 0, cached, sinceFall = 0,
    summaryCalls,
  ] = packed;
  return {
    tail: tail === null ? undefined : { window: tail[0], seq: tail[1], at: tail[2], key: tail[3] },
    lastTurnAt: lastTurnAt ?? undefined,
    lastMark: lastMark === null ? undefined : { window: lastMark[0], at: lastMark[1], id: lastMark[2] },
    numbering: {
      openers,
      anchor: anchor === null ? undefined : { at: anchor[0], offset: anchor[1] },
      countedAt: countedAt ?? undefined,
      sequence:
        sequence === null
          ? undefined
          : { window: sequence[0], top: sequence[1] ?? undefined, unnumberedAt: sequence[2] ?? undefined },
    },
    reported: reported.map(([model, tokens, refuted]) => ({
      model,
      tokens,
      ...(refuted && { refuted: true as const }),
    })),
    model: model ?? undefined,
    current: current ?? undefined,
    currentAt: currentAt ?? undefined,
    currentEstimated: currentEstimated === 1,
    currentWindow: currentWindow ?? undefined,
    windowTokens: windowTokens ?? undefined,
    windowSource,
    uncounted,
    recent,
    above,
    pending: pending.map(boundaryOf),
    waited,
    levels: levels.map(([turnKey, at, contextTokens, windowTokens, crossed]) => ({
      turnKey,
      at,
      contextTokens,
      windowTokens: windowTokens ?? undefined,
      crossed,
    })),
    unmatched,
    reportedLines: reportedLines.map(([threshold, model, tokens]) => ({
      threshold,
      model: model ?? undefined,
      tokens,
    })),
    generation,
    traces: traces.map(([at, tokens, witnesses]) => ({ at, tokens: tokens ?? undefined, witnesses })),
    cached: cached ? promptOf(cached) : undefined,
    sinceFall:
      sinceFall === 0
        ? NO_FALL
        : { turns: sinceFall[0], before: sinceFall[1] ?? undefined, refill: sinceFall[2] ?? undefined },
    summaryCalls: summaryCalls && callsOf(summaryCalls),
  };
}

function packPrompt({ tokens, shortest, survived, hour }: CachedPrompt): PackedPrompt {
  return hour === undefined ? [tokens, shortest, survived] : [tokens, shortest, survived, hour];
}

const promptOf = ([tokens, shortest, survived, hour]: PackedPrompt): CachedPrompt => ({
  tokens,
  shortest,
  survived,
  hour,
});

function packCalls({ model, calls, prompt, fresh, read, written, output, hour }: SummaryCalls): PackedCalls {
  const packed = [model, calls, prompt, fresh, read, written, output] as const;
  return hour === undefined ? [...packed] : [...packed, hour];
}

function callsOf([model, calls, prompt, fresh, read, written, output, hour]: PackedCalls): SummaryCalls {
  return { model, calls, prompt, fresh, read, written, output, ...(hour !== undefined && { hour }) };
}

function boundaryOf(packed: PackedBoundary): PendingBoundary {
  const [id, type, at, window, tokensBefore, tokensAfter, statesBefore, survived] = packed;
  return {
    id,
    type,
    at,
    window,
    tokensBefore: tokensBefore ?? undefined,
    tokensAfter: tokensAfter ?? undefined,
    statesBefore: statesBefore === 1,
    survived: survived && survivedOf(survived),
  };
}

function survivedOf(counts: readonly Maybe<number[]>[]): Survived {
  const kinds = LOSABLE_KINDS.flatMap((kind, index) => {
    const own = counts[index];
    return own ? [[kind, Object.fromEntries(SURVIVALS.map((one, place) => [one, own[place]!]))]] : [];
  });
  return Object.fromEntries(kinds);
}

function windowOf(packed: PackedWindow): WindowSummary {
  const [index, firstAt, lastAt, turns, firstTokens, lastTokens, peakTokens, peakUtilization, windowTokens] =
    packed;
  return {
    index,
    firstAt,
    lastAt,
    turns,
    firstTokens: firstTokens ?? undefined,
    lastTokens: lastTokens ?? undefined,
    peakTokens: peakTokens ?? undefined,
    peakUtilization: peakUtilization ?? undefined,
    windowTokens: windowTokens ?? undefined,
  };
}

/** Without the number of marks, which only the open segment needs. */
function summaryOf([turns, peak, peakUtilization, windows]: PackedSummary): Summary {
  return {
    turns,
    marks: 0,
    peak: peak === null ? undefined : peakOf(peak),
    peakUtilization: peakUtilization ?? undefined,
    windows: windows.map(windowOf),
  };
}

function peakOf([tokens, windowTokens, at]: [number, Maybe<number>, number]): Peak {
  return { tokens, windowTokens: windowTokens ?? undefined, at };
}
