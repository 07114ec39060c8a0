import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { PageQueue, type PageQueueLimits } from "./page-queue.ts";

/** Pages that enter a queue of these limits. */
function pagesOf(limits: Partial<PageQueueLimits>) {
  const queue = new PageQueue({ holdMs: 60_000, ...limits });
  return () => {
    const outgoing = new EventEmitter();
    const socket = { destroyed: false };
    const page = { outcome: "waits", socket, outgoing, end: () => outgoing.emit("close") };
    queue.enter({ socket } as IncomingMessage, outgoing as ServerResponse).then(
      (entered) => {
        page.outcome = entered ? "renders" : "left";
      },
      (error) => {
        page.outcome = error.code;
      },
    );
    return page;
  };
}

describe("the queue of pages", () => {
  it("renders some at once, lets some wait in order, and refuses the others", async () => {
    const enter = pagesOf({ atOnce: 2, waiting: 2 });
    const pages = Array.from({ length: 5 }, enter);
    const outcomes = () => pages.map(({ outcome }) => outcome);
    await sleep(0);
    expect(outcomes()).toEqual(["renders", "renders", "waits", "waits", "overloaded"]);
    pages[1]!.end();
    await sleep(0);
    expect(outcomes()).toEqual(["renders", "renders", "renders", "waits", "overloaded"]);
    pages[0]!.end();
    pages[2]!.end();
    await sleep(0);
    pages[3]!.end();
    await sleep(0);
    // All places are free again.
    const again = [enter(), enter(), enter()];
    await sleep(0);
    expect(again.map(({ outcome }) => outcome)).toEqual(["renders", "renders", "waits"]);
  });

  it("skips a page whose client has left", async () => {
    const enter = pagesOf({ atOnce: 1, waiting: 5 });
    const [first, second, third] = [enter(), enter(), enter()];
    second.socket.destroyed = true;
    first.end();
    await sleep(0);
    expect([second.outcome, third.outcome]).toEqual(["left", "renders"]);
  });

  it("does not wait for a client that does not read", async () => {
    vi.useFakeTimers();
    try {
      const enter = pagesOf({ atOnce: 1, waiting: 5, holdMs: 20 });
      const [first, second, third] = [enter(), enter(), enter()];
      await vi.advanceTimersByTimeAsync(35);
      expect([second.outcome, third.outcome]).toEqual(["renders", "waits"]);
      // Its end gives its place up no second time.
      first.end();
      await vi.advanceTimersByTimeAsync(0);
      expect(third.outcome).toBe("waits");
    } finally {
      vi.useRealTimers();
    }
  });
});
