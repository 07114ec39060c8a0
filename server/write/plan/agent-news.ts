import { mergeTurns, type TurnFacts, type TurnReading } from "@plimsoll/fold";
import {
  type BoundaryRow,
  markOfRow,
  preferredMark,
  type ReportedMark,
  sameMark,
} from "../../db/tables/boundaries.ts";
import type { Outcome } from "../../db/tables/ingest-counts.ts";
import type { TurnBlock } from "../../db/tables/turn-blocks.ts";
import type { TurnRow } from "../../db/tables/turns.ts";
import type { KnownAgent } from "./agent-changes.ts";
import { type ArrivedAgent, type ArrivedMark, readsTheSame, sameTurn } from "./group-events.ts";

/** A turn as it is stored, and how the fold read it. */
export interface StoredTurn {
  row: TurnRow;
  reading: TurnReading;
  /** The block that holds it. */
  block: TurnBlock;
}

/** What the database holds of the turns and marks that arrived. By turn key and mark id. */
export interface StoredEvents {
  turns: Map<string, StoredTurn>;
  marks: Map<string, BoundaryRow>;
}

export const NOTHING_STORED: StoredEvents = { turns: new Map(), marks: new Map() };

/** What some arrived events add to what is stored of their agent. */
export interface AgentNews {
  newTurns: { facts: TurnFacts; receivedAt: number }[];
  /** `moves` is set if the fold may read the turn differently: its position, level or window, or as a repeat. */
  changedTurns: { before: StoredTurn; after: TurnFacts; moves: boolean }[];
  newMarks: ArrivedMark[];
  replacedMarks: { row: BoundaryRow; after: ArrivedMark }[];
  outcomes: { outcome: Outcome; request: number }[];
}

/** Compares what arrived with what is stored. Repeats that add nothing drop out here. */
export function newsOf(arrived: ArrivedAgent, stored: StoredEvents, known?: KnownAgent): AgentNews {
  const isWitnessed = (known?.stored?.state.traces.length ?? 0) > 0;
  const news: AgentNews = { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] };
  for (const turn of arrived.turns.values()) {
    const { facts, arrivals } = turn;
    const before = stored.turns.get(facts.key);
    const after = before === undefined ? facts : mergeTurns(before.reading.report, facts);
    const changed = before === undefined || !sameTurn(before.reading.report, after);
    if (before === undefined) news.newTurns.push(turn);
    else if (changed) {
      news.changedTurns.push({ before, after, moves: movesTurn(before.reading, after, isWitnessed) });
    }
    for (const [index, arrival] of arrivals.entries()) {
      const adds = changed && arrival.changed;
      const first = before === undefined && index === 0;
      const outcome = first ? outcomeOfFacts(facts) : adds ? "turn_merged" : "duplicate";
      news.outcomes.push({ outcome, request: arrival.request });
    }
  }
  for (const mark of arrived.marks.values()) {
    const row = stored.marks.get(mark.facts.id);
    if (row === undefined) news.newMarks.push(mark);
    else {
      const before = markOfRow(row);
      const replaces = !sameMark(before, mark) && preferredMark<ReportedMark>(before, mark) === mark;
      if (replaces) news.replacedMarks.push({ row, after: mark });
    }
    for (const [index, request] of mark.arrivals.entries()) {
      news.outcomes.push({ outcome: row === undefined && index === 0 ? "mark" : "duplicate", request });
    }
  }
  return news;
}

/** Ends of tool calls have a count of their own. */
export const outcomeOfFacts = ({ isToolResult }: TurnFacts): Outcome =>
  isToolResult ? "tool_result" : "turn";

/** Whether the fold may read the turn differently, or find other reports of its call if there are other witnesses. */
function movesTurn({ report, turn, isRepeat }: TurnReading, after: TurnFacts, isWitnessed: boolean): boolean {
  if (!readsTheSame(report, after)) return true;
  if (after.isToolResult) return false;
  if (isRepeat || turn !== report) return true;
  if (report.provenance !== after.provenance) return true;
  return (
    isWitnessed &&
    (report.durationMs !== after.durationMs ||
      report.usage.output_tokens !== after.usage.output_tokens ||
      report.usage.reasoning_tokens !== after.usage.reasoning_tokens)
  );
}

export function hasEvents({ newTurns, changedTurns, newMarks, replacedMarks }: AgentNews): boolean {
  return newTurns.length + changedTurns.length + newMarks.length + replacedMarks.length > 0;
}

/** The news that change the history up to a time, and the news after it. `at` in epoch ms. */
export function splitNews(news: AgentNews, at: number): { late: AgentNews; rest: AgentNews } {
  const { newTurns, changedTurns, newMarks, replacedMarks } = news;
  return {
    late: {
      newTurns: newTurns.filter(({ facts }) => facts.at <= at),
      changedTurns,
      newMarks: newMarks.filter(({ facts }) => facts.at <= at),
      replacedMarks,
      outcomes: [],
    },
    rest: {
      newTurns: newTurns.filter(({ facts }) => facts.at > at),
      changedTurns: [],
      newMarks: newMarks.filter(({ facts }) => facts.at > at),
      replacedMarks: [],
      outcomes: [],
    },
  };
}
