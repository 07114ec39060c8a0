import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isSilent,
  isStale,
  judgeConnection,
  nextOutage,
  type Signs,
  sameConnection,
  shouldProbe,
} from "./connection.ts";

const T = 1_000_000;
const base: Signs = {
  visible: true,
  startedAt: T,
  heardAt: T + 10_000,
  streamFailed: false,
  probe: undefined,
  outage: undefined,
};
const outage = { since: T + 9_000, message: "The database does not answer." };
const answered = { at: T + 12_000, outcome: "answered" } as const;
const unreachable = { at: T + 12_000, outcome: "unreachable" } as const;

describe("judgeConnection", () => {
  it.each<[what: string, signs: Partial<Signs>, at: number, expected: object]>([
    ["a hidden tab", { visible: false, outage }, 60_000, { state: "paused" }],
    ["a page that has just opened", { heardAt: undefined }, 1_000, { state: "connecting" }],
    ["a fresh message", {}, 11_000, { state: "live" }],
    ["a message before the limit", {}, 13_900, { state: "live" }],
    ["a reported outage", { outage }, 11_000, { state: "database_down", ...outage }],
    ["a stream that failed just now", { streamFailed: true }, 10_100, { state: "reconnecting" }],
    [
      "an outage that only the probe reports",
      { streamFailed: true, probe: answered, outage },
      12_100,
      { state: "database_down", ...outage },
    ],
    ["a restart", { streamFailed: true, probe: unreachable }, 12_100, { state: "reconnecting" }],
    [
      "a server that stays away",
      { streamFailed: true, probe: unreachable },
      12_600,
      { state: "server_down", since: T + 10_000 },
    ],
    [
      "a stream that a proxy cuts",
      { streamFailed: true, probe: answered },
      12_600,
      { state: "stream_cut", since: T + 10_000 },
    ],
    ["silence without a probe", {}, 14_500, { state: "reconnecting" }],
    [
      "silence while the server answers",
      { probe: answered },
      14_500,
      { state: "stream_cut", since: T + 10_000 },
    ],
    [
      "a stream that never said anything",
      { heardAt: undefined, probe: answered },
      12_500,
      { state: "stream_cut", since: T },
    ],
    [
      "a probe from before the last message",
      { streamFailed: true, probe: { at: T + 9_000, outcome: "unreachable" } },
      13_000,
      { state: "reconnecting" },
    ],
    [
      "a server that is away, after it reported an outage",
      { streamFailed: true, probe: unreachable, outage },
      13_000,
      { state: "server_down", since: T + 10_000 },
    ],
  ])("judges %s", (_, signs, at, expected) => {
    expect(judgeConnection({ ...base, ...signs }, T + at)).toEqual(expected);
  });

  const anySigns = fc.record<Signs>({
    visible: fc.constant(true),
    startedAt: fc.constant(T),
    heardAt: fc.option(fc.integer({ min: T, max: T + 30_000 }), { nil: undefined }),
    streamFailed: fc.boolean(),
    probe: fc.option(
      fc.record({
        at: fc.integer({ min: T, max: T + 30_000 }),
        outcome: fc.constantFrom("answered" as const, "unreachable" as const),
      }),
      { nil: undefined },
    ),
    outage: fc.option(fc.constant(outage), { nil: undefined }),
  });

  it("never calls numbers live 4 s after the last message", () => {
    fc.assert(
      fc.property(anySigns, fc.integer({ min: 4_000, max: 60_000 }), (signs, age) => {
        expect(judgeConnection(signs, (signs.heardAt ?? T) + age).state).not.toBe("live");
      }),
    );
  });

  it("probes before it announces, and announces within 5 s of the last message", () => {
    fc.assert(
      fc.property(
        anySigns,
        fc.constantFrom("answered" as const, "unreachable" as const),
        (signs, outcome) => {
          const heardAt = signs.heardAt ?? T;
          const quiet = { ...signs, probe: undefined };
          expect(shouldProbe(quiet, heardAt + 2_600)).toBe(true);
          // A probe takes 1.5 s at most.
          const probe = { at: heardAt + 4_100, outcome };
          expect(isStale(judgeConnection({ ...quiet, probe }, heardAt + 4_600))).toBe(true);
        },
      ),
    );
  });
});

it("opens a silent stream again, once", () => {
  expect(isSilent(base, T + 13_000)).toBe(false);
  expect(isSilent(base, T + 14_100)).toBe(true);
  expect(isSilent({ ...base, streamFailed: true }, T + 14_100)).toBe(false);
  expect(isSilent({ ...base, visible: false }, T + 14_100)).toBe(false);
});

it("probes at most once a second, and not in a hidden tab", () => {
  const failed = { ...base, streamFailed: true };
  expect(shouldProbe(failed, T + 10_001)).toBe(true);
  expect(shouldProbe({ ...failed, probe: answered }, T + 12_500)).toBe(false);
  expect(shouldProbe({ ...failed, probe: answered }, T + 13_000)).toBe(true);
  expect(shouldProbe({ ...failed, visible: false }, T + 13_000)).toBe(false);
  expect(shouldProbe(base, T + 11_000)).toBe(false);
});

it("keeps the start of an outage over delayed reports, and forgets it with an answer", () => {
  const first = nextOutage(undefined, { message: "a", for_ms: 2_000 }, T);
  expect(first).toEqual({ since: T - 2_000, message: "a" });
  expect(nextOutage(first, { message: "b", for_ms: 3_400 }, T + 1_500)).toEqual({
    since: T - 2_000,
    message: "b",
  });
  expect(nextOutage(first, null, T)).toBeUndefined();
});

it("compares connections by what the page shows", () => {
  expect(sameConnection({ state: "live" }, { state: "live" })).toBe(true);
  expect(sameConnection({ state: "live" }, { state: "paused" })).toBe(false);
  expect(sameConnection({ state: "server_down", since: 1 }, { state: "server_down", since: 2 })).toBe(false);
  const down = { state: "database_down", since: 1, message: "a" } as const;
  expect(sameConnection(down, { ...down })).toBe(true);
  expect(sameConnection(down, { ...down, message: "b" })).toBe(false);
});
