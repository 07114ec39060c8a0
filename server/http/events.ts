import type { IncomingMessage } from "node:http";
import { GENERATION_HEADER } from "@plimsoll/protocol/api";
import { type IngestAnswer, LIMITS } from "@plimsoll/protocol/events";
import type { BodyBudget } from "../bodies/body-budget.ts";
import { PlimsollError, statusOf } from "../errors.ts";
import { type Access, may } from "../tenants/access/principal.ts";
import type { Quota } from "../tenants/access/quota.ts";
import { decodeBody } from "../write/receive/decode.ts";
import type { Ingest } from "../write/receive/ingest.ts";
import type { Receipts } from "../write/receive/receipts.ts";
import type { BodyRoom } from "./body-room.ts";
import { readBody } from "./read-body.ts";
import { foreseen } from "./respond.ts";

export interface EventsDeps {
  access: Pick<Access, "authorize">;
  ingest: Ingest;
  quota: Quota;
  room: BodyRoom;
  /** Why the database does not answer; undefined while it does. */
  databaseFailure: () => PlimsollError | undefined;
  /** The newest generation of a project's policy; undefined while it is unknown. */
  generationOf: (projectId: number) => number | undefined;
  /** Days for which the project keeps sessions; null for good. */
  keptDaysOf: (projectId: number) => number | null;
  receipts: Pick<Receipts, "note">;
}

/** An answer to events, and its own headers. */
export interface EventsReply {
  answer: IngestAnswer;
  headers: Readonly<Record<string, string>>;
}

const ACKNOWLEDGEMENTS: ReadonlySet<string> = new Set(["policy_ack"]);

/** `POST /api/v1/events`: see docs/protocol.md. Resolves after the commit to the journal, or as `Prefer: wait` asks. */
export function takeEvents(deps: EventsDeps): (incoming: IncomingMessage) => Promise<EventsReply> {
  const { access, ingest, quota, room } = deps;
  return async (incoming) => {
    const principal = await access.authorize(incoming, "send or acknowledge");
    const { projectId, keyId, person } = principal;
    const types = may(principal, "send") ? undefined : ACKNOWLEDGEMENTS;
    let events = 1;
    const hold = room.enter(projectId);
    const { budget } = hold;
    try {
      const checked = ingest.check({ types, keptDays: deps.keptDaysOf(projectId), person: person?.id });
      await charged(quota, keyId, budget, async () => {
        const bytes = await readBody(incoming, budget, LIMITS.compressedBytes);
        const { "content-type": contentType, "content-encoding": contentEncoding } = incoming.headers;
        await decodeBody({ bytes, contentType, contentEncoding, budget }, room.turns, checked.add);
        events = checked.count;
        return events;
      });
      const answer = await ingest.accept(projectId, checked, {
        wait: prefersWait(incoming),
        gone: () => incoming.socket.destroyed,
      });
      deps.receipts.note(keyId, checked);
      return { answer, headers: generationHeader(deps.generationOf(projectId)) };
    } catch (error) {
      const { refusal, outcome } = refusalOf(error, deps.databaseFailure());
      ingest.refused(projectId, outcome, events);
      throw refusal;
    } finally {
      hold.leave();
    }
  };
}

/**
 * Reads a body at the cost of a key: as many events as it has, or as the work costs if that is more. A body that is refused
 * costs the work, at least one event.
 * @param read resolves with the number of events
 * @throws PlimsollError `quota_exceeded`, and what `read` throws
 */
export async function charged(
  quota: Quota,
  keyId: string | undefined,
  budget: BodyBudget,
  read: () => Promise<number>,
): Promise<void> {
  quota.admit(keyId);
  let events: number;
  try {
    events = await read();
  } catch (error) {
    quota.charge(keyId, Math.max(1, budget.cost));
    throw error;
  }
  quota.take(keyId, Math.max(events, budget.cost));
}

/** The error for the sender, and what the events count as. An outage is never called overload or a fault. */
export function refusalOf(
  thrown: unknown,
  down: PlimsollError | undefined,
): { refusal: unknown; outcome: string } {
  const refusal = down !== undefined && statusOf(foreseen(thrown)) === 503 ? down : foreseen(thrown);
  return { refusal, outcome: refusal instanceof PlimsollError ? refusal.code : "server_fault" };
}

/** A harness with one outbound channel learns of a new policy from it. */
function generationHeader(generation: number | undefined): Record<string, string> {
  return generation === undefined ? {} : { [GENERATION_HEADER]: String(generation) };
}

/** RFC 7240: `Prefer: wait`, perhaps among other preferences, and with a number of seconds that is ours to ignore. */
function prefersWait({ headers }: IncomingMessage): boolean {
  if (headers.prefer === undefined) return false;
  const preferences = [headers.prefer].flat().join(",").split(",");
  return preferences.some((preference) => /^\s*wait\s*(=|$)/i.test(preference));
}
