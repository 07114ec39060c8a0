import { RECENT_LEVELS } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { type LevelAt, readRecentLevels, recentLevels } from "./recent-levels.ts";

let path: TestIngest;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
  server = await path.start();
});
afterAll(async () => {
  await server?.close();
  await path?.close();
});

const START = Date.now() - 3_600_000;
const turn = (session: string, index: number, tokens: number | undefined, more: object = {}) => ({
  id: `${session}-${index}`,
  at: START + index * 1_000,
  harness: "h@1",
  type: "turn",
  session,
  model: "m",
  usage: tokens === undefined ? { output_tokens: 1 } : { input_tokens: tokens },
  ...more,
});
const numberOf = async (session: string) => {
  const found = await path.prisma.agent.findFirstOrThrow({
    where: { sessionId: (await path.prisma.session.findFirstOrThrow({ where: { name: session } })).id },
  });
  return found.number;
};
const levelsOf = async (session: string) => {
  const number = await numberOf(session);
  const found = await readRecentLevels({ prisma: path.prisma, projectId: 1 }, [number]);
  return found.get(number)?.map(({ tokens }) => tokens);
};
const climb = (count: number) => Array.from({ length: count }, (_, index) => 1_000 + index);

test.each([1, 29, 30, 31, 400])(
  "of %d turns in one request, the latest 30 levels are read",
  async (count) => {
    const session = `together-${count}`;
    await server.send(...climb(count).map((tokens, index) => turn(session, index, tokens)));
    expect(await levelsOf(session)).toEqual(climb(count).slice(-RECENT_LEVELS));
  },
);

test("turns in requests of their own, the last of them late, are read in order", async () => {
  const levels = climb(40);
  const late = 35;
  for (const [index, tokens] of levels.entries())
    if (index !== late) await server.send(turn("apart", index, tokens));
  await server.send(turn("apart", late, levels[late]));
  expect(await levelsOf("apart")).toEqual(levels.slice(-RECENT_LEVELS));
});

test("turns without a count and compaction calls are no levels", async () => {
  await server.send(
    turn("gaps", 0, 5_000),
    turn("gaps", 1, undefined),
    turn("gaps", 2, 6_000, { purpose: "compaction" }),
    turn("gaps", 3, 7_000),
  );
  expect(await levelsOf("gaps")).toEqual([5_000, 7_000]);
});

test("no agents, no statement", async () => {
  expect(await readRecentLevels({ prisma: path.prisma, projectId: 1 }, [])).toEqual(new Map());
});

const at = (...times: number[]): LevelAt[] =>
  times.map((time, index) => ({ at: time, tokens: 100 - index, output: undefined }));

test.each([
  ["the next level", [{ type: "masked", at: 15 }], [{ index: 1, type: "masked" }]],
  ["the level at the same time", [{ type: "unexplained", at: 20 }], [{ index: 1, type: "unexplained" }]],
  ["nothing before the first level", [{ type: "masked", at: 9 }], []],
  ["nothing if no turn followed", [{ type: "subtick", at: 31 }], []],
  [
    "the newest of several",
    [
      { type: "cleared", at: 17 },
      { type: "masked", at: 15 },
    ],
    [{ index: 1, type: "cleared" }],
  ],
] as const)("a fall marks %s", (_, falls, expected) => {
  expect(recentLevels(at(10, 20, 30), falls)).toEqual({ levels: [100, 99, 98], falls: expected });
});

test("marks are within the levels, ascending and distinct", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), fc.array(fc.nat(60)), (turns, boundaries) => {
      const levels = at(...turns.sort((a, b) => a - b));
      const { falls } = recentLevels(
        levels,
        boundaries.sort((a, b) => b - a).map((time) => ({ type: "masked", at: time })),
      );
      const indexes = falls.map(({ index }) => index);
      expect(indexes).toEqual([...new Set(indexes)].sort((a, b) => a - b));
      for (const index of indexes) expect(levels[index]).toBeDefined();
    }),
  );
});
