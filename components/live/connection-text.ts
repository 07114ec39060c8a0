import { clock } from "../format.ts";
import type { LiveConnection } from "./connection.ts";

type Interrupted = Extract<LiveConnection, { since: number }>;

/** What happened, and since when. */
export function outageTitle(connection: Interrupted): string {
  const since = `since ${clock(connection.since)}`;
  switch (connection.state) {
    case "server_down":
      return `The Plimsoll server has not responded ${since}.`;
    case "database_down":
      return `${connection.message} Down ${since}.`;
    case "stream_cut":
      return `Live updates have been interrupted ${since}.`;
  }
}

/** What that means for the numbers, and what to do. */
export function outageAdvice({ state, since }: Interrupted, pollSeconds: number): string {
  switch (state) {
    case "server_down":
      return `Numbers are from ${clock(since)}. Check that the server runs. The page reconnects by itself.`;
    case "database_down":
      return `Numbers are from ${clock(since)}. Check PostgreSQL. The page catches up by itself.`;
    case "stream_cut":
      return `Numbers update every ${pollSeconds} s instead. A proxy may block /api/v1/live.`;
  }
}
