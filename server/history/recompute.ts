import type { Thresholds } from "@plimsoll/protocol";
import { modelNames } from "@plimsoll/protocol";
import { catalogWindow } from "@plimsoll/protocol/catalog";
import type { Sql } from "../db/sql.ts";
import { type AgentRow, agents } from "../store/agents.ts";
import { models } from "../store/models.ts";
import { unpackStored } from "../store/packed-state.ts";
import { SEGMENT_TURNS, tallyOf } from "./agent-changes.ts";
import { openHistory } from "./read-history.ts";
import { refoldAgent } from "./refold-agent.ts";

/** What may differ between an agent's stored rows and a fold of its events. */
export type Difference = "turns" | "boundaries" | "crossings" | "windows" | "agent" | "missing";

/** Folds one agent's whole history again and names what is stored differently. Writes nothing. */
export async function recomputeAgent(
  sql: Pick<Sql, "query">,
  projectId: number,
  id: string,
  thresholds: Thresholds,
): Promise<Difference[]> {
  const { text, values } = agents.find(projectId, [{ id }]);
  const [raw] = await sql.query<Record<string, unknown>>(text, ...values);
  if (raw === undefined) return ["missing"];
  const row = agents.parse(raw);
  const [names, windows, harness] = await Promise.all([
    sql.query<Record<string, unknown>>(
      `SELECT ${models.select("t")} FROM models t WHERE t.project_id = $1`,
      projectId,
    ),
    sql.query<{ model: string; tokens: number }>(
      "SELECT model, tokens FROM model_windows WHERE project_id = $1",
      projectId,
    ),
    sql.query<{ harness: string }>(
      "SELECT harness FROM sessions WHERE project_id = $1 AND id = $2::uuid",
      projectId,
      row.sessionId,
    ),
  ]);
  const name = new Map(names.map((stored) => models.parse(stored)).map((model) => [model.id, model.name]));
  const number = new Map([...name].map(([modelId, model]) => [model, modelId]));
  const sizes = new Map(windows.map(({ model, tokens }) => [model, tokens]));
  const modelName = (modelId: number) => name.get(modelId) ?? "";
  const stored = row.state === undefined ? undefined : unpackStored(row.state);
  const changes = await refoldAgent({
    history: openHistory(sql, projectId, row, modelName),
    agent: { ...row, harness: harness[0]?.harness ?? "", receivedAt: row.lastReceivedAt },
    known: { row: { ...row, state: undefined }, stored, recentKeys: [] },
    news: { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] },
    options: {
      fold: {
        thresholds,
        lookups: { configured: (model) => firstOf(modelNames(model), sizes), catalog: catalogWindow },
      },
      thresholds,
      segmentTurns: SEGMENT_TURNS,
      modelId: (model) => number.get(model) ?? -1,
      nextNumber: () => row.number,
    },
    extent: "to_the_end",
  });
  const differences: Difference[] = [];
  if (changes.turnInserts.length + changes.turnUpdates.length > 0) differences.push("turns");
  const { boundaryInserts, boundaryUpserts, boundaryDeletes } = changes;
  if (boundaryInserts.length + boundaryUpserts.length + boundaryDeletes.length > 0)
    differences.push("boundaries");
  if (changes.crossingUpserts.length + changes.crossingDeletes.length > 0) differences.push("crossings");
  if (changes.windowUpserts.length + changes.windowDeletes.length > 0) differences.push("windows");
  if (!sameAgent(row, changes.after.row)) differences.push("agent");
  return differences;
}

function firstOf(names: readonly string[], sizes: ReadonlyMap<string, number>): number | undefined {
  for (const name of names) {
    const tokens = sizes.get(name);
    if (tokens !== undefined) return tokens;
  }
  return undefined;
}

/** The database keeps shares as four-byte floats. */
function sameAgent(a: AgentRow, b: AgentRow): boolean {
  const derived = (row: AgentRow) => [
    row.model,
    row.turns,
    row.windows,
    tallyOf(row),
    row.currentTokens,
    row.currentWindow,
    row.windowSource,
    row.load && Math.fround(row.load),
    row.peakTokens,
    row.peakWindow,
    row.peakUtilization && Math.fround(row.peakUtilization),
    row.peakAt,
  ];
  return JSON.stringify(derived(a)) === JSON.stringify(derived(b));
}
