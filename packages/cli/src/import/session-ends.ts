import type { PlimsollEventInput } from "@plimsoll/protocol/events";

/**
 * Returns an `ended` event for each session whose recording has none, so that it does not appear as live. The id
 * contains the time: an unchanged recording adds nothing, a longer one moves the end. Sessions with events after
 * `silentSince` (epoch ms) stay open.
 */
export function importedEnds(
  events: readonly PlimsollEventInput[],
  silentSince = Number.POSITIVE_INFINITY,
): PlimsollEventInput[] {
  const sessions = new Map<string, { harness: string; session: string; lastAt: number; endedAt: number }>();
  for (const event of events) {
    if (event.session === undefined) continue;
    const key = JSON.stringify([event.harness, event.session]);
    const known = sessions.get(key) ?? {
      harness: event.harness,
      session: event.session,
      lastAt: Number.NEGATIVE_INFINITY,
      endedAt: Number.NEGATIVE_INFINITY,
    };
    sessions.set(key, known);
    const at = event.at as number;
    if (event.type === "session" && event.status === "ended") known.endedAt = Math.max(known.endedAt, at);
    else known.lastAt = Math.max(known.lastAt, at);
  }
  return [...sessions.values()].flatMap(({ harness, session, lastAt, endedAt }): PlimsollEventInput[] =>
    endedAt >= lastAt || lastAt > silentSince
      ? []
      : [
          {
            id: `imported/${lastAt}`,
            type: "session",
            status: "ended",
            reason: "imported",
            // Later than all other events, also in a session with a single time.
            at: lastAt + 1,
            harness,
            session,
          },
        ],
  );
}
