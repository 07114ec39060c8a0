import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AlertSighting,
  type AlertState,
  type AlertTiming,
  INACTIVE_ALERT,
  isFiring,
  nextStepAt,
  stepAlert,
} from "./alert-state.ts";

const AT_ONCE: AlertTiming = { forMs: 0, keepFiringMs: 0 };
const met: AlertSighting = { verdict: "met", at: 5 };
const clear: AlertSighting = { verdict: "clear", reason: "below" };
const silent: AlertSighting = { verdict: "silent" };
const over: AlertSighting = { verdict: "over", reason: "session_ended" };

/** The phases that sightings lead through, each with its reason. */
function phases(timing: AlertTiming, ...sightings: [AlertSighting, now: number][]): string[] {
  let state = INACTIVE_ALERT;
  return sightings.map(([sighting, now]) => {
    const step = stepAlert(state, sighting, now, timing);
    state = step.state;
    return step.reason === undefined ? state.phase : `${state.phase}: ${step.reason}`;
  });
}

describe("stepAlert", () => {
  it("fires at once without a `for`, and ends when the condition ends", () => {
    expect(phases(AT_ONCE, [clear, 0], [met, 1], [met, 2], [clear, 3], [clear, 4])).toEqual([
      "inactive",
      "firing: held",
      "firing",
      "resolved: ended",
      "resolved",
    ]);
  });

  it("waits for the rule's time, and forgets a condition that ended meanwhile", () => {
    const timing = { forMs: 100, keepFiringMs: 0 };
    expect(phases(timing, [met, 0], [met, 99], [clear, 100], [met, 101], [met, 200], [met, 201])).toEqual([
      "pending: met",
      "pending",
      "inactive: not_held",
      "pending: met",
      "pending",
      "firing: held",
    ]);
  });

  it("keeps firing for a while, counted from the end of the condition", () => {
    const timing = { forMs: 0, keepFiringMs: 100 };
    expect(phases(timing, [met, 0], [clear, 10], [met, 60], [clear, 70], [clear, 169], [clear, 170])).toEqual(
      ["firing: held", "firing", "firing", "firing", "firing", "resolved: ended"],
    );
  });

  it("takes silence for missing data, and never for an end", () => {
    expect(
      phases(
        AT_ONCE,
        [met, 0],
        [silent, 1],
        [silent, 9_999_999],
        [met, 10_000_000],
        [silent, 10_000_001],
        [over, 10_000_002],
      ),
    ).toEqual([
      "firing: held",
      "no_data: silent",
      "no_data",
      "firing: heard_again",
      "no_data: silent",
      "resolved: ended",
    ]);
  });

  it("does not fire a pending alert whose subject is silent", () => {
    const timing = { forMs: 10, keepFiringMs: 0 };
    expect(phases(timing, [met, 0], [silent, 100], [met, 101])).toEqual([
      "pending: met",
      "pending",
      "firing: held",
    ]);
  });

  it("keeps the event time of its start, and says when time alone goes on", () => {
    const { state } = stepAlert(INACTIVE_ALERT, met, 1_000, { forMs: 100, keepFiringMs: 7 });
    expect(state).toMatchObject({ startedAt: 5, pendingAt: 1_000, firedAt: undefined });
    expect(nextStepAt(state, { forMs: 100, keepFiringMs: 7 })).toBe(1_100);
    expect(nextStepAt(INACTIVE_ALERT, AT_ONCE)).toBeUndefined();
  });
});

describe("any sightings with any clock", () => {
  const sighting = fc.oneof(
    fc.record({ verdict: fc.constant("met" as const), at: fc.integer({ min: 0, max: 10_000 }) }),
    fc.constant(clear),
    fc.constant(silent),
    fc.constant(over),
  );
  const run = fc.array(fc.tuple(sighting, fc.integer({ min: 0, max: 100_000 })), { maxLength: 60 });
  const timing = fc.record({
    forMs: fc.constantFrom(0, 10, 50_000),
    keepFiringMs: fc.constantFrom(0, 10, 50_000),
  });

  it("begin and end a firing in turns, so that each is told at most once", () => {
    fc.assert(
      fc.property(run, timing, (sightings, timing) => {
        let state: AlertState = INACTIVE_ALERT;
        for (const [one, now] of sightings) {
          const before = state;
          const step = stepAlert(before, one, now, timing);
          state = step.state;
          expect(step.reason === undefined).toBe(state.phase === before.phase);
          if (isFiring(state) && !isFiring(before)) {
            // Only a condition that is met begins to fire, after it was met for long enough.
            expect(one.verdict).toBe("met");
            if (timing.forMs > 0) expect(before.phase).toBe("pending");
            expect(now - state.pendingAt!).toBeGreaterThanOrEqual(timing.forMs);
          }
          if (isFiring(before) && !isFiring(state)) {
            expect(state.phase).toBe("resolved");
            expect(["clear", "over"]).toContain(one.verdict);
            expect(state.endReason).toBeDefined();
          }
        }
      }),
    );
  });

  it("change nothing when the last one is repeated at the same time", () => {
    fc.assert(
      fc.property(run, timing, (sightings, timing) => {
        let state: AlertState = INACTIVE_ALERT;
        for (const [one, now] of sightings) {
          state = stepAlert(state, one, now, timing).state;
          const again = stepAlert(state, one, now, timing);
          const goesOn = state.phase === "resolved" && one.verdict === "met";
          if (!goesOn) expect(again).toEqual({ state, reason: undefined });
        }
      }),
    );
  });

  it("lose no alert: what is met for long enough fires, and ends once it is over", () => {
    fc.assert(
      fc.property(run, timing, (sightings, timing) => {
        let state: AlertState = INACTIVE_ALERT;
        for (const [one, now] of sightings) state = stepAlert(state, one, now, timing).state;
        const later = 1_000_000;
        for (const now of [later, later + timing.forMs]) state = stepAlert(state, met, now, timing).state;
        expect(state.phase).toBe("firing");
        expect(stepAlert(state, over, later, timing).state.phase).toBe("resolved");
      }),
    );
  });
});
