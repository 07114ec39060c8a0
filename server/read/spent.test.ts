import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpentSum } from "./spent.ts";

const turn = (costMicros?: number, durationMs?: number) => ({ costMicros, durationMs });

function spentOf(...parts: ReturnType<typeof turn>[][]) {
  const sum = new SpentSum();
  for (const part of parts) sum.add(part);
  return sum.total();
}

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

  it("take the same ranks from turns that come in parts", () => {
    const duration = fc.integer({ min: 0, max: 2 ** 40 });
    fc.assert(
      fc.property(fc.array(fc.array(duration)), (parts) => {
        const { latency } = spentOf(...parts.map((part) => part.map((ms) => turn(undefined, ms))));
        const sorted = parts.flat().sort((a, b) => a - b);
        const rank = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
        if (sorted.length === 0) expect(latency).toBeNull();
        else expect(latency).toEqual({ p50_ms: rank(0.5), p95_ms: rank(0.95), turns: sorted.length });
      }),
    );
  });
});
