import type { FleetAgent } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { nextAgent, nextText } from "./next-agent.ts";

const NOW = Date.UTC(2026, 10, 24, 9);

interface Shape {
  tokens?: number | null;
  line?: number | null;
  window?: number | null;
  forecast?: Partial<FleetAgent["forecast"]>;
  silentMs?: number;
  sub?: string;
}

function agent(title: string, shape: Shape = {}): FleetAgent {
  const { tokens = 50, line = 100, window = 1000, forecast, silentMs = 0, sub = "main" } = shape;
  return {
    id: title,
    session_id: title,
    session: title,
    title,
    name: sub,
    context_tokens: tokens,
    window_tokens: window,
    window_suspect: tokens !== null && window !== null && tokens > window,
    line: line === null ? null : { threshold: "hard", tokens: line, kind: "hard", source: "policy" },
    load: tokens === null || line === null ? null : tokens / line,
    thresholds: [],
    active_at: new Date(NOW - silentMs).toISOString(),
    forecast: {
      reason: "no_trend",
      turns: null,
      growth: null,
      minutes: null,
      end_turns: null,
      end_minutes: null,
      ...forecast,
    },
  } as unknown as FleetAgent;
}

const rising = (turns: number, minutes: number | null, more: Shape = {}): Shape => ({
  ...more,
  forecast: { reason: "rising", turns, minutes },
});
const over = (end_turns: number | null, end_minutes: number | null, more: Shape = {}): Shape => ({
  tokens: 150,
  ...more,
  forecast: { reason: "over", end_turns, end_minutes },
});

const sentence = (...agents: FleetAgent[]) =>
  nextText(nextAgent(agents, NOW))
    .map(({ text }) => text)
    .join("");

test.each<[string, FleetAgent[]]>([
  [
    "Next: Migrate the user table reaches its line in 3 turns, under 1 minute, then 2 more within 10 minutes",
    [
      agent("later", rising(20, 9)),
      agent("Migrate the user table", rising(3, 0.5)),
      agent("soon", rising(8, 2)),
      agent("far", rising(50, 40)),
    ],
  ],
  ["Next: slow reaches its line in 1 turn, about 2 hours", [agent("slow", rising(1, 110))]],
  ["Next: one reaches its line in 4 turns, about 1 minute", [agent("one", rising(4, 1.2))]],
  ["Next: paceless reaches its line in 7 turns", [agent("paceless", rising(7, null))]],
  ["Next: loop › helper reaches its line in 2 turns", [agent("loop", rising(2, null, { sub: "helper" }))]],
  [
    "Next: full reaches the end of its window in 2 turns, under 1 minute, then 1 more within 10 minutes",
    [agent("full", over(2, 0.4)), agent("rising", rising(1, 0.1)), agent("past with room", over(90, 80))],
  ],
  ["Next: stuck is at the end of its window", [agent("stuck", over(0, 0))]],
  [
    "Next: rising reaches its line in 9 turns, about 3 minutes",
    [agent("past with room", over(90, 80)), agent("rising", rising(9, 3))],
  ],
  ["past is past its line. Nobody else is near one", [agent("past", over(null, null)), agent("calm")]],
  [
    "2 agents are past their line, furthest further. Nobody else is near one",
    [agent("past", over(null, null)), agent("further", over(null, null, { tokens: 200 }))],
  ],
  ["Nobody is near a line", [agent("calm"), agent("too far to tell", rising(61, 90))]],
  ["Nobody is near a line", [agent("calm"), agent("unknown", { line: null, window: null })]],
  ["No agent has a known line", [agent("unknown", { line: null, window: null })]],
  ["No agent is active", []],
  [
    "No agent is active",
    [
      agent("silent", rising(1, 1, { silentMs: 600_000 })),
      agent("wrong window", over(1, 1, { tokens: 2000 })),
    ],
  ],
])("%s", (words, agents) => {
  expect(sentence(...agents)).toBe(words);
  expect(sentence(...agents.toReversed())).toBe(words);
});

test("nobody that is forecast arrives before the one that is named", () => {
  const arrival = fc.record({ turns: fc.integer({ min: 1, max: 100 }), minutes: fc.option(fc.nat(100)) });
  fc.assert(
    fc.property(fc.array(arrival, { minLength: 1, maxLength: 30 }), (arrivals) => {
      const view = nextAgent(
        arrivals.map(({ turns, minutes }, index) => agent(`${index}`, rising(turns, minutes))),
        NOW,
      );
      const near = arrivals.filter(({ turns }) => turns <= 60);
      expect(view.reason).toBe(near.length === 0 ? "calm" : "line");
      if (view.reason !== "line") return;
      const { minutes, turns } = view.next;
      for (const one of near) expect(one.minutes ?? one.turns).toBeGreaterThanOrEqual(minutes ?? turns);
      expect(view.soon).toBeLessThan(near.length);
    }),
  );
});
