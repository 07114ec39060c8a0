import { withKey } from "../temporary-key.ts";
import { largeFleet } from "./history.ts";
import { letThemWork, sendAll, targetOf } from "./send-fleet.ts";

export interface LargeDemoOptions {
  sessions: number;
  agents: number;
  /** Minutes for which the agents work. */
  minutes: number;
}

/** Fills a server with a large fleet, then lets its agents work until the time is up or Ctrl+C. */
export async function runLargeFleet({ sessions, agents, minutes }: LargeDemoOptions): Promise<void> {
  const url = process.env.PLIMSOLL_URL ?? `http://127.0.0.1:${process.env.PORT ?? "4180"}`;
  const say = (text: string) => console.log(`large      ${text}`);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  await withKey(url, say, async (key) => {
    if (key === undefined) throw new Error(`The demo needs a server at ${url}. Start it with npm start.`);
    const target = targetOf(url, key);
    const fleet = largeFleet({ run: Date.now().toString(36), now: Date.now(), sessions, live: agents });
    say(`sending ${fleet.history.length} events of ${sessions} sessions`);
    await sendAll(target, fleet.history, (count) => {
      if (count % 10_000 === 0) say(`sent ${count} of ${fleet.history.length} events`);
    });
    say(`${agents} agents work for ${minutes} minutes. See ${url}/?range=7d. Ctrl+C stops them.`);
    const sent = await letThemWork({
      target,
      agents: fleet.live,
      durationMs: minutes * 60_000,
      signal: stopping.signal,
    });
    say(`finished; the agents sent ${sent} events. The sessions stay recorded.`);
  });
}
