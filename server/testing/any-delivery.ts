import fc from "fast-check";
import type { TestIngest } from "./ingest.ts";

/** How the events of a session arrive: the dice of their order and repetition, and when the process restarts. */
export interface Delivery {
  shuffle: readonly number[];
  /** Events in one request. */
  size: number;
  /** Requests between two restarts. */
  restarted: number;
  /** Turns of a segment of an agent's history. */
  segmentTurns: number;
}

/** @param segments lengths of a segment to choose from, in turns */
export const anyDelivery = (...segments: readonly number[]): fc.Arbitrary<Delivery> =>
  fc.record({
    shuffle: fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 80, maxLength: 80 }),
    size: fc.integer({ min: 1, max: 9 }),
    restarted: fc.integer({ min: 1, max: 9 }),
    segmentTurns: fc.constantFrom(...segments),
  });

/**
 * Sends the events, some of them twice, to processes that follow one another.
 * @param rank events with a lower one come first; those with the same are shuffled
 */
export async function deliver<Event>(
  path: TestIngest,
  events: readonly Event[],
  { shuffle, size, restarted, segmentTurns }: Delivery,
  rank: (event: Event) => number = () => 0,
): Promise<void> {
  const again = [...events, ...events.filter((_, index) => shuffle[index]! % 3 === 0)]
    .map((event, index) => ({ event, dice: shuffle[index % shuffle.length]! + index / 1_000 }))
    .sort((a, b) => rank(a.event) - rank(b.event) || a.dice - b.dice)
    .map(({ event }) => event);
  let server = await path.start({ segmentTurns });
  for (let start = 0; start < again.length; start += size) {
    await server.send(...again.slice(start, start + size));
    // A new process remembers nothing.
    if ((start / size) % restarted === 0) {
      await server.close();
      server = await path.start({ segmentTurns });
    }
  }
  await server.close();
}
