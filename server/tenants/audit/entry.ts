import type { AuditAction } from "@plimsoll/protocol/api";
import { v7 as uuid } from "uuid";
import type { PrismaClient } from "../../db/client.ts";
import { withoutSecrets } from "../../log.ts";

/** Who did something. */
export type Actor =
  | { kind: "person"; id: string; name: string; address: string | null }
  | { kind: "browser"; id: string; name: string | null; address: string | null }
  | { kind: "key"; id: string; name: string }
  /** The command line on the server's machine. */
  | { kind: "local" }
  /** The server itself. */
  | { kind: "server" };

/** The columns that name who wrote a row, for people to read. */
export const authorOf = (actor: Actor): { actor: Actor["kind"]; actorName: string | null } => ({
  actor: actor.kind,
  actorName: "name" in actor ? actor.name : null,
});

export interface AuditNote {
  actor: Actor;
  action: AuditAction;
  /** Absent for what concerns no single project. */
  projectId?: number;
  /** What was changed, by its name. */
  target?: string;
  /** A few words on how it was changed. */
  detail?: string;
}

const LONGEST = { name: 100, address: 64, target: 200, detail: 500 } as const;

/**
 * Adds an entry to the audit log, in the transaction of `client` if it is one.
 * @param at epoch milliseconds
 * @throws errors of the database
 */
export async function addEntry(
  client: Pick<PrismaClient, "auditEntry">,
  at: number,
  note: AuditNote,
): Promise<void> {
  await addEntries(client, at, [note]);
}

/** Adds entries as `addEntry` does, with one statement. */
export async function addEntries(
  client: Pick<PrismaClient, "auditEntry">,
  at: number,
  notes: readonly AuditNote[],
): Promise<void> {
  await client.auditEntry.createMany({
    data: notes.map(({ actor, action, projectId, target, detail }) => ({
      id: uuid(),
      at: new Date(at),
      action,
      actor: actor.kind,
      actorId: "id" in actor ? actor.id : null,
      actorName: "name" in actor ? storable(actor.name, LONGEST.name) : null,
      address: "address" in actor ? storableAddress(actor.address) : null,
      project: projectId ?? null,
      target: storable(target, LONGEST.target),
      detail: storable(detail, LONGEST.detail),
    })),
  });
}

export const storableAddress = (address: string | null) => storable(address, LONGEST.address);

/** What others wrote, without secrets and what moves a cursor or hides text, and cut at `most` characters. */
function storable(text: string | null | undefined, most: number): string | null {
  if (text === null || text === undefined) return null;
  const clean = withoutSecrets(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, "");
  const characters = Array.from(clean);
  return characters.length <= most ? clean : `${characters.slice(0, most - 1).join("")}…`;
}
