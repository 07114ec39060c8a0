import { setMaxListeners } from "node:events";
import { type SendTarget, sendEvents } from "@plimsoll/guard/report";
import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { sleep } from "../example-support.ts";
import { between, seededRandom } from "./random.ts";
import type { SimulatedAgent } from "./simulated-agent.ts";

const BATCH = 1_000;
/** Milliseconds between two turns of one agent. */
const FASTEST_TURN_MS = 2_500;
const SLOWEST_TURN_MS = 6_000;
const RETRY_MS = 1_000;
const TIMEOUT_MS = 30_000;

export const targetOf = (url: string, key: string): SendTarget => ({
  url,
  key,
  timeoutMs: TIMEOUT_MS,
  fetch,
  clock: Date.now,
});

/**
 * Sends events in batches, each again until the server has stored it.
 * @param sent called with the number of events stored so far
 * @throws Error if the server refuses a batch for good
 */
export async function sendAll(
  target: SendTarget,
  events: readonly PlimsollEventInput[],
  sent: (count: number) => void = () => {},
): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH) {
    const lines = events.slice(from, from + BATCH).map((event) => JSON.stringify(event));
    await sendBatch({ ...target, waitUntilVisible: true }, lines);
    sent(Math.min(from + BATCH, events.length));
  }
}

async function sendBatch(target: SendTarget, lines: readonly string[]): Promise<void> {
  for (;;) {
    const outcome = await sendEvents(target, lines);
    if (outcome.kind === "stored") return;
    if (outcome.kind !== "later") {
      throw new Error(`The server answered ${outcome.refusal.status}: ${outcome.refusal.text}`);
    }
    await sleep(outcome.waitMs ?? RETRY_MS);
  }
}

export interface WorkOptions {
  target: SendTarget;
  agents: readonly SimulatedAgent[];
  durationMs: number;
  /** Ends the work early. */
  signal?: AbortSignal;
  /** Slows all agents down by this factor; 1 by default. */
  slower?: number;
}

/**
 * Lets the agents take turns until the time is up, each at its own pace.
 * @returns how many events were sent
 */
export async function letThemWork(options: WorkOptions): Promise<number> {
  const { target, agents, durationMs, slower = 1 } = options;
  const until = Date.now() + durationMs;
  // Every agent waits for it.
  if (options.signal !== undefined) setMaxListeners(agents.length + 1, options.signal);
  let count = 0;
  const work = async (agent: SimulatedAgent, seed: number) => {
    const random = seededRandom(seed);
    await sleep(random() * FASTEST_TURN_MS, options.signal);
    while (Date.now() < until && options.signal?.aborted !== true) {
      const events = agent.step(Date.now());
      await sendBatch(
        target,
        events.map((event) => JSON.stringify(event)),
      );
      count += events.length;
      await sleep(between(random, FASTEST_TURN_MS, SLOWEST_TURN_MS) * slower, options.signal);
    }
  };
  await Promise.all(agents.map((agent, index) => work(agent, index + 1)));
  return count;
}
