import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReporter } from "@plimsoll/guard/report";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { PolicySettings } from "@plimsoll/protocol/policy";
import type { ExampleContext } from "../examples/example-support.ts";
import { ouroboros } from "../examples/ouroboros/main.ts";
import { phantomOpenAi } from "../examples/phantom/openai.ts";
import { Conversation } from "../packages/guard/src/conversation/index.ts";
import { fit as fitted, type Message, type PolicyInput } from "../packages/guard/src/index.ts";
import { estimateTokens } from "../packages/guard/src/measure/index.ts";
import { settingsOf } from "../packages/guard/src/policy/policy-settings.ts";
import { codingSession, type PolicySession, recordedSessions } from "./guard-policy.ts";

/** Agents that worked under a policy that is known, and what they reported. */
export interface KnownAgents {
  /** Harness family. */
  family: string;
  settings: PolicySettings;
  events(): Promise<PlimsollEventInput[]>;
}

/** Tokens that the provider adds for tool definitions, and how many tokens it counts for one that is estimated. */
const OVERHEAD = 3_000;
const SLOPE = 1.1;
const SEEDS = [7, 19, 43];
const WINDOWS = [32_000, 128_000, 200_000];
const TURNS = 300;

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null };

const POLICIES = {
  defaults: {},
  compact: { thresholds: { ...OFF, ceiling: "50%" }, mask: null },
  "compact-early": { thresholds: { ...OFF, ceiling: "30%" }, mask: null },
  restart: { thresholds: { ...OFF, hard: "70%" }, mask: null, compact: null },
  "restart-early": { thresholds: { ...OFF, hard: "50%" }, mask: null, compact: null },
  mask: { thresholds: { ...OFF, soft: "60%", hard: "80%" }, compact: null },
  "mask-early": { thresholds: { ...OFF, soft: "40%", hard: "80%" }, compact: null },
} as const satisfies Record<string, PolicyInput>;

/** Families that worked on the same sessions: the history of the first predicts what the policy of the second did. */
export const TRANSFERS = (["compact", "restart", "mask"] as const).flatMap((name) => {
  const [late, early] = [`coding-${name}`, `coding-${name}-early`] as const;
  return [
    [late, early],
    [early, late],
  ] as const;
});

/** The guard over synthetic and recorded sessions under several policies, and the examples. */
export const KNOWN_AGENTS: readonly KnownAgents[] = [
  ...Object.entries<PolicyInput>(POLICIES).map(([name, policy]) => ({
    family: `coding-${name}`,
    settings: settingsOf(policy),
    events: async () =>
      (
        await Promise.all(
          WINDOWS.flatMap((window) => SEEDS.map((seed) => codingSession(window, TURNS, seed))).map(
            (session, index) => guardedEvents(session, policy, `coding-${name}@bench`, `s${index}`),
          ),
        )
      ).flat(),
  })),
  {
    family: "recorded",
    settings: settingsOf({}),
    events: async () =>
      (
        await Promise.all(
          recordedSessions().map((session) => guardedEvents(session, {}, "recorded@bench", session.name)),
        )
      ).flat(),
  },
  {
    family: "phantom",
    settings: {
      ...settingsOf({
        thresholds: { warning: "15%", ceiling: "20%", soft: null, hard: null },
        mask: null,
        compact: { keepTurns: 3 },
      }),
      loop: { max_context_pct: 15 },
    },
    events: () => exampleEvents("phantom", phantomOpenAi),
  },
  {
    family: "ouroboros",
    settings: settingsOf({
      thresholds: { warning: null, ceiling: null, soft: "60%", hard: "80%" },
      compact: null,
      restart: { carryoverTurns: 2, graceTurns: 2 },
    }),
    events: () => exampleEvents("ouroboros", ouroboros),
  },
];

const sizeOf = (message: Message) =>
  4 +
  estimateTokens(message.content) +
  (message.toolCalls ?? []).reduce((sum, call) => sum + estimateTokens(JSON.stringify(call.arguments)), 0);

/** Runs a session with a guard, and returns what it reports. */
async function guardedEvents(
  { windowTokens, system, turns }: PolicySession,
  policy: PolicyInput,
  harness: string,
  session: string,
): Promise<PlimsollEventInput[]> {
  const events: PlimsollEventInput[] = [];
  let now = Date.now() - 3_600_000;
  const guard = new Conversation<Message>({
    identity: { harness, session },
    model: `model-${windowTokens}`,
    window: windowTokens,
    policy,
    clock: () => now++,
    onEvent: (event) => events.push(event),
    onWarning: () => {},
  });
  const overhead = Math.min(OVERHEAD, windowTokens * 0.05);
  const history: Message[] = [{ role: "system", content: system }];
  for (const [at, turn] of turns.entries()) {
    if (turn.user !== undefined) history.push({ role: "user", content: turn.user });
    const { messages } = await fitted(guard, history, {
      summarize: ({ maxChars }) => "What was done, file by file. ".repeat(200).slice(0, maxChars),
    });
    const sent = messages.reduce((sum, message) => sum + sizeOf(message), 0);
    const usage = { prompt_tokens: Math.round(overhead + SLOPE * sent), completion_tokens: 150 };
    guard.observe({ id: `t${at}`, usage }, { contextWindow: windowTokens });
    const id = `call-${at}`;
    const toolCalls = turn.tool && [{ id, name: turn.tool.name, arguments: turn.tool.input }];
    history.push({ role: "assistant", content: turn.said, ...(toolCalls && { toolCalls }) });
    if (turn.tool !== undefined)
      history.push({ role: "tool", toolCallId: id, toolName: turn.tool.name, content: turn.tool.output });
  }
  return events;
}

/** Runs an example, and returns what it reports. */
async function exampleEvents(
  name: string,
  example: (context: ExampleContext) => Promise<unknown>,
): Promise<PlimsollEventInput[]> {
  const folder = await mkdtemp(join(tmpdir(), `plimsoll-bench-${name}-`));
  const events: PlimsollEventInput[] = [];
  try {
    await example({
      reporter: createReporter({ log: (line) => events.push(JSON.parse(line) as PlimsollEventInput) }),
      harness: `${name}@bench`,
      run: "r1",
      folder,
      say: () => {},
      paceMs: 0,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return events;
}
