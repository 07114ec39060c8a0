/** Inputs of the queries of the Session page, which the server prefetches. */

const TURNS_PAGE = 100;
/** Alerts that are open, and as many that have ended. */
export const SESSION_ALERTS = 100;

/** `turn` is the key of a turn near which the list begins; undefined for the newest turn. */
export const sessionTurnsInput = (id: string, agentId: string, turn: string | undefined) => ({
  id,
  agent_id: agentId,
  limit: TURNS_PAGE,
  ...(turn !== undefined && { turn }),
});

export const TURN_PAGES = {
  getNextPageParam: (page: { next_cursor: string | null }) => page.next_cursor ?? undefined,
};

export const sessionAlertsInput = (session: string, state: "open" | "ended") => ({
  session,
  state,
  limit: SESSION_ALERTS,
});
