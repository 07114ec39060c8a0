import { REPEATED, type TurnFacts } from "@plimsoll/fold";
import { BOUNDARY_TYPES, EVENT_TYPES } from "@plimsoll/protocol/events";
import type { Sql } from "../../db/sql.ts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { type BoundaryRow, boundaries } from "../../db/tables/boundaries.ts";
import { type CrossingRow, crossings } from "../../db/tables/crossings.ts";
import { type SegmentRow, segments } from "../../db/tables/segments.ts";
import { type TurnBlock, turnBlocks, unpackBlock } from "../../db/tables/turn-blocks.ts";
import { turnFactsOf, turnReadingOf } from "../../db/tables/turns.ts";
import { type WindowRow, windows } from "../../db/tables/windows.ts";
import type { StoredTurn } from "./agent-news.ts";

/** From one cut to another: after `from`, at or before `to`. Epoch ms; infinite where there is no cut. */
export interface Stretch {
  from: number;
  to: number;
}

/** What is stored of a stretch of one agent's history. */
export interface StoredStretch {
  turns: StoredTurn[];
  marks: BoundaryRow[];
  crossings: CrossingRow[];
}

/** Reads one agent's history. */
export interface History {
  /** Every cut, the earliest first, without its state. */
  cuts(): Promise<Omit<SegmentRow, "state">[]>;
  state(endsAt: number): Promise<string>;
  stretch(stretch: Stretch): Promise<StoredStretch>;
  windows(): Promise<WindowRow[]>;
}

export type ModelName = (modelId: number) => string;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;

const CUTS = `SELECT t.agent, (extract(epoch FROM t.ends_at) * 1000)::float8 AS "endsAt", t.summary
FROM segments t WHERE t.project_id = $1 AND t.agent = $2 ORDER BY t.ends_at`;
const STATE = `SELECT t.state FROM segments t WHERE t.project_id = $1 AND t.agent = $2 AND t.ends_at = ${time("$3")}`;
// No block reaches over a cut, and a stretch begins and ends at cuts.
const BLOCKS = `SELECT ${turnBlocks.select("t")} FROM turn_blocks t WHERE t.project_id = $1 AND t.agent = $2
  AND t.first_at > ${time("$3")} AND t.first_at <= ${time("$4")} ORDER BY t.first_at, t.first_key`;
// By type, because the index has the type before the time.
const MARKS = `SELECT ${boundaries.select("t")} FROM boundaries t WHERE t.project_id = $1 AND t.agent_id = $2::uuid
  AND t.type = ANY($5::text[]) AND t.at > ${time("$3")} AND t.at <= ${time("$4")}`;
const CROSSINGS = `SELECT ${crossings.select("t")} FROM crossings t WHERE t.project_id = $1 AND t.agent_id = $2::uuid
  AND t.at > ${time("$3")} AND t.at <= ${time("$4")}`;
const WINDOWS = `SELECT ${windows.select("t")} FROM windows t WHERE t.project_id = $1 AND t.agent_id = $2::uuid`;

const TYPES = arrayLiteral([...new Set<string>([...EVENT_TYPES, ...BOUNDARY_TYPES, REPEATED])]);

export function openHistory(
  sql: Pick<Sql, "query">,
  projectId: number,
  agent: { id: string; number: number },
  model: ModelName,
): History {
  const read = (text: string, ...values: unknown[]) =>
    sql.query<Record<string, unknown>>(text, projectId, ...values);
  return {
    async cuts() {
      return (await read(CUTS, agent.number)).map((row) => row as unknown as Omit<SegmentRow, "state">);
    },
    async state(endsAt) {
      const [row] = await read(STATE, agent.number, endsAt);
      return segments.parse(row ?? {}).state;
    },
    async stretch(stretch) {
      // As text, because the typed client turns an infinite number into NULL.
      const [from, to] = [String(stretch.from), String(stretch.to)];
      const [storedBlocks, storedMarks, storedCrossings] = await Promise.all([
        read(BLOCKS, agent.number, from, to),
        read(MARKS, agent.id, from, to, TYPES),
        read(CROSSINGS, agent.id, from, to),
      ]);
      return {
        turns: storedBlocks.flatMap((row) => storedTurns(unpackBlock(turnBlocks.parse(row)), model)),
        marks: storedMarks.map((row) => boundaries.parse(row)),
        crossings: storedCrossings.map((row) => crossings.parse(row)),
      };
    },
    async windows() {
      return (await read(WINDOWS, agent.id)).map((row) => windows.parse(row));
    },
  };
}

/** The turns of a block. */
export function storedTurns(block: TurnBlock, model: ModelName): StoredTurn[] {
  return block.rows.map((row) => {
    const facts: TurnFacts = turnFactsOf(row, model);
    return { row, reading: turnReadingOf(row, facts), block };
  });
}
