import { constantTimeline, thresholdTimeline } from "@plimsoll/fold";
import { expect, it } from "vitest";
import { type NumberedTurn, numberTurns } from "../db/tables/turn-order.ts";
import { plainTurn } from "../testing/any-turns.ts";
import { type LineSource, LineSteps } from "./line-steps.ts";

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null };

/** One turn a second. */
const turnsOf = (count: number, fields: (n: number) => object = () => ({})) =>
  numberTurns(
    Array.from({ length: count }, (_, n) =>
      plainTurn({
        key: String(n),
        at: n * 1_000,
        modelId: 1,
        windowTokens: 100_000,
        contextTokens: 5,
        ...fields(n),
      }),
    ),
  );
const modelName = (id: number) => `model-${id}`;

function lineSteps(turns: readonly NumberedTurn[], source: LineSource) {
  const steps = new LineSteps(source);
  for (const turn of turns) steps.add(turn);
  return steps.latest();
}

const shown = (steps: ReturnType<typeof lineSteps>) =>
  steps.map(({ number, generation, thresholds }) => [
    number,
    generation,
    ...thresholds.map(({ name, tokens, source }) => `${name} ${tokens} ${source}`),
  ]);

it("shows one step while nothing changes", () => {
  const timeline = constantTimeline({ ...OFF, ceiling: "50%" });
  expect(shown(lineSteps(turnsOf(100), { timeline, reports: [], modelName }))).toEqual([
    [1, 0, "ceiling 50000 default"],
  ]);
  expect(lineSteps([], { timeline, reports: [], modelName })).toEqual([]);
});

it("shows each acknowledged policy from the first turn after it", () => {
  const version = (generation: number, ceiling: string) => ({
    generation,
    body: { settings: { thresholds: { ...OFF, ceiling } }, layers: [] },
    steps: [{ at: 0, share: 1, harnesses: [] }],
  });
  const ack = (generation: number, at: number) => ({
    id: `a${generation}`,
    at,
    generation,
    status: "applied" as const,
  });
  const timeline = thresholdTimeline(
    "mine@1",
    [version(1, "50%"), version(2, "40%")],
    [ack(1, 2_500), ack(2, 6_000)],
    {},
  );
  expect(shown(lineSteps(turnsOf(10), { timeline, reports: [], modelName }))).toEqual([
    [1, 2, "ceiling 40000 policy"],
    [4, 1, "ceiling 50000 acknowledged"],
    [7, 2, "ceiling 40000 acknowledged"],
  ]);
});

it("follows the size of the window and what the harness reports", () => {
  const timeline = constantTimeline({ ...OFF, ceiling: "50%" });
  const turns = turnsOf(10, (n) => (n < 3 ? {} : { windowTokens: 200_000, modelId: 2 }));
  const reports = [{ at: new Date(6_000), threshold: "ceiling", thresholdTokens: 70_000 }];
  expect(shown(lineSteps(turns, { timeline, reports, modelName }))).toEqual([
    [1, 0, "ceiling 50000 default"],
    [4, 0, "ceiling 100000 default"],
    [8, 0, "ceiling 70000 reported"],
  ]);
});

it("keeps the newest 50 steps", () => {
  const timeline = constantTimeline({ ...OFF, ceiling: "50%" });
  const turns = turnsOf(200, (n) => ({ windowTokens: n % 2 === 0 ? 100_000 : 200_000 }));
  const steps = lineSteps(turns, { timeline, reports: [], modelName });
  expect(steps).toHaveLength(50);
  expect(steps.at(-1)!.number).toBe(200);
});
