import type { PlimsollEventInput } from "@plimsoll/protocol";

/**
 * An `ended` event for each session that its own recording does not end, so that a history does not look live. Its id
 * holds the time: importing the same recording again adds nothing, importing a longer one ends it later. Sessions heard
 * from after `silentSince` are left open.
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
            // After everything else, even in a session that was only a moment long.
            at: lastAt + 1,
            harness,
            session,
          },
        ],
  );
}
