import type { Acknowledgement } from "@plimsoll/fold";
import type { PolicyAckEvent } from "@plimsoll/protocol/events";
import type { Sql } from "../db/sql.ts";
import { arrayLiteral } from "../db/tables/binary-arrays.ts";
import {
  type BoundaryRow,
  boundaries,
  markOfRow,
  preferredMark,
  type ReportedMark,
} from "../db/tables/boundaries.ts";
import { harnessId } from "../db/tables/identity.ts";

/** What a harness instance said of policies. It is kept with the harness' other marks. */
export interface HarnessAcks {
  /** By the id of the event. */
  marks: ReadonlyMap<string, ReportedMark>;
  acks: readonly Acknowledgement[];
}

const NOTHING: HarnessAcks = { marks: new Map(), acks: [] };

const FIND = `
SELECT ${boundaries.select("b")} FROM boundaries b
WHERE b.project_id = $1 AND b.agent_id = ANY($2::uuid[]) AND b.type = 'policy_ack'`;

/** Reads what each of some harness instances acknowledged. By instance. */
export async function readAcknowledgements(
  sql: Pick<Sql, "query">,
  projectId: number,
  harnesses: readonly string[],
): Promise<Map<string, HarnessAcks>> {
  if (harnesses.length === 0) return new Map();
  const ids = harnesses.map((harness) => harnessId(projectId, harness));
  const found = new Map<string, BoundaryRow[]>();
  for (const raw of await sql.query<Record<string, unknown>>(FIND, projectId, arrayLiteral(ids))) {
    const row = boundaries.parse(raw);
    const known = found.get(row.agentId);
    if (known === undefined) found.set(row.agentId, [row]);
    else known.push(row);
  }
  return new Map(
    harnesses.map((harness, index) => {
      const rows = found.get(ids[index]!);
      return [harness, rows === undefined ? NOTHING : harnessAcks(rows.map(markOfRow))];
    }),
  );
}

/**
 * Adds marks that arrived.
 * @returns undefined if they change nothing; `from` is the earliest time (epoch ms) at which something does
 */
export function addAcknowledgements(
  { marks: known }: HarnessAcks,
  arrived: Iterable<ReportedMark>,
): { acks: HarnessAcks; from: number } | undefined {
  const marks = new Map(known);
  let from = Number.POSITIVE_INFINITY;
  for (const mark of arrived) {
    if (mark.facts.type !== "policy_ack") continue;
    const { id, at } = mark.facts;
    const before = marks.get(id);
    if (before !== undefined && preferredMark(before, mark) === before) continue;
    marks.set(id, mark);
    from = Math.min(from, at, before?.facts.at ?? at);
  }
  return from === Number.POSITIVE_INFINITY ? undefined : { acks: harnessAcks(marks.values()), from };
}

/** Fields of an acknowledgement with its id and time (epoch ms). */
export type Said = Pick<
  PolicyAckEvent,
  "id" | "at" | "generation" | "hash" | "status" | "code" | "message" | "effective" | "differences"
>;

/** All that a harness said of policies. */
export function saidIn({ marks }: HarnessAcks): Said[] {
  return [...marks.values()].map(
    ({ facts, detail }): Said => ({ ...(detail as unknown as PolicyAckEvent), id: facts.id, at: facts.at }),
  );
}

function harnessAcks(marks: Iterable<ReportedMark>): HarnessAcks {
  const all = [...marks];
  return { marks: new Map(all.map((mark) => [mark.facts.id, mark])), acks: all.map(acknowledgementOf) };
}

function acknowledgementOf({ facts, detail }: ReportedMark): Acknowledgement {
  const { generation, status, effective } = detail as unknown as PolicyAckEvent;
  return { id: facts.id, at: facts.at, generation, status, effective };
}
