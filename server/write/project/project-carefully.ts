import { leaveSignal } from "../../db/tables/alert-signals.ts";
import { rejectedEvents } from "../../db/tables/journal.ts";
import { isTimeout } from "../../db/unavailable.ts";
import { type Chunk, receivedOf, refusedOf } from "../journal/entry-queue.ts";
import { EMPTY_ENTRY } from "../journal/journal-entry.ts";
import { ProjectMemory } from "../memory/memory.ts";
import { groupEvents, type Received } from "../plan/group-events.ts";
import { inSlices } from "../plan/in-slices.ts";
import { type HeldProject, hasExternalCause } from "./held-project.ts";
import { outcomeOf, type PartOutcome, planChunk } from "./plan-chunk.ts";
import { type FailedEvent, projectByHalves } from "./project-by-halves.ts";
import { shareSessions } from "./shared-sessions.ts";
import { encodeChunk, MemoryOutdated, sendChunk, writeCounts } from "./write-chunk.ts";

/** Attempts at a part whose rows are not those remembered. */
const ATTEMPTS = 4;

/**
 * Projects a chunk that failed because of `cause`: by halves. Sets aside the events that fail
 * alone.
 * @throws LeaseLost, and the error of an unavailable database; the chunk then stays in the journal
 */
export async function projectCarefully(
  project: HeldProject,
  chunk: Chunk,
  cause: unknown,
): Promise<PartOutcome> {
  const { projectId, log } = project;
  if (!(cause instanceof MemoryOutdated))
    log.warn({ err: cause, projectId }, "a chunk failed; projecting it by halves");
  const { receivedAt } = chunk.entries[0]!;
  const { done, failed } = await projectByHalves(
    receivedOf(chunk),
    (part) => projectPart(project, part, receivedAt),
    (error, events) => hasExternalCause(error) && !(isTimeout(error) && events > 1),
  );
  await project.commitChunk(chunk, async (sql) => {
    const refused = refusedOf(chunk);
    if (failed.length > 0) refused.set("not_projected", failed.length);
    writeCounts(sql, projectId, refused, receivedAt);
    if (failed.length === 0) return;
    const { text, values } = rejectedEvents.insert(projectId, failed.map(rejectedRow));
    sql.send(text, ...values);
  });
  for (const { error } of failed) {
    log.error({ err: error, projectId }, "an event could not be projected and was set aside");
  }
  return done;
}

/** Commits a part. Its rows stay in the journal until the whole chunk is done. */
async function projectPart(
  project: HeldProject,
  part: readonly Received[],
  receivedAt: number,
): Promise<PartOutcome> {
  const { projectId } = project;
  for (let attempt = 1; ; attempt++) {
    // A memory of its own: the plan of a part that fails leaves no trace.
    const memory = await ProjectMemory.open(project, projectId);
    const arrivals = groupEvents(projectId, part, await shareSessions(project, memory, part));
    const plan = await planChunk(project, memory, arrivals, project.settings);
    try {
      const outcome = outcomeOf(plan);
      const statements = await inSlices(encodeChunk(memory, plan));
      await project.transaction(async (sql, { alerting }) => {
        await sendChunk(sql, statements);
        if (alerting) leaveSignal(sql, projectId, outcome.sessions);
        writeCounts(sql, projectId, plan.ledger.storedCounts, receivedAt);
      });
      return outcome;
    } catch (error) {
      if (!(error instanceof MemoryOutdated) || attempt === ATTEMPTS) throw error;
    }
  }
}

function rejectedRow({ received, error }: FailedEvent) {
  return {
    id: crypto.randomUUID(),
    receivedAt: received.receivedAt,
    error: error instanceof Error ? error.message : String(error),
    event: received.events[0] ?? EMPTY_ENTRY,
  };
}
