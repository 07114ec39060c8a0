import type { Received } from "../plan/group-events.ts";
import type { RequestOutcome } from "../plan/outcomes.ts";
import type { PartOutcome } from "./plan-chunk.ts";

/** An event that fails even alone. */
export interface FailedEvent {
  received: Received;
  error: unknown;
}

/**
 * Projects events in one part, and after a failure in halves, down to single events. Returns what was projected, and the
 * events that fail alone. An error that `isFatal` accepts for a part of so many events ends it, because neither an event nor
 * the size of the part is to blame.
 */
export async function projectByHalves(
  received: readonly Received[],
  project: (part: readonly Received[]) => Promise<PartOutcome>,
  isFatal: (error: unknown, events: number) => boolean,
): Promise<{ done: PartOutcome; failed: FailedEvent[] }> {
  const counts = new Map<string, number>();
  const requests = new Map<number, RequestOutcome>();
  const sessions: string[] = [];
  let harnesses = false;
  const failed: FailedEvent[] = [];
  const parts: (readonly Received[])[] = received.some(({ events }) => events.length > 0) ? [received] : [];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      const outcome = await project(part);
      sessions.push(...outcome.sessions);
      harnesses ||= outcome.harnesses;
      for (const [name, count] of outcome.counts) counts.set(name, (counts.get(name) ?? 0) + count);
      for (const [request, more] of outcome.requests) {
        const known = requests.get(request) ?? { accepted: 0, duplicates: 0 };
        requests.set(request, {
          accepted: known.accepted + more.accepted,
          duplicates: known.duplicates + more.duplicates,
        });
      }
    } catch (error) {
      const events = part.reduce((sum, one) => sum + one.events.length, 0);
      if (isFatal(error, events)) throw error;
      const halves = halvesOf(part);
      // A request of the part may have no events.
      if (halves === undefined)
        failed.push({ received: part.find(({ events }) => events.length > 0)!, error });
      else parts.push(halves[1], halves[0]);
    }
  }
  return { done: { counts, requests, sessions, harnesses }, failed };
}

/** Undefined for a single event. */
function halvesOf(part: readonly Received[]): [Received[], Received[]] | undefined {
  const single = part.flatMap(({ events, request, receivedAt }) =>
    events.map((event) => ({ events: [event], request, receivedAt })),
  );
  if (single.length < 2) return undefined;
  const middle = single.length >> 1;
  return [single.slice(0, middle), single.slice(middle)];
}
