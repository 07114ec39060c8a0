import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Admission } from "./admission.ts";

let backlog = 0;
const open = (options: { patience?: number; now?: () => number } = {}) =>
  new Admission({
    backlog: (projectId) => (projectId === 1 ? backlog : 0),
    limit: () => 100,
    patience: 5_000,
    ...options,
  });

/** Whether a promise has settled, and how. */
async function outcome(promise: Promise<unknown>): Promise<string> {
  return Promise.race([
    promise.then(
      () => "admitted",
      (error: Error) => error.message,
    ),
    Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => "waiting"),
  ]);
}

beforeEach(() => {
  backlog = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("admission", () => {
  it("admits while the backlog and what was admitted are below the limit", async () => {
    const admission = open();
    backlog = 60;
    expect(await outcome(admission.enter(1, 39))).toBe("admitted");
    expect(await outcome(admission.enter(1, 500))).toBe("admitted");
    expect(await outcome(admission.enter(1, 1))).toBe("waiting");
  });

  it("admits waiting requests in the order they came, as room appears", async () => {
    const admission = open();
    backlog = 100;
    const order: string[] = [];
    const waiting = ["a", "b", "c"].map((name) => admission.enter(1, 60).then(() => order.push(name)));
    backlog = 0;
    admission.release(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(order).toEqual(["a", "b"]);
    admission.leave(1, 60);
    admission.leave(1, 60);
    await Promise.all(waiting);
    expect(order).toEqual(["a", "b", "c"]);
  });

  it("lets nobody overtake a request that waits", async () => {
    const admission = open();
    backlog = 100;
    const first = admission.enter(1, 10);
    backlog = 0;
    expect(await outcome(admission.enter(1, 10))).toBe("waiting");
    admission.release(1);
    expect(await outcome(first)).toBe("admitted");
  });

  it("refuses with Retry-After after 5 s, and forgets the request", async () => {
    const admission = open();
    backlog = 100;
    const refused = admission.enter(1, 10).catch((error: unknown) => error);
    const later = vi.fn();
    void admission.enter(1, 10).then(later, later);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(later).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await refused).toMatchObject({
      code: "overloaded",
      status: 503,
      details: { retry_after_seconds: 1 },
    });
    backlog = 0;
    admission.release(1);
    expect(await outcome(admission.enter(1, 99))).toBe("admitted");
  });

  it("does not admit a request whose sender has gone, and gives its place to the next", async () => {
    const admission = open();
    backlog = 100;
    const gone = admission.enter(1, 99, () => true).catch((error: Error) => error.message);
    const next = admission.enter(1, 99, () => false);
    backlog = 0;
    admission.release(1);
    expect(await gone).toMatch(/^The sender closed the connection/);
    expect(await outcome(next)).toBe("admitted");
  });

  it("keeps projects apart", async () => {
    const admission = open();
    backlog = 100;
    expect(await outcome(admission.enter(1, 1))).toBe("waiting");
    expect(await outcome(admission.enter(2, 1))).toBe("admitted");
  });

  it("is full at four times the backlog at which requests wait", () => {
    const admission = open();
    backlog = 399;
    expect(admission.full(1)).toBe(false);
    backlog = 400;
    expect([admission.full(1), admission.full(2)]).toEqual([true, false]);
  });

  it("is blocked by a full project only if no other project is in use", () => {
    const admission = open();
    backlog = 400;
    expect(admission.queueState([1, 2])).toEqual({ fullProjects: [1], blocked: true });
    void admission.enter(2, 1);
    expect(admission.queueState([1, 2])).toEqual({ fullProjects: [1], blocked: false });
    // Project 2 was deleted.
    expect(admission.queueState([1])).toEqual({ fullProjects: [1], blocked: true });
    backlog = 0;
    expect(admission.queueState([1, 2])).toEqual({ fullProjects: [], blocked: false });
  });

  it("is blocked if every project is full", () => {
    const admission = new Admission({ backlog: () => 400, limit: () => 100 });
    for (const id of [1, 2]) void admission.enter(id, 1).catch(() => {});
    expect(admission.queueState([1, 2])).toEqual({ fullProjects: [1, 2], blocked: true });
    admission.close();
  });

  it("counts a project as unused 10 minutes after its last request", () => {
    let now = 0;
    const admission = open({ now: () => now });
    void admission.enter(2, 1);
    backlog = 400;
    now = 10 * 60_000 - 1;
    expect(admission.queueState([1, 2]).blocked).toBe(false);
    now += 1;
    expect(admission.queueState([1, 2]).blocked).toBe(true);
  });

  it("refuses everybody once it is closed", async () => {
    const admission = open();
    backlog = 100;
    const waiting = admission.enter(1, 1).catch((error: Error) => error.message);
    admission.close();
    expect(await waiting).toMatch(/^The server is stopping/);
    await expect(admission.enter(2, 1)).rejects.toMatchObject({ code: "overloaded" });
    expect(vi.getTimerCount()).toBe(0);
  });
});
