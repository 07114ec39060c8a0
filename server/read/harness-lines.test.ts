import type { ObservedHarnessLine } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readFleet } from "./fleet.ts";
import { readHarnessLines } from "./harness-lines.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
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

const reader = (): FreshReader => ({
  prisma: path.prisma,
  projectId: 1,
  policy: PolicyBook.empty,
  now: Date.now(),
  lag: { events: 0, ms: 0 },
});
const linesOf = async (harness: string) => (await readHarnessLines(reader(), { harness })).lines;

let serial = 0;
/** A harness that no other test uses. */
const claude = () => `claude-code@${++serial}`;

interface FallOptions {
  session?: string;
  agent?: string;
  parent?: string;
  model?: string;
  /** Tokens; null if the harness reports none. */
  window?: number | null;
  trigger?: string;
  /** Whether the harness states the level. */
  stated?: boolean;
  estimated?: boolean;
  /** Ms before now. */
  ago?: number;
}

/** A turn and the compaction after it. */
function fall(harness: string, tokens: number, options: FallOptions = {}): object[] {
  serial += 1;
  const { session = "s", agent, parent, model = "m", window = 200_000, trigger = "auto" } = options;
  const { stated = false, estimated = false, ago = 60 * MINUTE - serial * 1_000 } = options;
  const envelope = {
    at: Date.now() - ago,
    harness,
    session,
    ...(agent !== undefined && { agent }),
    ...(parent !== undefined && { parent_agent: parent }),
  };
  return [
    {
      ...envelope,
      id: `turn-${serial}`,
      type: "turn",
      model,
      ...(window !== null && { context_window: window }),
      usage: { input_tokens: tokens },
      ...(estimated && { estimated: true }),
    },
    {
      ...envelope,
      id: `fall-${serial}`,
      at: envelope.at + 1,
      type: "compacted",
      trigger,
      ...(stated && { tokens_before: tokens }),
    },
  ];
}

const several = (harness: string, levels: readonly number[], options: FallOptions = {}) =>
  levels.flatMap((tokens) => fall(harness, tokens, options));

test("compactions at the computed line agree with it", async () => {
  const harness = claude();
  await server.send(...several(harness, [161_000, 168_000, 165_000]));
  expect(await linesOf(harness)).toEqual([
    {
      harness,
      model: "m",
      window_tokens: 200_000,
      window_source: "reported",
      sub_agents: false,
      line: { tokens: 167_000, basis: "computed" },
      judged_by: { threshold: "ceiling", tokens: 167_000, source: "default" },
      observed: {
        falls: 3,
        of: 3,
        lowest: 161_000,
        highest: 168_000,
        median: 165_000,
        last_at: expect.any(String),
      },
      verdict: "agrees",
      causes: [],
    } satisfies ObservedHarnessLine,
  ]);
});

test("one compaction is shown and flags nothing", async () => {
  const harness = claude();
  await server.send(...fall(harness, 86_000));
  expect(await linesOf(harness)).toMatchObject([
    { observed: { falls: 1, of: 1, lowest: 86_000 }, verdict: "too_few", causes: [] },
  ]);
});

test("compactions far below the line are flagged with their usual causes, whatever lies outside", async () => {
  const harness = claude();
  await server.send(...several(harness, [85_000, 190_000, 86_000, 87_000, 20_000]));
  expect(await linesOf(harness)).toMatchObject([
    {
      observed: { falls: 3, of: 5, lowest: 85_000, highest: 87_000 },
      verdict: "earlier",
      causes: expect.arrayContaining(["own_setting", "environment"]),
    },
  ]);
});

test("compactions of a person and of the guard do not count", async () => {
  const harness = claude();
  await server.send(
    ...several(harness, [40_000, 41_000, 42_000], { trigger: "manual" }),
    ...several(harness, [60_000, 61_000, 62_000], { trigger: "proactive" }),
  );
  expect(await linesOf(harness)).toEqual([]);
});

test("two window sizes of one model, and the one of an agent that changed its model, are kept apart", async () => {
  const harness = claude();
  await server.send(
    ...several(harness, [165_000, 166_000, 167_000], { session: "a" }),
    ...several(harness, [960_000, 961_000, 962_000], { session: "a", window: 1_000_000 }),
    ...several(harness, [300_000, 301_000, 302_000], { session: "a", model: "other", window: 400_000 }),
  );
  const lines = await linesOf(harness);
  expect(
    lines.map(({ model, window_tokens, observed, verdict }) => [
      model,
      window_tokens,
      observed.falls,
      verdict,
    ]),
  ).toEqual([
    ["m", 1_000_000, 3, "agrees"],
    ["m", 200_000, 3, "agrees"],
    ["other", 400_000, 3, "earlier"],
  ]);
});

test("an unknown window has an observed line and no computed one", async () => {
  const harness = claude();
  await server.send(...several(harness, [88_000, 89_000, 90_000], { window: null, model: "house-model" }));
  expect(await linesOf(harness)).toMatchObject([
    {
      window_tokens: null,
      window_source: "unknown",
      line: { tokens: null, basis: "unknown" },
      observed: { falls: 3, lowest: 88_000, highest: 90_000 },
      verdict: "no_line",
      causes: [],
    },
  ]);
});

test("sub-agents do not speak for main agents", async () => {
  const harness = claude();
  await server.send(
    ...several(harness, [165_000, 166_000, 167_000]),
    ...several(harness, [50_000, 51_000, 52_000], { agent: "sub", parent: "main" }),
  );
  expect(await linesOf(harness)).toMatchObject([
    { sub_agents: false, observed: { falls: 3, of: 3, highest: 167_000 }, verdict: "agrees" },
    { sub_agents: true, observed: { falls: 3, of: 3, highest: 52_000 }, verdict: "earlier" },
  ]);
});

test("an estimated level counts only if the harness stated the level of the compaction", async () => {
  const harness = claude();
  await server.send(...several(harness, [100_000, 101_000, 102_000], { estimated: true }));
  expect(await linesOf(harness)).toEqual([]);
  await server.send(...fall(harness, 165_000, { estimated: true, stated: true }));
  expect(await linesOf(harness)).toMatchObject([{ observed: { falls: 1, of: 1, highest: 165_000 } }]);
});

test("a compaction that two sources report counts once", async () => {
  const harness = claude();
  const [turn, compacted] = fall(harness, 166_000, { stated: true });
  await server.send(turn, compacted, { ...compacted, id: `again-${serial}` });
  expect(await linesOf(harness)).toMatchObject([{ observed: { falls: 1, of: 1 } }]);
});

test("the call that compacts is not the level before the fall", async () => {
  const harness = claude();
  const [turn, compacted] = fall(harness, 166_000);
  const call = {
    ...turn,
    id: `call-${serial}`,
    compaction: true,
    model: "small",
    context_window: 50_000,
    usage: { input_tokens: 167_000 },
  };
  await server.send(turn, call, compacted);
  expect(await linesOf(harness)).toMatchObject([{ model: "m", window_tokens: 200_000 }]);
});

test("a compaction without any turn before it belongs to the agent's model", async () => {
  const harness = claude();
  const [turn, compacted] = fall(harness, 166_000, { stated: true });
  await server.send(compacted, { ...turn, at: (turn as { at: number }).at + 5_000 });
  expect(await linesOf(harness)).toMatchObject([{ model: "m", window_tokens: 200_000 }]);
});

test("compactions of more than 30 days ago, and of deleted sessions, are left out", async () => {
  const harness = claude();
  await server.send(...fall(harness, 80_000, { session: "old", ago: 31 * DAY }));
  expect(await linesOf(harness)).toEqual([]);
  await server.send(
    ...fall(harness, 166_000, { session: "kept" }),
    ...fall(harness, 90_000, { session: "gone" }),
  );
  await path.prisma
    .$executeRaw`UPDATE sessions SET deleted_at = now() WHERE name = 'gone' AND harness = ${harness}`;
  expect(await linesOf(harness)).toMatchObject([{ observed: { of: 1, highest: 166_000 } }]);
});

test("compactions from before the harness acknowledged another line do not speak against it", async () => {
  const harness = claude();
  const before = several(harness, [165_000, 166_000, 167_000], { session: "before" });
  const ack = (tokens: number, ago: number) => ({
    id: `ack-${++serial}`,
    type: "policy_ack",
    at: Date.now() - ago,
    harness,
    generation: 1,
    hash: "a".repeat(64),
    status: "applied",
    effective: { thresholds: { ceiling: tokens } },
  });
  await server.send(...before, ack(67_000, 30 * MINUTE));
  expect(await linesOf(harness)).toEqual([]);
  // A session that began before may keep its old line.
  await server.send(...fall(harness, 166_500, { session: "before", ago: 20 * MINUTE }));
  expect(await linesOf(harness)).toEqual([]);
  const after = [160_000, 161_000, 162_000].flatMap((tokens, n) =>
    fall(harness, tokens, { session: "after", ago: 20 * MINUTE - n * 1_000 }),
  );
  await server.send(...after);
  expect(await linesOf(harness)).toMatchObject([
    {
      line: { tokens: 67_000, basis: "acknowledged" },
      observed: { falls: 3, of: 3, highest: 162_000 },
      verdict: "later",
      causes: ["environment", "other_settings", "tool_loop", "old_session"],
    },
  ]);
});

test("the fleet names the own line of each harness, also where a policy is not acknowledged", async () => {
  const harness = claude();
  await server.send(...fall(harness, 100_000, { ago: MINUTE }));
  await server.send({ ...fall("my-bot@1", 100_000, { ago: MINUTE })[0] });
  const { agents } = await readFleet(reader(), { limit: 500 });
  const of = (name: string) => agents.find((agent) => agent.harness === name)?.harness_line;
  expect(of(harness)).toEqual({ tokens: 167_000, basis: "computed" });
  expect(of("my-bot@1")).toBeNull();
});
