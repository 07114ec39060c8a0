import type { DoctorReport } from "@plimsoll/protocol/api";
import { type ExamineOptions, examine } from "../upkeep/doctor/examine.ts";
import { setTestWindows, type TestIngest, testIngest } from "./ingest.ts";
import { until } from "./until.ts";

/** When the histories begin, epoch ms. */
export const HOUR = Date.UTC(2026, 10, 20, 10);
/** Milliseconds, more than any examination of them takes. */
const BUDGET = 60_000;
/** Of the key that the doctor's server has. */
const KEY_ID = "the key";

export interface ExaminedHistories {
  path: TestIngest;
  examined(options?: Partial<ExamineOptions>): Promise<DoctorReport>;
  /** The failed checks with their messages, one per line; empty if every check passes. */
  faults(): Promise<string>;
}

/**
 * A database with histories, and the doctor to examine it.
 * @param agents besides three with long histories: how many have one turn each
 */
export async function examinedHistories(agents: number): Promise<ExaminedHistories> {
  const path = await testIngest();
  await setTestWindows(path.prisma);
  await sendHistories(path, agents);

  function examined(options: Partial<ExamineOptions> = {}) {
    const reader = { projectId: 1 };
    const clock = () => performance.now();
    return examine(reader, {
      databaseUrl: path.databaseUrl,
      clock,
      budget: BUDGET,
      keyId: KEY_ID,
      ...options,
    });
  }

  return {
    path,
    examined,
    async faults() {
      const { checks } = await examined();
      return checks
        .filter(({ ok }) => !ok)
        .map(({ name, message }) => `${name}: ${message}`)
        .join("\n");
    },
  };
}

/** Two sessions of three agents: falls, marks, reports, ends; a third of it late, repeated or out of order. */
async function sendHistories(path: TestIngest, agents: number): Promise<void> {
  const server = await path.start({ segmentTurns: 3 });
  const events: { id: string; at: number; [field: string]: unknown }[] = [];
  for (const [session, agent] of [
    ["s1", "main"],
    ["s1", "scout"],
    ["s2", "main"],
  ]) {
    const base = { harness: "h@one", session, agent, ...(agent === "scout" && { parent_agent: "main" }) };
    const at = (n: number) => HOUR + n * 400_000 + (agent === "scout" ? 7_000 : 0);
    for (let n = 0; n < 40; n++) {
      const input_tokens = 600 + (n % 9) * 900 + n;
      events.push({
        ...base,
        id: `turn-${n}`,
        type: "turn",
        at: at(n),
        model: n % 10 === 9 ? "model-b" : "model-a",
        usage: { input_tokens, cache_read_tokens: n * 10, output_tokens: n },
        cost_usd: n / 1_000,
        outcome: { calls: 1 + (n % 3), failed: n % 2, repeated: n % 4 === 3 ? 1 : 0 },
        ...(n === 13 && { purpose: "compaction" }),
        ...(n === 25 && { context_window: 8_000 }),
      });
    }
    events.push({ ...base, id: "masked", type: "masked", at: at(8) + 1, observations: 2 });
    events.push({ ...base, id: "mask-2", type: "masked", at: at(26) + 1, observations: 1 });
    events.push({
      ...base,
      id: "restarted",
      type: "restarted",
      at: at(17) + 1,
      number: 1,
      previous_turns: 18,
      carryover_turns: 0,
      reason: "full",
    });
    events.push({
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: at(1) + 1,
      threshold: "warning",
      direction: "up",
      threshold_tokens: 1_500,
      context_tokens: 1_501,
    });
  }
  for (let n = 0; n < agents; n++) {
    const turn = { type: "turn", at: HOUR + n, model: "model-a", usage: { input_tokens: 100 * n } };
    events.push({ ...turn, id: "only", harness: "h@one", session: "many", agent: `agent-${n}` });
  }
  const session = { harness: "h@one", session: "s2", agent: "main", type: "session" };
  events.push({ ...session, id: "begin", at: HOUR, status: "started", title: "A title", kind: "loop" });
  events.push({ ...session, id: "end", at: HOUR + 50 * 400_000, status: "ended", reason: "done" });
  events.push({ id: "hello", at: HOUR, harness: "h@one", type: "harness", status: "hello", name: "h" });
  const late = events.filter((_, index) => index % 7 === 3);
  const repeated = events.filter((_, index) => index % 5 === 1);
  const inTime = events.filter((event) => !late.includes(event));
  for (let start = 0; start < inTime.length; start += 11)
    await server.send(...inTime.slice(start, start + 11));
  await server.send(...repeated, ...late.reverse());
  // They were counted a moment ago, and would be again in ten minutes.
  await until(async () => {
    await path.prisma.$executeRaw`UPDATE agent_outcomes SET counted_at = counted_at - interval '10 minutes'`;
    return (await path.prisma.agent.count({ where: { uncounted: true } })) === 0;
  });
  await server.close();
}
