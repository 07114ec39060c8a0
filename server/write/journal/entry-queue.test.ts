import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsedEvent } from "../../testing/events.ts";
import { EntryQueue, type JournaledEntry } from "./entry-queue.ts";

const entry = (id: string, events: number, receivedAt = 0): JournaledEntry => ({
  id,
  receivedAt,
  entry: {
    events: Array.from({ length: events }, (_, n) => parsedEvent({ id: `${id}${n}`, type: "cleared" })),
  },
});
const idsOf = (queue: EntryQueue) => queue.take(1_000)?.entries.map(({ id }) => id);

describe("a queue that is full", () => {
  it("leaves entries to the journal, and those after them, until the journal has been read", () => {
    const queue = new EntryQueue(5);
    expect(queue.offer(entry("a", 3))).toBe("taken");
    expect(queue.offer(entry("b", 3))).toBe("taken");
    expect(queue.isFull).toBe(true);
    expect(queue.offer(entry("c", 2))).toBe("left_to_journal");
    queue.release(queue.take(1_000)!);
    expect(queue.isFull).toBe(false);
    expect(queue.offer(entry("d", 1))).toBe("left_to_journal");
    queue.addRead([entry("c", 2), entry("d", 1)], true);
    expect(queue.offer(entry("e", 1))).toBe("taken");
    expect(idsOf(queue)).toEqual(["c", "d", "e"]);
  });

  it("counts what it left to the journal as waiting", () => {
    const queue = new EntryQueue(2);
    for (const id of ["a", "b", "c"]) queue.offer(entry(id, 2));
    expect(queue.waiting).toBe(6);
    expect(queue.events).toBe(2);
    queue.release(queue.take(1_000)!);
    expect(queue.waiting).toBe(4);
    queue.addRead([entry("b", 2)], false);
    expect(queue.waiting).toBe(4);
    queue.addRead([entry("c", 2)], true);
    expect(queue.waiting).toBe(4);
    queue.release(queue.take(1_000)!);
    expect(queue.waiting).toBe(0);
  });

  it("keeps the senders that wait for an entry until its row is read, or was not found by two whole reads", () => {
    const sent = (id: string): JournaledEntry => ({
      ...entry(id, 1),
      requests: [{ events: 1, done: () => {} }],
    });
    const queue = new EntryQueue(0);
    for (const id of ["a", "b", "c"]) queue.offer(sent(id));
    const waiting = (rows: JournaledEntry[]) => {
      queue.addRead(rows, true);
      return queue.take(1_000)?.entries.map(({ id, requests }) => [id, requests?.length]);
    };
    expect(waiting([entry("a", 1)])).toEqual([["a", 1]]);
    expect(waiting([entry("b", 1)])).toEqual([["b", 1]]);
    expect(waiting([entry("c", 1)])).toEqual([["c", undefined]]);
  });

  it("takes entries again after a read that found no more, although another process projected what it left", () => {
    const queue = new EntryQueue(1);
    queue.offer(entry("a", 1));
    queue.offer(entry("b", 7));
    queue.release(queue.take(1_000)!);
    queue.addRead([], true);
    expect(queue.waiting).toBe(0);
    expect(queue.offer(entry("c", 1))).toBe("taken");
  });
});

describe("a queue behind the journal", () => {
  it("lets no new entry overtake rows that were not read", () => {
    const queue = new EntryQueue(1_000);
    queue.offer(entry("new", 1, 900));
    queue.fallBehind(40);
    expect(queue.waiting).toBe(41);
    expect(queue.take(1_000)).toBeUndefined();
    queue.addRead([entry("a", 10, 100), entry("b", 10, 200)], false);
    expect(queue.offer(entry("newer", 1, 1_000))).toBe("left_to_journal");
    expect(queue.waiting).toBe(42);
    expect(idsOf(queue)).toEqual(["a", "b"]);
    expect(queue.take(1_000)).toBeUndefined();
    queue.addRead([entry("c", 20, 300), entry("newer", 1, 1_000)], true);
    expect(idsOf(queue)).toEqual(["c", "new", "newer"]);
    expect(queue.waiting).toBe(0);
    expect(queue.offer(entry("newest", 1, 1_100))).toBe("taken");
  });

  it("projects what it holds when it was full, before what it left", () => {
    const queue = new EntryQueue(2);
    queue.offer(entry("a", 2, 100));
    queue.offer(entry("b", 2, 200));
    expect(idsOf(queue)).toEqual(["a"]);
  });

  it("hands out entries in the order of receipt, whatever is offered and read meanwhile", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("offer", "read", "take", "release"), { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        (steps, capacity) => {
          const queue = new EntryQueue(capacity);
          const stored = Array.from({ length: 8 }, (_, n) => entry(`old${n}`, 1, n));
          queue.fallBehind(stored.length);
          const taken: number[] = [];
          let now = 100;
          let chunk = queue.take(0);
          for (const step of steps) {
            if (step === "offer") {
              const offered = entry(`new${now}`, 1, now++);
              stored.push(offered);
              queue.offer(offered);
            } else if (step === "read" && !queue.isFull) {
              const known = new Set(queue.ids);
              const unread = stored.filter(({ id }) => !known.has(id));
              queue.addRead(unread.slice(0, 2), unread.length <= 2);
            } else if (step === "take" && chunk === undefined) {
              chunk = queue.take(3);
              for (const { receivedAt } of chunk?.entries ?? []) taken.push(receivedAt);
            } else if (step === "release" && chunk !== undefined) {
              for (const { id } of chunk.entries)
                stored.splice(
                  stored.findIndex((one) => one.id === id),
                  1,
                );
              queue.release(chunk);
              chunk = undefined;
            }
          }
          expect(taken).toEqual([...taken].sort((a, b) => a - b));
          expect(new Set(taken).size).toBe(taken.length);
        },
      ),
    );
  });
});

it("an entry that is reserved or in memory is not added from the journal", () => {
  const queue = new EntryQueue(10);
  queue.reserve("a");
  expect(queue.addRead([entry("a", 2)], true)).toBe(0);
  queue.offer(entry("a", 2));
  expect(queue.addRead([entry("a", 2), entry("b", 0)], true)).toBe(1);
  expect(queue.waiting).toBe(2);
  const chunk = queue.take(1_000)!;
  queue.addRead([entry("a", 2)], true);
  expect(queue.isEmpty).toBe(true);
  queue.putBack(chunk);
  expect(idsOf(queue)).toEqual(["a", "b"]);
});

it("entries of other processes take their place by the time of receipt", () => {
  const queue = new EntryQueue(100);
  for (const [id, receivedAt] of Object.entries({ a: 10, b: 20, c: 30 })) {
    queue.offer(entry(id, 1, receivedAt));
  }
  queue.addRead([entry("x", 1, 5), entry("y", 1, 20), entry("z", 1, 40)], true);
  expect(idsOf(queue)).toEqual(["x", "a", "b", "y", "c", "z"]);
});

it("a chunk holds whole entries, and a command alone", () => {
  const queue = new EntryQueue(100);
  for (const id of ["a", "b", "c"]) queue.offer(entry(id, 3));
  queue.offer({
    id: "x",
    receivedAt: 0,
    entry: { events: [], commands: [{ type: "set_window", model: "m", tokens: 1 }] },
  });
  queue.offer(entry("d", 9));
  expect(queue.take(7)?.entries.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(queue.take(7)?.entries.map(({ id }) => id)).toEqual(["c"]);
  expect(queue.take(7)?.entries.map(({ id }) => id)).toEqual(["x"]);
  expect(queue.take(7)?.entries.map(({ id }) => id)).toEqual(["d"]);
  expect(queue.take(7)).toBeUndefined();
});
