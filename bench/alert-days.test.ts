import { ALERT_PRESETS, type AlertPreset } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../examples/large-fleet/random.ts";
import { SHAPES } from "../examples/large-fleet/shapes.ts";
import { SimulatedAgent } from "../examples/large-fleet/simulated-agent.ts";
import { AlertBacktests } from "../server/alerts/backtest/backtests.ts";
import { queriesOf } from "../server/db/sql.ts";
import { PolicyBook } from "../server/lines/policy-book.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../server/testing/ingest.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 9, 1, 9);

/** Presets about agents. The others are about harnesses. */
const PRESETS = ["past_line", "over_window", "thrash"] as const satisfies AlertPreset[];

let path: TestIngest;
let server: TestPipeline;
let backtests: AlertBacktests;

beforeAll(async () => {
  path = await testIngest({ lines: false });
  server = await path.start();
  backtests = new AlertBacktests(path.databaseUrl);
});
afterAll(() => path?.close());

async function fired(preset: AlertPreset, family: string, from: number): Promise<AlertBacktest["firings"]> {
  const policy = await PolicyBook.read(queriesOf(path), 1);
  const rule = { ...ALERT_PRESETS[preset], scope: { family } };
  const { firings } = await backtests.run(
    { projectId: 1, policy },
    { rule, span: { from, to: from + 24 * HOUR } },
  );
  return firings;
}

describe("the presets", () => {
  it("tell at most 0.05 messages an agent-hour on an ordinary day of thirty agents", async () => {
    const random = seededRandom(1);
    const hours = 8;
    let falls = 0;
    for (let index = 0; index < 30; index++) {
      const shape = { ...SHAPES.claudeCode, harness: `claude-code@desk-${index}` };
      const agent = new SimulatedAgent({ shape, session: `s${index}`, title: "a day" }, random);
      const events = agent.begin(START);
      // People read, talk and have lunch between bursts of turns.
      for (let at = START + 60_000 * random(); at < START + hours * HOUR; ) {
        const turns = 3 + Math.floor(random() * 25);
        for (let turn = 0; turn < turns; turn++) {
          at += 4_000 + random() * 26_000;
          events.push(...agent.step(at));
        }
        at += MINUTE * (1 + random() ** 3 * 60);
      }
      falls += events.filter(({ type }) => type === "compacted").length;
      await server.send(...events);
    }
    let messages = 0;
    for (const preset of PRESETS) messages += 2 * (await fired(preset, "claude-code", START)).length;
    // Each compaction crossed a line.
    expect(falls).toBeGreaterThan(50);
    expect(messages / (30 * hours)).toBeLessThanOrEqual(0.05);
  });

  const NIGHT = START + 48 * HOUR;
  const STEP = 30_000;
  /** Levels in thousands of tokens, a turn each half minute. */
  const night = (harness: string, model: string, levels: readonly number[], window?: number) =>
    levels.map((level, index) => ({
      id: `t${index}`,
      type: "turn",
      at: NIGHT + index * STEP,
      harness,
      session: "a loop",
      model,
      usage: { input_tokens: level * 1_000 },
      ...(window !== undefined && { context_window: window }),
    }));
  const rise = (from: number, to: number, by: number) =>
    Array.from({ length: (to - from) / by + 1 }, (_, n) => from + n * by);

  it.each([
    // The line of Claude Code is at 167,000 tokens of 200,000.
    ["past_line", "whose compaction is off", "claude-code@night", rise(100, 196, 4), 200_000, 17],
    ["past_line", "whose sub-ticks fail", "phantom@night", rise(20, 80, 4), 200_000, 5],
    [
      "past_line",
      "of an unknown harness, at the end of its window",
      "my-bot@night",
      rise(100, 198, 2),
      200_000,
      45,
    ],
    ["over_window", "whose window is set too small", "codex@night", rise(100, 300, 10), 128_000, 3],
    [
      "thrash",
      "that compacts again and again",
      "opencode@night",
      [150, 20, 160, 30, 170, 40, 175, 50],
      200_000,
      4,
    ],
  ] as const)(
    "%s tells within two minutes, and once, of an agent %s",
    async (preset, _, harness, levels, window, turn) => {
      const turns = night(harness, "model-n", levels, window);
      const falls = levels.flatMap((level, index) =>
        index > 0 && level < levels[index - 1]!
          ? [
              {
                id: `c${index}`,
                type: "compacted",
                at: NIGHT + index * STEP - 1_000,
                harness,
                session: "a loop",
                trigger: "auto",
              },
            ]
          : [],
      );
      await server.send(...turns, ...falls);
      const firings = await fired(preset, harness.split("@")[0]!, NIGHT);
      expect(firings).toHaveLength(1);
      const delay = Date.parse(firings[0]!.fired_at) - (NIGHT + turn * STEP);
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(delay).toBeLessThanOrEqual(2 * MINUTE);
    },
  );
});
