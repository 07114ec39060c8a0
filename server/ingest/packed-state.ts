import type { AgentState, BoundaryReading, WindowSummary } from "@plimsoll/protocol";

type Maybe<T> = T | null;

/**
 * An agent's state as it is stored: its values by place, as JSON. It is written with every turn, and with the names of
 * its fields it was twice as long.
 */
type PackedState = [
  tail: Maybe<[window: number, seq: number, at: number, key: string]>,
  lastTurnAt: Maybe<number>,
  lastMark: Maybe<[window: number, at: number, id: string]>,
  openers: number,
  anchor: Maybe<[at: number, offset: number]>,
  countedAt: Maybe<number>,
  turns: number,
  reported: [model: string, tokens: number][],
  model: Maybe<string>,
  current: Maybe<number>,
  currentAt: Maybe<number>,
  currentEstimated: boolean,
  currentWindow: Maybe<number>,
  windowTokens: Maybe<number>,
  windowSource: AgentState["windowSource"],
  uncounted: number,
  recent: number[],
  above: AgentState["above"],
  pending: PackedBoundary[],
  window: Maybe<PackedWindow>,
  windows: number,
  peak: Maybe<[tokens: number, windowTokens: Maybe<number>, at: number]>,
  peakUtilization: Maybe<number>,
  reports: Maybe<[openUntil: Maybe<number>]>,
];

type PackedBoundary = [
  id: string,
  type: string,
  at: number,
  window: number,
  tokensBefore: Maybe<number>,
  tokensAfter: Maybe<number>,
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

export function packState(state: AgentState): string {
  const { tail, lastMark, numbering, window, peak, reports } = state;
  const { anchor } = numbering;
  // What is undefined becomes null in an array.
  return JSON.stringify([
    tail && [tail.window, tail.seq, tail.at, tail.key],
    state.lastTurnAt,
    lastMark && [lastMark.window, lastMark.at, lastMark.id],
    numbering.openers,
    anchor && [anchor.at, anchor.offset],
    numbering.countedAt,
    state.turns,
    state.reported.map(({ model, tokens }) => [model, tokens]),
    state.model,
    state.current,
    state.currentAt,
    state.currentEstimated,
    state.currentWindow,
    state.windowTokens,
    state.windowSource,
    state.uncounted,
    state.recent,
    state.above,
    state.pending.map(({ id, type, at, window, tokensBefore, tokensAfter }) => [
      id,
      type,
      at,
      window,
      tokensBefore,
      tokensAfter,
    ]),
    window && [
      window.index,
      window.firstAt,
      window.lastAt,
      window.turns,
      window.firstTokens,
      window.lastTokens,
      window.peakTokens,
      window.peakUtilization,
      window.windowTokens,
    ],
    state.windows,
    peak && [peak.tokens, peak.windowTokens, peak.at],
    state.peakUtilization,
    reports && [reports.openUntil],
  ]);
}

export function unpackState(text: string): AgentState {
  // biome-ignore format: in the order of the places
  const [
    tail, lastTurnAt, lastMark, openers, anchor, countedAt, turns, reported, model, current, currentAt,
    currentEstimated, currentWindow, windowTokens, windowSource, uncounted, recent, above, pending, window, windows,
    peak, peakUtilization, reports,
  ] = JSON.parse(text) as PackedState;
  return {
    tail: tail === null ? undefined : { window: tail[0], seq: tail[1], at: tail[2], key: tail[3] },
    lastTurnAt: lastTurnAt ?? undefined,
    lastMark: lastMark === null ? undefined : { window: lastMark[0], at: lastMark[1], id: lastMark[2] },
    numbering: {
      openers,
      anchor: anchor === null ? undefined : { at: anchor[0], offset: anchor[1] },
      countedAt: countedAt ?? undefined,
    },
    turns,
    reported: reported.map(([model, tokens]) => ({ model, tokens })),
    model: model ?? undefined,
    current: current ?? undefined,
    currentAt: currentAt ?? undefined,
    currentEstimated,
    currentWindow: currentWindow ?? undefined,
    windowTokens: windowTokens ?? undefined,
    windowSource,
    uncounted,
    recent,
    above,
    pending: pending.map(unpackBoundary),
    window: window === null ? undefined : unpackWindow(window),
    windows,
    peak: peak === null ? undefined : { tokens: peak[0], windowTokens: peak[1] ?? undefined, at: peak[2] },
    peakUtilization: peakUtilization ?? undefined,
    reports: reports === null ? undefined : { openUntil: reports[0] ?? undefined },
  };
}

function unpackBoundary(packed: PackedBoundary): BoundaryReading {
  const [id, type, at, window, tokensBefore, tokensAfter] = packed;
  return {
    id,
    type,
    at,
    window,
    tokensBefore: tokensBefore ?? undefined,
    tokensAfter: tokensAfter ?? undefined,
  };
}

function unpackWindow(packed: PackedWindow): WindowSummary {
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
