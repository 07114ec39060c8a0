import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DatabaseClock } from "../../db/database-clock.ts";
import type { Writers } from "../../db/sql.ts";
import { parsedEvent } from "../../testing/events.ts";
import { until } from "../../testing/until.ts";
import type { JournaledEntry } from "./entry-queue.ts";
import { type JournalEntry, unpackEntry } from "./journal-entry.ts";
import { type JournalRequest, JournalWriter } from "./journal-writer.ts";

interface Commit {
  projectId: number;
  /** When the insert must have begun, epoch ms. */
  deadline: number;
  entry: JournalEntry;
  resolve: () => void;
  reject: (error: Error) => void;
}

let commits: Commit[];
/** This process's clock, epoch ms. */
let local: number;
let journaled: { projectId: number; entry: JournaledEntry }[];
let clock: DatabaseClock;
let writer: JournalWriter;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  commits = [];
  journaled = [];
  local = 1_000;
  clock = new DatabaseClock(() => local);
  const writers: Writers = {
    query: (_text, projectId, ...values) =>
      new Promise((resolve, reject) => {
        // An array of one element, after a header of 20 bytes and the element's length.
        const entry = unpackEntry((values[2] as Buffer).subarray(24));
        commits.push({
          projectId: projectId as number,
          deadline: values.at(-1) as number,
          entry,
          resolve: () => resolve([{ received_ms: 5_000 }] as never),
          reject,
        });
      }),
    transaction: () => Promise.reject(new Error("not used")),
    failure: () => undefined,
    end: async () => {},
  };
  writer = new JournalWriter({
    writers,
    clock,
    reserve: () => {},
    unreserve: () => {},
    journaled: (projectId, entry) => void journaled.push({ projectId, entry }),
  });
});

afterEach(() => void vi.useRealTimers());

const events = (count: number, name = "e") =>
  Array.from({ length: count }, (_, n) => parsedEvent({ id: `${name}${n}`, type: "cleared" }));
const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));
/** Lets a small group wait for more requests as long as it may. */
async function groupCloses(): Promise<void> {
  await turnOfTheLoop();
  vi.advanceTimersByTime(4);
  await turnOfTheLoop();
}
/** A large group is packed in another thread. */
const commitsBegin = (count: number) =>
  until(async () => {
    await groupCloses();
    return commits.length >= count;
  });
const append = (request: Partial<JournalRequest> = {}) =>
  writer.append({ projectId: 1, events: events(1), ...request });
const sizes = () => commits.map(({ projectId, entry }) => [projectId, entry.events.length]);

describe("the journal", () => {
  it("commits requests of one turn of the event loop together", async () => {
    const answers = [append(), append({ events: events(2) }), append()];
    await turnOfTheLoop();
    expect(sizes()).toEqual([[1, 4]]);
    expect(journaled).toEqual([]);
    commits[0]!.resolve();
    expect(await Promise.all(answers)).toEqual([true, true, true]);
    expect(journaled[0]!.entry.requests?.map((request) => request.events)).toEqual([1, 2, 1]);
  });

  it("groups what waits while a commit is under way", async () => {
    for (let n = 0; n < 5; n++) {
      void append();
      await turnOfTheLoop();
    }
    expect(sizes()).toEqual([[1, 1]]);
    expect(writer.depth).toBe(4);
    commits[0]!.resolve();
    await groupCloses();
    expect(sizes()[1]).toEqual([1, 4]);
    expect(writer.depth).toBe(0);
  });

  it("waits up to 4 ms for as many requests as shared the last commit, and never for a lone sender", async () => {
    void append();
    void append();
    await turnOfTheLoop();
    commits[0]!.resolve();
    await turnOfTheLoop();
    void append();
    await turnOfTheLoop();
    expect(sizes()).toEqual([[1, 2]]);
    void append();
    await turnOfTheLoop();
    expect(sizes()[1]).toEqual([1, 2]);
    commits[1]!.resolve();
    await turnOfTheLoop();
    void append();
    await turnOfTheLoop();
    vi.advanceTimersByTime(3);
    await turnOfTheLoop();
    expect(sizes()).toHaveLength(2);
    vi.advanceTimersByTime(1);
    await turnOfTheLoop();
    expect(sizes()[2]).toEqual([1, 1]);
    commits[2]!.resolve();
    await turnOfTheLoop();
    void append();
    await turnOfTheLoop();
    expect(sizes()[3]).toEqual([1, 1]);
  });

  it.each<[string, Partial<JournalRequest>]>([
    ["that waits for its projection", { done: () => {} }],
    ["with many events", { events: events(16) }],
  ])("lets no request wait for company %s", async (_, request) => {
    for (let n = 0; n < 3; n++) void append();
    await turnOfTheLoop();
    commits[0]!.resolve();
    await turnOfTheLoop();
    void append(request);
    await turnOfTheLoop();
    expect(sizes()).toHaveLength(2);
  });

  it("begins a second commit when the first has taken 20 ms, and never a third", async () => {
    for (let n = 0; n < 2; n++) {
      void append();
      await turnOfTheLoop();
    }
    vi.advanceTimersByTime(19);
    expect(sizes()).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await turnOfTheLoop();
    expect(sizes()).toHaveLength(2);
    const third = append();
    await turnOfTheLoop();
    vi.advanceTimersByTime(60_000);
    expect(sizes()).toHaveLength(2);
    // The first stays slow: what waits does not wait for it.
    commits[1]!.resolve();
    await groupCloses();
    expect(sizes()).toHaveLength(3);
    commits[2]!.resolve();
    expect(await third).toBe(true);
    expect(journaled).toHaveLength(2);
  });

  it("commits for four projects at once, and then for those that waited", async () => {
    for (let round = 0; round < 2; round++) {
      for (let projectId = 1; projectId <= 5; projectId++) void append({ projectId });
      await turnOfTheLoop();
    }
    expect(sizes().map(([projectId]) => projectId)).toEqual([1, 2, 3, 4]);
    commits[1]!.resolve();
    await turnOfTheLoop();
    commits[0]!.resolve();
    await groupCloses();
    expect(sizes().slice(4)).toEqual([
      [5, 2],
      [1, 1],
    ]);
  });

  it.each<[string, Partial<JournalRequest>[], [number, number][]]>([
    [
      "never puts two projects into one row",
      [{}, { projectId: 2 }, {}],
      [
        [1, 2],
        [2, 1],
      ],
    ],
    [
      "begins another group at 2,000 events",
      [{ events: events(1_500) }, { events: events(600) }],
      [
        [1, 1_500],
        [1, 600],
      ],
    ],
    [
      "never splits a request",
      [{ events: events(5_000) }, {}],
      [
        [1, 5_000],
        [1, 1],
      ],
    ],
    [
      "gives a command a row of its own",
      [{}, { events: [], commands: [{ type: "set_window", model: "m", tokens: 1 }] }],
      [
        [1, 1],
        [1, 0],
      ],
    ],
    [
      "gives a sender that waits on another server a row of its own",
      [{ reply: "r" }, {}],
      [
        [1, 1],
        [1, 1],
      ],
    ],
  ])("%s", async (_, requests, expected) => {
    for (const request of requests) void append(request);
    await turnOfTheLoop();
    for (let begun = 1; begun <= expected.length; begun++) {
      await commitsBegin(begun);
      for (const { resolve } of commits) resolve();
    }
    expect(sizes()).toEqual(expected);
  });

  it("keeps the order of one project's requests", async () => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) void append({ events: events(900, name) });
    await commitsBegin(1);
    for (const { resolve } of commits) resolve();
    await commitsBegin(2);
    expect(
      commits
        .flatMap(({ entry }) => entry.events.map(({ id }) => id[0]))
        .filter((id, at, all) => id !== all[at - 1]),
    ).toEqual(names);
  });

  it("adds up what was refused before it", async () => {
    void append({ refused: { missing_field: 1 } });
    void append({ refused: { missing_field: 2, unknown_type: 1 } });
    await commitsBegin(1);
    expect(commits[0]!.entry.refused).toEqual({ missing_field: 3, unknown_type: 1 });
  });

  it("does not journal a request that nobody waits for any more", async () => {
    const abandoned = append({ abandoned: () => true });
    const kept = append({ events: events(2), abandoned: () => false });
    await turnOfTheLoop();
    expect(await abandoned).toBe(false);
    expect(sizes()).toEqual([[1, 2]]);
    commits[0]!.resolve();
    expect(await kept).toBe(true);
    expect(writer.depth).toBe(0);
  });

  it("sets the clock by every commit", async () => {
    void append();
    await turnOfTheLoop();
    commits[0]!.resolve();
    await turnOfTheLoop();
    expect(clock.now()).toBe(5_000);
    expect(journaled[0]!.entry.receivedAt).toBe(5_000);
  });

  it("gives the next commit time after an answer that was heard late", async () => {
    void append();
    await turnOfTheLoop();
    commits[0]!.resolve();
    await turnOfTheLoop();
    void append();
    await turnOfTheLoop();
    local += 17_000;
    commits[1]!.resolve();
    await turnOfTheLoop();
    void append();
    await turnOfTheLoop();
    expect(commits[2]!.deadline).toBe(5_000 + 17_000 + 8_000);
  });

  it("tells every sender of a group that failed, and goes on", async () => {
    const failed = [append(), append()].map((answer) => answer.catch((error: Error) => error));
    await turnOfTheLoop();
    commits[0]!.reject(Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" }));
    for (const error of await Promise.all(failed)) {
      expect(error).toMatchObject({
        code: "database_unreachable",
        status: 503,
        details: { retry_after_seconds: expect.any(Number) },
      });
    }
    expect(journaled).toEqual([]);
    const next = append();
    await groupCloses();
    commits[1]!.resolve();
    expect(await next).toBe(true);
  });

  it("is drained once nothing waits and nothing is under way", async () => {
    await writer.drained();
    void append();
    let drained = false;
    void writer.drained().then(() => {
      drained = true;
    });
    await turnOfTheLoop();
    expect(drained).toBe(false);
    commits[0]!.resolve();
    await turnOfTheLoop();
    expect(drained).toBe(true);
  });

  it("refuses what waits, and lets finish what is under way", async () => {
    const under = append();
    await turnOfTheLoop();
    const waiting = append().catch((error: Error) => error.message);
    await turnOfTheLoop();
    writer.refuseWaiting(new Error("stopping"));
    expect(await waiting).toBe("stopping");
    expect(writer.depth).toBe(0);
    commits[0]!.resolve();
    expect(await under).toBe(true);
    await writer.drained();
  });
});
