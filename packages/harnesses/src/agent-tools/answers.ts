import { LOSABLE_KINDS, type LosableKind, SURVIVALS } from "@plimsoll/protocol/pure";
import type { CompactionLoss, Losable } from "../recordings/compaction-loss.ts";
import type { ContentPart, LargeItem } from "../recordings/contents-tree.ts";
import { type AgentLevel, type FitAnswer, fitOf, headroomOf, type KnownLine } from "./headroom.ts";

/**
 * Answers to an agent. They are data: names and texts of others are values of fields, cut to a length, and nothing in an answer asks for
 * anything. Without `detail`, an answer has no count of tokens, because newer models stop early at a countdown.
 */
export type ToolAnswer = Record<string, unknown>;

/** Characters of a name or a sentence. */
const LONGEST_TEXT = 160;
const MOST_LISTED = 8;
const MOST_SUBAGENTS = 8;

/** What an agent wrote down for itself. `at` in epoch ms. */
export interface OwnNote {
  at: number;
  note: string;
}

/** What is known beside the levels. */
export interface Beside<Level extends AgentLevel = AgentLevel> {
  /** The line of an agent of the session. */
  lineOf(agent: Level): KnownLine;
  /** Whether the server knows the session. */
  server: "known" | "not_yet" | "away" | "no_login";
  note: OwnNote | undefined;
  /** Epoch ms. */
  now: number;
  detail: boolean;
}

const seconds = (ms: number) => Math.max(0, Math.round(ms / 1_000));

export function headroomAnswer<Level extends AgentLevel>(
  own: Level,
  others: readonly Level[],
  beside: Beside<Level>,
): ToolAnswer {
  const { lineOf, server, note, now, detail } = beside;
  const line = lineOf(own);
  const { verdict, stepsLeft, basis } = headroomOf(own, line);
  const subagents = others.filter(({ agent }) => agent !== "main").slice(0, MOST_SUBAGENTS);
  return {
    verdict,
    steps_left: stepsLeft ?? null,
    basis,
    line: { source: line.source, ...(detail && { tokens: line.tokens ?? null }) },
    level_age_s: seconds(now - own.at),
    ...(own.callsSince !== undefined && { level_age_calls: own.callsSince }),
    ...(own.isOutdated && { outdated: true }),
    falls: own.fallCount,
    ...(detail && {
      level: { tokens: own.level, counted: own.counted, window: own.windowTokens ?? null },
      model: cut(own.model),
    }),
    ...(own.agent !== "main" && { agent: cut(own.agent) }),
    ...(subagents.length > 0 && {
      subagents: subagents.map((one) => ({
        agent: cut(one.agent),
        verdict: headroomOf(one, lineOf(one)).verdict,
        level_age_s: seconds(now - one.at),
        falls: one.fallCount,
        ...(detail && { tokens: one.level }),
      })),
    }),
    ...(note !== undefined && { checkpoint_age_s: seconds(now - note.at) }),
    server,
  };
}

/** @param tokens of what is to be added */
export function fitAnswer(tokens: number, own: AgentLevel, line: KnownLine): ToolAnswer {
  const { fits, spare }: FitAnswer = fitOf(tokens, own, line);
  return {
    fits,
    needs: tokens,
    ...(spare !== undefined && (spare >= 0 ? { spare } : { over_by: -spare })),
    line: line.source,
  };
}

/** What the window of an agent holds. */
export interface FilledWindow {
  /** Context tokens. */
  level: number;
  parts: readonly ContentPart[];
  /** The largest first. The turn is undefined where only a recording has it. */
  largest: readonly (Omit<LargeItem, "turn"> & { turn?: number })[];
}

export function fillsAnswer({ level, parts: tree, largest }: FilledWindow): ToolAnswer {
  const share = (tokens: number) => Number((tokens / level).toFixed(3));
  const parts = tree.flatMap(({ name, tokens, parts: own }) => [
    { part: cut(name), share: share(tokens) },
    ...own.slice(0, MOST_LISTED).map((one) => ({ part: cut(one.name), of: name, share: share(one.tokens) })),
  ]);
  return {
    parts: parts.filter(({ share: part }) => part >= 0.005),
    largest: largest
      .slice(0, MOST_LISTED)
      .map(({ name, tokens, turn }) => ({ name: cut(name), share: share(tokens), turn })),
  };
}

/** @param loss undefined where the recording shows no compaction with its summary */
export function droppedAnswer(loss: CompactionLoss | undefined, note: OwnNote | undefined): ToolAnswer {
  const checkpoint = note === undefined ? {} : { checkpoint: note.note };
  if (loss === undefined) return { fall: null, ...checkpoint };
  const lost = (kind: LosableKind) =>
    loss.things.filter((thing) => thing.kind === kind && thing.survival !== "verbatim").sort(inOrder);
  return {
    fall: { after_turn: loss.turn },
    ...Object.fromEntries(
      LOSABLE_KINDS.map((kind) => {
        const things = lost(kind);
        return [
          NAMES[kind],
          {
            kept: loss.things.filter((one) => one.kind === kind).length - things.length,
            dropped: things
              .slice(0, MOST_LISTED)
              .map(({ text, survival, turn }) => ({ text: cut(text), survival, turn })),
            more: Math.max(0, things.length - MOST_LISTED),
          },
        ];
      }),
    ),
    ...checkpoint,
  };
}

const NAMES = { rule: "rules", prompt: "sentences", file: "files" } as const;

const inOrder = (one: Losable, other: Losable) =>
  SURVIVALS.indexOf(other.survival) - SURVIVALS.indexOf(one.survival) || other.turn - one.turn;

const CONTROL = /[\p{Cc}\p{Cf}]/gu;

/** Other people's text as a value: one line, and no longer than a sentence. */
function cut(text: string): string {
  const plain = text.replace(CONTROL, " ");
  return plain.length <= LONGEST_TEXT ? plain : `${plain.slice(0, LONGEST_TEXT - 1)}…`;
}
