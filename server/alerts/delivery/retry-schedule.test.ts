import { ATTEMPT_OUTCOMES } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIVE_UP_MS, healthAfter, stepDelivery } from "./retry-schedule.ts";

const failed = {
  outcome: "http_status",
  retryAfterMs: undefined,
  number: 1,
  since: 0,
  now: 0,
  random: 0,
} as const;

describe("what follows an attempt", () => {
  it("ends with a success, and with an answer that would not change", () => {
    expect(stepDelivery({ ...failed, outcome: "delivered" })).toEqual({ state: "delivered" });
    expect(stepDelivery({ ...failed, outcome: "refused" })).toEqual({ state: "failed" });
    expect(stepDelivery({ ...failed, outcome: "gone" })).toEqual({ state: "failed" });
  });

  it("is a longer wait each time, up to an hour", () => {
    const waits = Array.from({ length: 14 }, (_, index) => {
      const step = stepDelivery({ ...failed, number: index + 1 });
      return step.state === "waiting" ? step.nextAt / 1_000 : undefined;
    });
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600, 3_600, 3_600]);
  });

  it("waits as long as the receiver asks, but not beyond the end", () => {
    expect(stepDelivery({ ...failed, retryAfterMs: 600_000 })).toEqual({ state: "waiting", nextAt: 600_000 });
    expect(stepDelivery({ ...failed, retryAfterMs: 1 })).toEqual({ state: "waiting", nextAt: 5_000 });
    expect(stepDelivery({ ...failed, retryAfterMs: 1e12 })).toEqual({ state: "waiting", nextAt: GIVE_UP_MS });
    expect(stepDelivery({ ...failed, now: GIVE_UP_MS })).toEqual({ state: "failed" });
  });

  it("lets a receiver that is down be tried some 30 times in 24 h, whatever chance does", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (chance) => {
        let [now, number] = [0, 1];
        for (;;) {
          const step = stepDelivery({ ...failed, number, now, random: chance.next().value! });
          if (step.state !== "waiting") break;
          expect(step.nextAt).toBeGreaterThan(now);
          now = step.nextAt;
          number += 1;
        }
        expect(now).toBe(GIVE_UP_MS);
        expect(number).toBeGreaterThan(25);
        expect(number).toBeLessThan(70);
      }),
    );
  });

  it("never plans an attempt for the past or after the end", () => {
    fc.assert(
      fc.property(
        fc.record({
          outcome: fc.constantFrom(...ATTEMPT_OUTCOMES),
          retryAfterMs: fc.option(fc.double({ min: 0, max: 1e15, noNaN: true }), { nil: undefined }),
          number: fc.integer({ min: 1, max: 1_000_000 }),
          since: fc.constant(0),
          now: fc.integer({ min: -1_000_000, max: 2 * GIVE_UP_MS }),
          random: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        (attempt) => {
          const step = stepDelivery(attempt);
          if (step.state !== "waiting") return;
          expect(step.nextAt).toBeGreaterThan(attempt.now);
          expect(step.nextAt).toBeLessThanOrEqual(GIVE_UP_MS);
        },
      ),
    );
  });
});

describe("the health of an endpoint", () => {
  it("is failing from the first failure to the next success, and pauses after 24 h", () => {
    expect(healthAfter(undefined, { outcome: "timeout", now: 5 })).toEqual({
      failingSince: 5,
      pause: undefined,
    });
    expect(healthAfter(5, { outcome: "dns", now: 100 })).toEqual({ failingSince: 5, pause: undefined });
    expect(healthAfter(5, { outcome: "dns", now: 5 + GIVE_UP_MS })).toEqual({
      failingSince: 5,
      pause: "failing",
    });
    expect(healthAfter(5, { outcome: "delivered", now: 100 })).toEqual({
      failingSince: undefined,
      pause: undefined,
    });
  });

  it("is failing while the receiver refuses every message, and tries each of them", () => {
    expect(healthAfter(undefined, { outcome: "refused", now: 5 })).toEqual({
      failingSince: 5,
      pause: undefined,
    });
    expect(healthAfter(5, { outcome: "refused", now: 5 + GIVE_UP_MS })).toEqual({
      failingSince: 5,
      pause: undefined,
    });
  });

  it("ends at once where the receiver says that it is gone", () => {
    expect(healthAfter(undefined, { outcome: "gone", now: 5 })).toEqual({ failingSince: 5, pause: "gone" });
  });
});
