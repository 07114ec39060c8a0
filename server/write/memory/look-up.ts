import type { Sql } from "../../db/sql.ts";
import { boundaries } from "../../db/tables/boundaries.ts";
import { eventKey } from "../../db/tables/identity.ts";
import { findBlocks, type TurnAt, turnBlocks, unpackBlock } from "../../db/tables/turn-blocks.ts";
import type { KnownAgent } from "../plan/agent-changes.ts";
import { NOTHING_STORED, type StoredEvents, type StoredTurn } from "../plan/agent-news.ts";
import type { ArrivedAgent } from "../plan/group-events.ts";
import { storedTurns } from "../plan/read-history.ts";
import { storedInTail } from "../plan/tail.ts";
import type { ProjectMemory } from "./memory.ts";

/** What is stored of the arrived turns and marks, if the memory can tell. */
export function recall(memory: ProjectMemory, owner: ArrivedAgent): StoredEvents | undefined {
  const known = memory.agents.get(owner.id);
  if (known === undefined) return undefined;
  const { turns, marks } = candidatesOf(owner, known);
  if (turns.size + marks.size === 0) return NOTHING_STORED;
  const tail = memory.tails.get(owner.id);
  const inTail = tail && storedInTail(tail, turns, marks);
  return inTail?.turns.size === turns.size && inTail.marks.size === marks.size ? inTail : undefined;
}

/** Reads which of the arrived turns and marks are stored, by agent. `agents` are the known owners, by id. */
export async function lookUp(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  agents: ReadonlyMap<string, KnownAgent>,
  owners: readonly ArrivedAgent[],
): Promise<Map<string, StoredEvents>> {
  const found = new Found();
  const turns: TurnAt[] = [];
  const marks: { agentId: string; id: string }[] = [];
  const ids = new Map<number, string>();
  for (const owner of owners) {
    const known = agents.get(owner.id);
    const tail = memory.tails.get(owner.id);
    const maybe = candidatesOf(owner, known);
    if (maybe.turns.size + maybe.marks.size === 0) continue;
    const inTail = tail && storedInTail(tail, maybe.turns, maybe.marks);
    if (inTail !== undefined) found.add(owner.id, inTail);
    for (const id of maybe.marks) if (!inTail?.marks.has(id)) marks.push({ agentId: owner.id, id });
    if (known === undefined) continue;
    const { number: agent } = known.row;
    ids.set(agent, owner.id);
    for (const key of maybe.turns) {
      if (!inTail?.turns.has(key)) turns.push({ agent, key, at: owner.turns.get(key)!.facts.at });
    }
  }
  const [rows] = await Promise.all([
    marks.length === 0 ? [] : query(sql, boundaries.find(memory.projectId, marks)),
    findTurns(sql, memory, turns, ids, found),
  ]);
  for (const raw of rows) {
    const row = boundaries.parse(raw);
    found.of(row.agentId).marks.set(row.id, row);
  }
  return found.byAgent;
}

/** The turns and marks of an agent that may be stored, by key and by id. */
function candidatesOf(
  owner: ArrivedAgent,
  known: KnownAgent | undefined,
): { turns: Set<string>; marks: Set<string> } {
  const turns = new Set<string>();
  const marks = new Set<string>();
  if (known === undefined) {
    // Nothing is remembered of a harness' own events.
    if (owner.sessionId === undefined) for (const id of owner.marks.keys()) marks.add(id);
    return { turns, marks };
  }
  const { keys } = known;
  for (const key of owner.turns.keys()) if (keys.mayHave(key)) turns.add(key);
  for (const id of owner.marks.keys()) if (keys.mayHave(eventKey(id))) marks.add(id);
  return { turns, marks };
}

/** A repeat mostly has the time of the first report. If no block of that time holds it, all blocks are searched. */
async function findTurns(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  turns: readonly TurnAt[],
  ids: ReadonlyMap<number, string>,
  found: Found,
): Promise<void> {
  const blocks = new Map<string, StoredTurn[]>();
  for (const where of ["at_its_time", "anywhere"] as const) {
    const missing = turns.filter(({ agent, key }) => !found.of(ids.get(agent)!).turns.has(key));
    if (missing.length === 0) return;
    const wanted = new Set(missing.map(({ agent, key }) => `${agent}/${key}`));
    for (const raw of await query(sql, findBlocks(memory.projectId, missing, where))) {
      const row = turnBlocks.parse(raw);
      const { agent, firstAt, firstKey } = row;
      const name = `${agent}/${firstAt}/${firstKey}`;
      // One object for a block, so that its turns are changed together.
      const block = blocks.get(name) ?? storedTurns(unpackBlock(row), memory.modelName);
      blocks.set(name, block);
      const { turns: into } = found.of(ids.get(agent)!);
      for (const turn of block) if (wanted.has(`${agent}/${turn.row.key}`)) into.set(turn.row.key, turn);
    }
  }
}

/** Stored events by agent. */
class Found {
  readonly byAgent = new Map<string, StoredEvents>();

  of(id: string): StoredEvents {
    let events = this.byAgent.get(id);
    if (events === undefined) {
      events = { turns: new Map(), marks: new Map() };
      this.byAgent.set(id, events);
    }
    return events;
  }

  add(id: string, events: StoredEvents): void {
    this.byAgent.set(id, events);
  }
}

function query(sql: Pick<Sql, "query">, { text, values }: { text: string; values: unknown[] }) {
  return sql.query<Record<string, unknown>>(text, ...values);
}
