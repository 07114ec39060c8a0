import type { PlimsollEvent } from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/policy";
import type { Sql } from "../../db/sql.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import type { InstanceOf, Received } from "../plan/group-events.ts";

/** A UUID, or an id as opencode makes them: no two sessions have it by chance. */
const UNIQUE =
  /(?!0{8}-0{4}-0{4}-0{4}-0{12})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|^ses_[0-9a-z]{20,}$/i;

const FIND = `
SELECT s.harness, s.name FROM sessions s WHERE s.project_id = $1 AND s.name = ANY($2::text[])
ORDER BY s.first_received_at, s.id`;

/**
 * The harness instance under which the events of a session are stored. A session with an id that only one session has is that session
 * on every machine, so events of other instances of its family are added to it. Several instances have a session each if they were
 * stored before they were known to be one.
 */
export async function shareSessions(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  received: readonly Received[],
): Promise<InstanceOf> {
  const arrived = arrivedInstances(received);
  const instances = new Map<string, readonly string[]>();
  const unknown = new Map<string, string>();
  for (const [key, { session }] of arrived) {
    const known = memory.instances.get(key);
    if (known === undefined) unknown.set(key, session);
    else instances.set(key, known);
  }
  if (unknown.size > 0) {
    const names = [...new Set(unknown.values())];
    const stored = new Map<string, string[]>();
    for (const row of await sql.query<{ harness: string; name: string }>(FIND, memory.projectId, names)) {
      const key = keyOf(row.harness, row.name);
      stored.set(key, [...(stored.get(key) ?? []), row.harness]);
    }
    for (const key of unknown.keys()) {
      const found = stored.get(key) ?? [arrived.get(key)!.harness];
      instances.set(key, found);
      memory.instances.set(key, found);
    }
  }
  return (harness, session) => {
    const found = instances.get(keyOf(harness, session));
    return found === undefined || found.includes(harness) ? harness : found[0]!;
  };
}

/** The instance that is named first for each session that several may report. */
function arrivedInstances(received: readonly Received[]): Map<string, { harness: string; session: string }> {
  const arrived = new Map<string, { harness: string; session: string }>();
  let last: Pick<PlimsollEvent, "harness" | "session"> | undefined;
  for (const { events } of received) {
    for (const event of events) {
      const { harness, session } = event;
      if (session === last?.session && harness === last?.harness) continue;
      last = event;
      if (session === undefined || !UNIQUE.test(session)) continue;
      const key = keyOf(harness, session);
      if (!arrived.has(key)) arrived.set(key, { harness, session });
    }
  }
  return arrived;
}

const keyOf = (harness: string, session: string): string => `${familyOf(harness)}\u0000${session}`;
