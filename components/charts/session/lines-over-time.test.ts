import type { AppliedThreshold, LineStep } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { linesOverTime } from "./lines-over-time.ts";
import type { SawPoint } from "./shape.ts";

const ceiling = (label: string, tokens: number, source: AppliedThreshold["source"]): AppliedThreshold => ({
  name: "ceiling",
  label,
  tokens,
  source,
});
const step = (number: number, generation: number, ...thresholds: AppliedThreshold[]): LineStep => ({
  number,
  at: new Date(number * 1_000).toISOString(),
  generation,
  thresholds,
});
const points = [1, 20].map((x) => ({ x, y: 5 })) as SawPoint[];
const OLD = ceiling("50%", 100_000, "default");
const NEW = ceiling("40%", 80_000, "acknowledged");
const now = (policy_generation: number, ...thresholds: AppliedThreshold[]) => ({
  policy_generation,
  thresholds,
});
const [START, END] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

it("draws one piece while nothing changes, also before the chart is loaded", () => {
  const straight = {
    lines: [{ name: "ceiling", pieces: [{ from: START, to: END, tokens: 100_000 }] }],
    changes: [],
  };
  expect(linesOverTime([step(1, 0, OLD)], now(0, OLD), { points }, "turns")).toEqual(straight);
  expect(linesOverTime([], now(0, OLD), { points: [] }, "turns")).toEqual(straight);
});

it("steps between the turns, and says what changed and why", () => {
  const { lines, changes } = linesOverTime(
    [step(1, 0, OLD), step(8, 3, NEW)],
    now(3, NEW),
    { points },
    "turns",
  );
  expect(lines[0]!.pieces).toEqual([
    { from: START, to: 7.5, tokens: 100_000 },
    { from: 7.5, to: END, tokens: 80_000 },
  ]);
  expect(changes).toEqual([
    {
      x: 7.5,
      at: "1970-01-01T00:00:08.000Z",
      texts: ["ceiling 50% to 40%, acknowledged policy 3"],
      tokens: 80_000,
    },
  ]);
  expect(
    linesOverTime([step(1, 0, OLD), step(8, 3, NEW)], now(3, NEW), { points }, "time").changes[0]!.x,
  ).toBe(8_000);
});

it("draws what has changed since the last turn after it, without a mark", () => {
  const { lines, changes } = linesOverTime([step(1, 0, OLD)], now(3, NEW), { points }, "turns");
  expect(lines[0]!.pieces.at(-1)).toEqual({ from: 20, to: END, tokens: 80_000 });
  expect(changes).toEqual([]);
});

it("leaves a gap where a threshold was off", () => {
  const { lines, changes } = linesOverTime(
    [step(1, 0, OLD), step(5, 1), step(9, 2, OLD)],
    now(2, OLD),
    { points },
    "turns",
  );
  expect(lines[0]!.pieces).toEqual([
    { from: START, to: 4.5, tokens: 100_000 },
    { from: 8.5, to: END, tokens: 100_000 },
  ]);
  expect(changes.map(({ texts }) => texts)).toEqual([
    ["ceiling 50% no longer set"],
    ["ceiling 50%, default of the harness"],
  ]);
});

it("does not mark a new policy that moves nothing, and names another window", () => {
  const bigger = ceiling("50%", 200_000, "default");
  const { changes } = linesOverTime(
    [step(1, 0, OLD), step(3, 1, { ...OLD, source: "policy" }), step(6, 1, bigger)],
    now(1, bigger),
    { points },
    "turns",
  );
  expect(changes.map(({ texts }) => texts)).toEqual([
    ["ceiling 50% of another window, default of the harness"],
  ]);
});
