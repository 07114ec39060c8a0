import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AlertBacktests } from "../server/alerts/backtest/backtests.ts";
import { queriesOf } from "../server/db/sql.ts";
import { PolicyBook } from "../server/lines/policy-book.ts";
import { type TestIngest, testIngest } from "../server/testing/ingest.ts";
import { type DayStage, playDay, playNight } from "./alert-days.ts";

let path: TestIngest;
let stage: DayStage;

beforeAll(async () => {
  path = await testIngest({ lines: false });
  const server = await path.start();
  const backtests = new AlertBacktests(path.databaseUrl);
  stage = {
    send: (events) => server.send(...events),
    async firings(rule, span) {
      const policy = await PolicyBook.read(queriesOf(path), 1);
      const { firings, complete } = await backtests.run({ projectId: 1, policy }, { rule, span });
      expect(complete).toBe(true);
      return firings;
    },
  };
});
afterAll(() => path?.close());

describe("the presets", () => {
  it("tell at most 0.05 messages an agent-hour on an ordinary day of thirty agents", async () => {
    const { agents, hours, compactions, messages } = await playDay(stage);
    // Each compaction crossed a line.
    expect(compactions).toBeGreaterThan(50);
    expect(messages / (agents * hours)).toBeLessThanOrEqual(0.05);
  });

  it("tell six accidents of a night within two minutes, each once, and nothing else", async () => {
    const { wrong, falseMessages, accidents, inTime, twice } = await playNight(stage);
    expect({ wrong, falseMessages }).toEqual({ wrong: [], falseMessages: 0 });
    expect({ accidents, inTime, twice }).toEqual({ accidents: 6, inTime: 6, twice: 0 });
  });
});
