import { isConflict } from "../db/unavailable.ts";
import { isAgentMoved } from "./agents.ts";
import type { Batch } from "./batch.ts";
import { BatchWriter, type WriterOptions } from "./batch-writer.ts";
import { isMarkRepeated } from "./marks.ts";
import { NeedsCare } from "./needs-care.ts";
import type { OutcomeCounts } from "./outcomes.ts";
import { isTurnRepeated } from "./turns.ts";

/** How often a batch is written again because of another writer. */
const MEETINGS = 5;

/**
 * Writes one batch in one transaction: turns, what explains their levels, agents, and what is to be added to the totals.
 * When it returns, the batch is committed; when it throws, nothing of it is stored. Each request's tally is filled in on
 * commit. `extra` are counts of events that were refused before they came here.
 *
 * Most batches continue agents this process remembers: they are written the quick way, without a look at the database,
 * and the keys of turns and marks and each agent's version say in the end whether the memory was right.
 */
export async function writeBatch(
  options: WriterOptions,
  batch: Batch,
  extra: OutcomeCounts,
): Promise<OutcomeCounts> {
  const { agents, models, totals, writers } = options;
  await models.prepare(modelsOf(batch));
  const ids = [...batch.agents.keys()];
  let careful = agents.moving(ids);
  agents.begin(ids);
  try {
    for (let meetings = 0; ; ) {
      try {
        const written = await writers.transaction((sql) =>
          new BatchWriter(options, sql, batch, careful).write(extra),
        );
        for (const agent of written.agents) agents.keep(agent.id, agent);
        totals.soon();
        written.answer();
        return written.counts;
      } catch (error) {
        agents.forget(ids);
        if (isAgentMoved(error)) agents.contest(ids);
        if (!careful && (error instanceof NeedsCare || isMemoryWrong(error))) careful = true;
        // Two writers can both make an agent that was not there, or meet in opposite orders; PostgreSQL ends one of them.
        else if ((isConflict(error) || isMemoryWrong(error)) && meetings < MEETINGS) meetings += 1;
        else throw error;
      }
    }
  } finally {
    agents.end(ids);
  }
}

/** Whether what a batch took for where its agents stand was not, or not any more. */
function isMemoryWrong(error: unknown): boolean {
  return isTurnRepeated(error) || isMarkRepeated(error) || isAgentMoved(error);
}

function* modelsOf(batch: Batch): Iterable<[number, string]> {
  for (const agent of batch.agents.values()) {
    for (const turn of agent.turns.values()) yield [agent.projectId, turn.facts.model];
  }
}
