import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideNotifications,
  type GroupedAlert,
  type GroupMemory,
  type GroupTiming,
  isInhibited,
  NEW_GROUP,
  silenceOf,
} from "./decide-notifications.ts";

const TIMING: GroupTiming = { waitMs: 0, intervalMs: 100, repeatMs: 1_000 };

const alert = (id: string, more: Partial<GroupedAlert> & { phase?: string } = {}): GroupedAlert => ({
  id,
  state: { phase: (more.phase ?? "firing") as GroupedAlert["state"]["phase"] },
  acknowledged: more.acknowledged ?? false,
  muted: more.muted ?? false,
});
const ended = (id: string) => alert(id, { phase: "resolved" });

/** What the receivers are told at each time. */
function told(timing: GroupTiming, ...looks: [now: number, ...alerts: GroupedAlert[]][]): string[] {
  let memory: GroupMemory = NEW_GROUP;
  return looks.map(([now, ...alerts]) => {
    const decision = decideNotifications(memory, alerts, timing, now);
    memory = decision.memory;
    const { notification } = decision;
    return notification === undefined ? "-" : `${notification.kind} ${notification.alerts.join(",")}`;
  });
}

describe("decideNotifications", () => {
  it.each<[string, GroupTiming, [number, ...GroupedAlert[]][], string[]]>([
    [
      "tells a firing and its end once",
      TIMING,
      [[0, alert("a")], [1, alert("a")], [2, ended("a")], [3]],
      ["firing a", "-", "resolved a", "-"],
    ],
    [
      "waits for more alerts before the first notification",
      { ...TIMING, waitMs: 50 },
      [
        [0, alert("a")],
        [20, alert("a"), alert("b")],
        [50, alert("a"), alert("b")],
      ],
      ["-", "-", "firing a,b"],
    ],
    [
      "says nothing of an alert that ended before the first notification",
      { ...TIMING, waitMs: 50 },
      [
        [0, alert("a")],
        [20, ended("a")],
        [60, ended("a")],
        [70, alert("b")],
        [120, alert("b")],
      ],
      ["-", "-", "-", "-", "firing b"],
    ],
    [
      "gathers new and ended alerts of an interval, changed ones first",
      TIMING,
      [
        [0, alert("a"), alert("b")],
        [10, alert("a"), ended("b"), alert("c")],
        [100, alert("a"), ended("b"), alert("c")],
        [110, ended("a"), ended("c")],
      ],
      ["firing a,b", "-", "firing c,b,a", "resolved a,c"],
    ],
    [
      "repeats what goes on",
      TIMING,
      [
        [0, alert("a")],
        [999, alert("a")],
        [1_000, alert("a")],
        [1_500, alert("a")],
        [2_000, alert("a")],
      ],
      ["firing a", "-", "repeated a", "-", "repeated a"],
    ],
    [
      "repeats neither what is acknowledged, nor what is muted, nor what has no data",
      TIMING,
      [
        [0, alert("a"), alert("b"), alert("c")],
        [
          2_000,
          alert("a", { acknowledged: true }),
          alert("b", { muted: true }),
          alert("c", { phase: "no_data" }),
        ],
        [2_001, alert("a", { acknowledged: true }), alert("b"), alert("c", { phase: "no_data" })],
      ],
      ["firing a,b,c", "-", "repeated b,a,c"],
    ],
    [
      "tells once that everything is acknowledged",
      TIMING,
      [
        [0, alert("a"), alert("b")],
        [1, alert("a", { acknowledged: true }), alert("b")],
        [2, alert("a", { acknowledged: true }), alert("b", { acknowledged: true })],
        [9_000, alert("a", { acknowledged: true }), alert("b", { acknowledged: true })],
        [9_001, ended("a"), ended("b")],
      ],
      ["firing a,b", "-", "acknowledged a,b", "-", "resolved a,b"],
    ],
    [
      "tells neither the start nor the end of a muted alert",
      TIMING,
      [
        [0, alert("a", { muted: true })],
        [1, ended("a")],
      ],
      ["-", "-"],
    ],
    [
      "tells the end of an alert that was muted after it was told",
      TIMING,
      [
        [0, alert("a")],
        [1, alert("a", { muted: true })],
        [2, { ...ended("a"), muted: true }],
      ],
      ["firing a", "-", "resolved a"],
    ],
    [
      "tells an alert when its silence ends",
      TIMING,
      [
        [0, alert("a", { muted: true })],
        [500, alert("a")],
      ],
      ["-", "firing a"],
    ],
    [
      "never repeats if the rule says so",
      { ...TIMING, repeatMs: undefined },
      [
        [0, alert("a")],
        [9_999_999, alert("a")],
      ],
      ["firing a", "-"],
    ],
    [
      "is not held up by a clock that was set back",
      { ...TIMING, waitMs: 50 },
      [
        [10_000, alert("a")],
        [100, alert("a")],
        [150, alert("a")],
        [160, alert("a"), alert("b")],
        [250, alert("a"), alert("b")],
      ],
      ["-", "-", "firing a", "-", "firing b,a"],
    ],
  ])("%s", (_, timing, looks, expected) => {
    expect(told(timing, ...looks)).toEqual(expected);
  });

  it("says when to look again", () => {
    const first = decideNotifications(NEW_GROUP, [alert("a")], { ...TIMING, waitMs: 50 }, 10);
    expect(first.nextAt).toBe(60);
    const second = decideNotifications(first.memory, [alert("a")], { ...TIMING, waitMs: 50 }, 60);
    expect(second.nextAt).toBe(1_060);
  });

  it("tells each firing once and each end once, whatever order they come in", () => {
    const ids = ["a", "b", "c"];
    const look = fc.record({
      now: fc.integer({ min: 0, max: 100_000 }),
      change: fc.constantFrom(...ids),
      to: fc.constantFrom("firing", "no_data", "resolved"),
      acknowledged: fc.boolean(),
      muted: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(look, { maxLength: 80 }), (looks) => {
        let memory = NEW_GROUP;
        const alerts = new Map<string, GroupedAlert>();
        /** Alerts that a receiver of all notifications believes to fire. */
        const believed = new Set<string>();
        let serial = 0;
        const current = new Map<string, string>();
        for (const { now, change, to, acknowledged, muted } of looks) {
          let id = current.get(change);
          if (id === undefined || alerts.get(id)?.state.phase === "resolved") {
            if (to === "resolved") continue;
            serial += 1;
            id = `${change}${serial}`;
            current.set(change, id);
          }
          alerts.set(id, alert(id, { phase: to, acknowledged, muted }));
          const decision = decideNotifications(memory, [...alerts.values()], TIMING, now);
          memory = decision.memory;
          for (const one of decision.notification?.alerts ?? []) {
            const isOver = alerts.get(one)!.state.phase === "resolved";
            // Never an end of something the receiver never saw firing.
            if (isOver) expect(believed.delete(one)).toBe(true);
            else believed.add(one);
          }
          expect(new Set(Object.keys(memory.told))).toEqual(believed);
        }
        // Nothing is lost: once everything has ended, the receiver knows.
        for (const [id, one] of alerts) alerts.set(id, { ...one, state: { phase: "resolved" } });
        const last = decideNotifications(memory, [...alerts.values()], TIMING, 1_000_000);
        expect(new Set(last.notification?.alerts ?? [])).toEqual(believed);
      }),
    );
  });
});

describe("what mutes an alert", () => {
  const labels = { harness: "phantom@vm-3", severity: "warning" };
  const silence = { id: "s", startsAt: 10, endsAt: 20 };

  it("is a silence whose matchers all match, from its start to its end", () => {
    const matchers = [
      { label: "harness", is: "phantom@*" },
      { label: "severity", is_not: "critical" },
    ];
    const silences = [{ ...silence, matchers }];
    expect([9, 10, 19, 20].map((now) => silenceOf(silences, labels, now)?.id)).toEqual([
      undefined,
      "s",
      "s",
      undefined,
    ]);
    expect(silenceOf(silences, { ...labels, severity: "critical" }, 15)).toBeUndefined();
    expect(silenceOf([{ ...silence, matchers: [{ label: "model", is: "" }] }], labels, 15)?.id).toBe("s");
  });

  it("is a more severe alert on the level of the same agent", () => {
    const warning = { id: "w", agentId: "1", condition: "load", severity: "warning" } as const;
    const ceiling = { ...warning, id: "c", condition: "threshold", severity: "critical" } as const;
    expect(isInhibited(warning, [warning, ceiling])).toBe(true);
    expect(isInhibited(ceiling, [warning, ceiling])).toBe(false);
    expect(isInhibited(warning, [{ ...ceiling, agentId: "2" }])).toBe(false);
    expect(isInhibited({ ...warning, condition: "silence" }, [ceiling])).toBe(false);
    expect(isInhibited({ ...warning, agentId: undefined }, [{ ...ceiling, agentId: undefined }])).toBe(false);
  });
});
