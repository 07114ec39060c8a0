import { inBatches, readAllTurns } from "../history/read-turns.ts";
import type { TurnRow } from "../store/turns.ts";
import { queriesOf, type Reader } from "./reader.ts";
import { type NumberedTurn, numberTurns } from "./turn-order.ts";

/** What of an agent decides how its turns are read. */
export interface TurnOwner {
  /** `agents.number`. */
  number: number;
  /** Their count. */
  turns: number;
}

export interface AgentTurns<Owner> {
  agent: Owner;
  turns: NumberedTurn[];
}

/** Turns that one statement reads, unless one agent alone has more. */
const TURNS_AT_ONCE = 20_000;

/** Agents in their order, divided into those whose turns are read together. */
export function agentBatches<Owner extends TurnOwner>(agents: readonly Owner[]): Owner[][] {
  return inBatches(agents, ({ turns }) => turns, TURNS_AT_ONCE);
}

/** All turns of some agents, in the order of the agents. */
export async function readAgentTurns<Owner extends TurnOwner>(
  reader: Pick<Reader, "prisma" | "projectId">,
  agents: readonly Owner[],
): Promise<AgentTurns<Owner>[]> {
  const rows = new Map<number, TurnRow[]>(agents.map(({ number }) => [number, []]));
  for await (const block of readAllTurns(queriesOf(reader), reader.projectId, [...rows.keys()])) {
    const [first] = block;
    if (first !== undefined) rows.get(first.agent)!.push(...block);
  }
  // Ordering a long history takes tens of milliseconds, so it starts after whatever waits.
  await new Promise(setImmediate);
  const read = agents.map((agent) => ({ agent, turns: numberTurns(rows.get(agent.number)!) }));
  await new Promise(setImmediate);
  return read;
}
