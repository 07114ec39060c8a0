import type { PlimsollEvent } from "@plimsoll/protocol/events";
import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol/policy";
import { beforeEach, describe, expect, it } from "vitest";
import { parsedEvent } from "../../testing/events.ts";
import { ProjectMemory } from "../memory/memory.ts";
import { groupEvents } from "../plan/group-events.ts";
import { type ChunkPlan, planChunk } from "./plan-chunk.ts";
import { remember } from "./write-chunk.ts";

const SETTINGS = { thresholds: DEFAULT_THRESHOLDS, segmentTurns: 256, refoldEvents: 4_096, namesPerDay: 500 };

const turn = (agent: string, n: number) =>
  parsedEvent({
    id: `${agent}-${n}`,
    type: "turn",
    agent,
    at: 1_000 * (n + 1),
    model: "m",
    usage: { input_tokens: 100, output_tokens: 1 },
  });

/** The tables that are read, in order; every read finds nothing. */
let reads: string[];
let memory: ProjectMemory;
const sql = {
  async query<Row>(text: string): Promise<Row[]> {
    reads.push(/\b(agents|turn_blocks|segments|sessions)\b/.exec(text)?.[1] ?? text);
    return [];
  },
};

async function plan(events: PlimsollEvent[]): Promise<ChunkPlan> {
  const arrivals = groupEvents(1, [{ events, request: 0, receivedAt: 9_000 }]);
  const planned = await planChunk(sql, memory, arrivals, SETTINGS);
  remember(memory, planned);
  return planned;
}

const turnsOf = ({ agents }: ChunkPlan) =>
  Object.fromEntries(agents.map(({ after }) => [after.row.name, after.row.turns]));

beforeEach(async () => {
  reads = [];
  memory = await ProjectMemory.open(sql, 1);
  await plan([turn("a", 0), turn("b", 0)]);
  reads = [];
});

describe("the plan of a chunk", () => {
  it("reads nothing for agents that it remembers", async () => {
    expect(turnsOf(await plan([turn("a", 1), turn("b", 1), turn("a", 2)]))).toEqual({ a: 3, b: 2 });
    expect(reads).toEqual([]);
  });

  it("has the agents that need no read first, in whatever order they arrived", async () => {
    const planned = await plan([turn("c", 0), turn("b", 1), turn("d", 0), turn("a", 1)]);
    expect(Object.keys(turnsOf(planned))).toEqual(["b", "a", "c", "d"]);
    expect(reads).toEqual(["agents"]);
  });

  it("looks a repeated turn up", async () => {
    await plan([turn("a", 0), turn("b", 1)]);
    expect(reads[0]).toBe("turn_blocks");
  });

  const MANY = 20_000;
  const masked = (n: number) =>
    parsedEvent({ id: `m${n}`, type: "masked", agent: "a", at: n, observations: 1 });
  it.each<[string, (n: number) => PlimsollEvent]>([
    ["turns", (n) => turn("a", n)],
    ["marks", masked],
    ["marks at one time", (n) => ({ ...masked(n), at: masked(0).at })],
  ])("lets other work in between the %s of one agent", async (_, event) => {
    const events = Array.from({ length: MANY }, (_, n) => event(n + 1));
    const arrivals = groupEvents(1, [{ events, request: 0, receivedAt: 9_000 }]);
    memory = await ProjectMemory.open(sql, 1);
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
    };
    await planChunk(sql, memory, arrivals, SETTINGS, pause);
    expect(pauses).toBeGreaterThan(2);
  });
});
