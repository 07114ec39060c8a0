import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { largeFleet } from "../../examples/large-fleet/history.ts";
import { seededRandom } from "../../examples/large-fleet/random.ts";
import {
  type AgentPlan,
  type AgentShape,
  SimulatedAgent,
} from "../../examples/large-fleet/simulated-agent.ts";

type SendEvents = (events: readonly object[]) => Promise<unknown>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export interface FleetOptions {
  /** Puts every session under one harness. By default each keeps its own. */
  harness?: string;
  /** Number of ended sessions. */
  sessions?: number;
  /** Epoch ms. */
  now?: number;
}

interface Work extends AgentPlan {
  turns: number;
  /** Milliseconds since the last turn. */
  ago: number;
  /** Milliseconds between two turns. */
  pace: number;
}

const PHANTOM: AgentShape = {
  harness: "phantom@vm-3",
  model: "claude-opus-4-6",
  kind: "loop",
  window: 1_000_000,
  reported: 1_000_000,
  start: 0.008,
  high: 0.205,
  low: 0.085,
  falls: ["masked", "subtick", "unexplained", "compacted"],
  growth: 0.022,
};
const PHANTOM_HELPER: AgentShape = {
  ...PHANTOM,
  model: "claude-haiku-4-5",
  window: 200_000,
  reported: 200_000,
  start: 0.02,
  high: 0.3,
  falls: ["masked"],
};
const AUTOPILOT: AgentShape = {
  harness: "autopilot@build-1",
  model: "claude-sonnet-4-6",
  kind: "phase",
  window: 200_000,
  reported: 200_000,
  start: 0.03,
  high: 0.165,
  low: 0.11,
  falls: ["masked"],
  growth: 0.02,
};
const BILLING = { session: "loop-7c1e", title: "refactor billing webhooks" };
const SEARCH_INDEX = { session: "phase-20", title: "migrate the search index" };

/** Live agents: near the line, over it, far below it, and one with an unknown window size. */
const RUNNING: readonly Work[] = [
  { ...BILLING, shape: PHANTOM, turns: 109, ago: 18 * SECOND, pace: 55 * SECOND },
  {
    ...BILLING,
    shape: PHANTOM_HELPER,
    agent: "researcher",
    parent: "main",
    turns: 29,
    ago: 140 * SECOND,
    pace: 24 * SECOND,
  },
  {
    ...BILLING,
    shape: PHANTOM_HELPER,
    agent: "test runner",
    parent: "main",
    turns: 7,
    ago: 65 * SECOND,
    pace: 21 * SECOND,
  },
  {
    session: "nightly-2291",
    title: "nightly dependency sweep",
    shape: {
      harness: "ouroboros@ci-2",
      model: "qwen3-coder:30b",
      kind: "loop",
      window: 262_144,
      reported: 262_144,
      start: 0.02,
      high: 0.225,
      low: 0.03,
      falls: ["restarted"],
      growth: 0.018,
    },
    turns: 95,
    ago: 4 * SECOND,
    pace: 38 * SECOND,
  },
  { ...SEARCH_INDEX, shape: AUTOPILOT, turns: 39, ago: 9 * SECOND, pace: 41 * SECOND },
  {
    ...SEARCH_INDEX,
    shape: AUTOPILOT,
    agent: "phase-runner 20b",
    parent: "main",
    turns: 17,
    ago: 31 * SECOND,
    pace: 30 * SECOND,
  },
  {
    session: "0d5f6c1e-77aa-4f0b-9b51-2f6f0f9f2f10",
    title: "make the release notes shorter",
    shape: {
      harness: "claude-code@laptop",
      model: "claude-opus-4-6",
      kind: "conversation",
      window: 1_000_000,
      start: 0.021,
      high: 0.124,
      low: 0.028,
      falls: ["compacted"],
      growth: 0.009,
    },
    turns: 59,
    ago: 126 * SECOND,
    pace: 47 * SECOND,
  },
  {
    session: "eng-help-1764",
    title: "#eng-help thread",
    shape: { ...PHANTOM, harness: "phantom@slack", kind: "conversation", high: 0.136, growth: 0.014 },
    turns: 42,
    ago: 12 * MINUTE,
    pace: 62 * SECOND,
  },
  {
    session: "rollout-2026-11-20",
    title: "find the flaky upload test",
    shape: {
      ...AUTOPILOT,
      harness: "codex@ws-4",
      model: "gpt-5.2-codex",
      window: 272_000,
      reported: 272_000,
    },
    turns: 9,
    ago: 2 * SECOND,
    pace: 26 * SECOND,
  },
  {
    session: "incident-418",
    title: "summarise incident 418",
    shape: {
      harness: "incident-bot@ops",
      model: "house-7b",
      kind: "agent",
      window: 100_000,
      start: 0.12,
      high: 0.6,
      low: 0.3,
      falls: ["compacted"],
      growth: 0.08,
    },
    turns: 11,
    ago: SECOND,
    pace: 15 * SECOND,
  },
];

/**
 * Sends a realistic fleet.
 * @returns the title of the session with the most kinds of boundaries
 */
export async function seedFleet(
  send: SendEvents,
  { harness, sessions = 5, now = Date.now() }: FleetOptions = {},
): Promise<{ title: string }> {
  const random = seededRandom(20_261_120);
  const ended = largeFleet({ run: "seed", now, sessions, live: 0, longTurns: 60 }).history;
  const running = RUNNING.flatMap(({ turns, ago, pace, ...plan }) =>
    new SimulatedAgent(plan, random).workedUntil(now - ago, turns, pace),
  );
  const events = [...ended, ...running].map(
    (event): PlimsollEventInput => (harness === undefined ? event : { ...event, harness }),
  );
  for (let from = 0; from < events.length; from += 5_000) await send(events.slice(from, from + 5_000));
  return { title: BILLING.title };
}

const LONG_TITLE =
  "Investigate why the nightly reconciliation of supplier invoices disagrees with the ledger by a few cents in every currency but one, and write down what was found";

/** Sends more agents than fit one screen, some with names longer than any column. */
export async function seedLargeFleet(send: SendEvents, harness: string, agents = 60): Promise<void> {
  const random = seededRandom(7);
  const now = Date.now();
  const events = Array.from({ length: agents }, (_, index) => {
    const model =
      index % 5 === 0 ? "vendor/a-model-with-a-very-long-name-preview-2026-11-20" : "claude-opus-4-6";
    const agent = new SimulatedAgent(
      {
        shape: { ...AUTOPILOT, harness, model, kind: "agent", high: 1 },
        session: `crowd-${index}-${"0123456789abcdef".repeat(index % 3)}`,
        title: index % 4 === 0 ? `${LONG_TITLE} (${index})` : `Tidy module ${index}`,
        level: 0.01 + random() * 0.2,
      },
      random,
    );
    // None of them falls silent, after ten minutes, during the story.
    return agent.workedUntil(now - random() * 5 * MINUTE, 4 + Math.floor(random() * 12), 20 * SECOND);
  }).flat();
  await send(events);
}
