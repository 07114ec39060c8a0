import type { PlimsollEventInput } from "@plimsoll/protocol/pure";
import { between, pick, seededRandom } from "./random.ts";
import { SHAPES, SUB_AGENT_SHAPE, WRONG_WINDOW } from "./shapes.ts";
import { type AgentPlan, type AgentShape, SimulatedAgent } from "./simulated-agent.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const TASKS = [
  "Refactor the billing webhooks",
  "Find the flaky upload test",
  "Migrate the user table to UUIDs",
  "Write the release notes",
  "Triage the open issues",
  "Port the parser to Rust",
  "Add rate limits to the API",
  "Investigate the memory leak",
  "Translate the onboarding",
  "Review the pull requests",
  "Speed up the search index",
  "Update the Terraform modules",
];
const REASONS = ["completed", "completed", "completed", "failed", "cancelled"];
const SHAPE_LIST: readonly AgentShape[] = [...Object.values(SHAPES), SHAPES.claudeCode, SHAPES.ouroboros];

export interface LargeFleetOptions {
  /** Makes session names of this run unique. */
  run: string;
  /** Epoch ms of the newest event. */
  now: number;
  /** Ended sessions; 300 by default. */
  sessions?: number;
  /** Agents that work on; 30 by default. */
  live?: number;
  /** Turns of the one long session, which has ended; 1,000 by default. */
  longTurns?: number;
  seed?: number;
}

export interface LargeFleet {
  /** Everything that has happened until `now`, in no particular order. */
  history: PlimsollEventInput[];
  /** Agents that take further turns. */
  live: SimulatedAgent[];
}

/** A fleet with a past of seven days: ended sessions, live agents, silent ones, sub-agents and faults to find. */
export function largeFleet(options: LargeFleetOptions): LargeFleet {
  const { run, now, sessions = 300, live = 30, longTurns = 1_000, seed = 20_261_124 } = options;
  const random = seededRandom(seed);
  const history: PlimsollEventInput[] = [];

  const workedUntil = (plan: AgentPlan, turns: number, until: number, pace: number): SimulatedAgent => {
    const agent = new SimulatedAgent(plan, random);
    history.push(...agent.workedUntil(until, turns, pace));
    return agent;
  };
  const titleOf = (index: number) =>
    `${TASKS[index % TASKS.length]}${index < TASKS.length ? "" : ` (${index})`}`;

  for (let index = 0; index < sessions; index++) {
    const shape = index % 40 === 7 ? WRONG_WINDOW : pick(random, SHAPE_LIST);
    const session = `past-${run}-${index}`;
    // More of them lately: a quarter ended within the last day.
    const until = now - 20 * MINUTE - random() ** 2 * 7 * 24 * HOUR;
    const pace = between(random, 15_000, 50_000);
    const turns = index === 0 ? longTurns : 12 + Math.floor(random() ** 2 * 90);
    const agent = workedUntil({ shape, session, title: titleOf(index) }, turns, until, pace);
    if (shape === SHAPES.claudeCode) {
      for (let part = 1; part <= Math.floor(random() * 4); part++) {
        const name = `explore-${part}`;
        const plan = { shape: SUB_AGENT_SHAPE, session, title: name, agent: name, parent: "main" };
        workedUntil(plan, 6 + Math.floor(random() * 10), until - between(random, 2, 9) * MINUTE, 9_000);
      }
    }
    if (index % 25 !== 3) history.push(...agent.end(until + 2_000, pick(random, REASONS)));
  }

  const helpers = Math.floor(live / 6);
  const agents = Array.from({ length: live - helpers }, (_, index) => {
    // One of each fault first, then the rest.
    const shape =
      index === 0 ? WRONG_WINDOW : index === 1 ? SHAPES.ollama : SHAPE_LIST[index % SHAPE_LIST.length]!;
    const level = between(random, shape.start, shape.high * 0.95);
    const plan: AgentPlan = { shape, session: `live-${run}-${index}`, title: titleOf(index + 5), level };
    const turns = 8 + Math.floor(random() * 40);
    return workedUntil(plan, turns, now - between(random, 1, 20) * 1_000, between(random, 10_000, 30_000));
  });
  const parents = agents.filter(({ plan }) => plan.shape === SHAPES.claudeCode);
  for (let index = 0; index < helpers && parents.length > 0; index++) {
    const { session } = parents[index % parents.length]!.plan;
    const name = `explore-${index + 1}`;
    const plan = { shape: SUB_AGENT_SHAPE, session, title: name, agent: name, parent: "main" };
    agents.push(workedUntil(plan, 5 + index, now - 3_000, 8_000));
  }
  // These stopped reporting without an end.
  for (let index = 0; index < Math.ceil(live / 8); index++) {
    const shape = pick(random, SHAPE_LIST);
    const plan = { shape, session: `silent-${run}-${index}`, title: titleOf(index + 40) };
    workedUntil(plan, 15, now - (11 + index * 3) * MINUTE, 20_000);
  }
  return { history, live: agents };
}
