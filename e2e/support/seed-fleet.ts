import { eventsOf, seeded } from "./generate-events.ts";
import { endedSessions, runningAgents, TASKS } from "./sample-agents.ts";

type SendEvents = (events: readonly object[]) => Promise<unknown>;

const MINUTE = 60_000;

export interface FleetOptions {
  /** Puts every session under one harness. By default each keeps its own. */
  harness?: string;
  /** Number of ended sessions. */
  sessions?: number;
  /** Epoch ms. */
  now?: number;
}

/**
 * Sends a realistic fleet.
 * @returns the title of the session with the most boundaries
 */
export async function seedFleet(
  send: SendEvents,
  { harness, sessions = 5, now = Date.now() }: FleetOptions = {},
): Promise<{ title: string }> {
  const random = seeded(20_261_120);
  const sampleAgents = [...endedSessions(now, sessions, random), ...runningAgents(now)].map((sample) =>
    harness === undefined ? sample : { ...sample, harness },
  );
  const events = sampleAgents.flatMap((sample) => eventsOf(sample, random));
  for (let from = 0; from < events.length; from += 5_000) await send(events.slice(from, from + 5_000));
  return { title: "refactor billing webhooks" };
}

/** Sends more agents than fit one screen, some with names longer than any column. */
export async function seedLargeFleet(send: SendEvents, harness: string, agents = 60): Promise<void> {
  const random = seeded(7);
  const now = Date.now();
  const long =
    "Investigate why the nightly reconciliation of supplier invoices disagrees with the ledger by a few cents in every currency but one, and write down what was found";
  const events = Array.from({ length: agents }, (_, index) => {
    const to = 0.01 + random() * 0.24;
    return eventsOf(
      {
        harness,
        session: `crowd-${index}-${"0123456789abcdef".repeat(index % 3)}`,
        kind: "agent",
        title: index % 4 === 0 ? `${long} (${index})` : `${TASKS[index % TASKS.length]} ${index}`,
        model:
          index % 5 === 0 ? "vendor/a-model-with-a-very-long-name-preview-2026-11-20" : "claude-opus-4-6",
        window: 200_000,
        rises: [{ from: Math.min(0.01, to), to, turns: 4 + Math.floor(random() * 20) }],
        until: now - random() * 10 * MINUTE,
        pace: 20_000,
      },
      random,
    );
  }).flat();
  await send(events);
}
