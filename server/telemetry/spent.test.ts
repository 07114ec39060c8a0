import { describe, expect, it } from "vitest";
import { spentOf } from "./spent.ts";

const turn = (costMicros?: number, durationMs?: number) => ({ turn: { costMicros, durationMs } });

describe("cost and latency of an agent", () => {
  it("are unknown, never zero, if no turn reports them", () => {
    expect(spentOf([])).toEqual({ cost: null, latency: null });
    expect(spentOf([turn(), turn()])).toEqual({ cost: null, latency: null });
  });

  it("cover the turns that report them, and say how many did", () => {
    expect(spentOf([turn(1_500_000), turn(), turn(250_000, 900)])).toEqual({
      cost: { usd: 1.75, turns: 2 },
      latency: { p50_ms: 900, p95_ms: 900, turns: 1 },
    });
  });

  it("count a turn that was free", () => {
    expect(spentOf([turn(0)]).cost).toEqual({ usd: 0, turns: 1 });
  });

  it("take the nearest rank of the sorted durations, whatever their order", () => {
    const durations = Array.from({ length: 100 }, (_, index) => turn(undefined, ((index * 37) % 100) + 1));
    expect(spentOf(durations).latency).toEqual({ p50_ms: 50, p95_ms: 95, turns: 100 });
  });
});
