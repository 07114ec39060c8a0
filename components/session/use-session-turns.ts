import type { TurnView } from "@plimsoll/protocol/api";
import { useInfiniteQuery } from "@tanstack/react-query";
import { codeOf } from "../query-client.ts";
import { useTRPC } from "../trpc.ts";
import { sessionTurnsInput, TURN_PAGES } from "./session-queries.ts";

/** What became of the turn that the URL names: `none` if it names none. */
export type LinkedTurn =
  | { state: "none" | "loading" | "unknown" | "failed" }
  | { state: "found"; turn: TurnView /** Turns above and below it. */; around: readonly TurnView[] };

/** A link may also name something that is not the key of a turn. */
const UNKNOWN: ReadonlySet<string> = new Set(["NOT_FOUND", "BAD_REQUEST"]);

/**
 * The turns of an agent, newest first. If the URL names a turn, they begin a few turns above it.
 * @param agentId undefined in a session without agents
 */
export function useSessionTurns(sessionId: string, agentId: string | undefined, turn: string | null) {
  const trpc = useTRPC();
  const queryOf = (from: string | undefined) =>
    trpc.sessions.turns.infiniteQueryOptions(sessionTurnsInput(sessionId, agentId ?? "", from), TURN_PAGES);
  const hasAgent = agentId !== undefined;
  const near = useInfiniteQuery({ ...queryOf(turn ?? ""), enabled: hasAgent && turn !== null });
  const isUnknown = near.isError && UNKNOWN.has(codeOf(near.error) ?? "");
  const newest = useInfiniteQuery({
    ...queryOf(undefined),
    enabled: hasAgent && (turn === null || isUnknown),
  });
  return {
    query: turn === null || isUnknown ? newest : near,
    linked: linkedTurn({
      turn,
      isUnknown,
      isFailed: near.isError && near.data === undefined,
      around: near.data?.pages[0]?.items ?? NO_TURNS,
    }),
  };
}

const NO_TURNS: readonly TurnView[] = [];

function linkedTurn(seen: {
  turn: string | null;
  isUnknown: boolean;
  /** The log shows the error. */
  isFailed: boolean;
  around: readonly TurnView[];
}): LinkedTurn {
  if (seen.turn === null) return { state: "none" };
  if (seen.isUnknown) return { state: "unknown" };
  if (seen.isFailed) return { state: "failed" };
  const turn = seen.around.find(({ key }) => key === seen.turn);
  return turn === undefined ? { state: "loading" } : { state: "found", turn, around: seen.around };
}
