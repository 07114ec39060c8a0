import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readMachines } from "./machines.ts";

const MINUTE = 60_000;
let path: TestIngest;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
});
beforeEach(async () => {
  await emptyTables(path.prisma);
  server = await path.start();
  return () => server.close();
});
afterAll(() => path?.close());

/** What is said of each machine, so many minutes from now. */
async function stoppedAfter(minutes: number): Promise<Record<string, number | null>> {
  const now = Date.now() + minutes * MINUTE;
  const reader = {
    prisma: path.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now,
    lag: { events: 0, ms: 0 },
  };
  const { machines } = await readMachines(reader);
  return Object.fromEntries(machines.map(({ name, stopped }) => [name, stopped?.sessions ?? null]));
}

let serial = 0;
const turn = (session: string, machine: string | undefined, more: object = {}) => ({
  ...{ type: "turn", id: `t${++serial}`, at: Date.now(), harness: "h@one", session, model: "m" },
  usage: { input_tokens: 100 },
  ...(machine !== undefined && { machine }),
  ...more,
});
const ended = (session: string, machine: string) => ({
  ...{ type: "session", id: "end", at: Date.now() + 1, harness: "h@one", session, status: "ended", machine },
});

describe("a machine stopped reporting", () => {
  it("after ten minutes without an event, for a day, if sessions on it were at work", async () => {
    await server.send(
      turn("a", "laptop"),
      turn("b", "laptop", { stop_reason: "tool_use" }),
      turn("c", "desktop"),
    );
    expect(await stoppedAfter(9)).toEqual({ laptop: null, desktop: null });
    expect(await stoppedAfter(11)).toEqual({ laptop: 2, desktop: 1 });
    expect(await stoppedAfter(23 * 60)).toEqual({ laptop: 2, desktop: 1 });
    expect(await stoppedAfter(25 * 60)).toEqual({ laptop: null, desktop: null });
  });

  it.each([
    ["its sessions ended", () => [turn("a", "laptop"), ended("a", "laptop")]],
    ["their agents wait for a person", () => [turn("a", "laptop", { stop_reason: "end_turn" })]],
    ["what it sent is history", () => [turn("a", "laptop", { at: Date.now() - 40 * MINUTE })]],
    [
      "they went on at another machine",
      () => [turn("a", "laptop", { at: Date.now() - MINUTE }), turn("a", "desktop")],
    ],
  ])("not if %s", async (_, events) => {
    await server.send(...events());
    expect((await stoppedAfter(11)).laptop).toBeNull();
  });

  it("not any more once it reports again, of whatever session", async () => {
    await server.send(turn("a", "laptop"));
    await path.prisma.$executeRawUnsafe(
      `UPDATE machines SET last_received_at = (last_received_at AT TIME ZONE 'UTC' - interval '30 minutes') AT TIME ZONE 'UTC'`,
    );
    await path.prisma.$executeRawUnsafe(`UPDATE sessions SET version = version + 1,
      last_received_at = (last_received_at AT TIME ZONE 'UTC' - interval '30 minutes') AT TIME ZONE 'UTC',
      last_at = (last_at AT TIME ZONE 'UTC' - interval '30 minutes') AT TIME ZONE 'UTC'`);
    expect(await stoppedAfter(0)).toEqual({ laptop: 1 });
    await server.send(turn("b", "laptop"));
    expect(await stoppedAfter(0)).toEqual({ laptop: null });
  });

  it("is said of no session whose machine is unknown", async () => {
    await server.send(turn("a", undefined));
    expect(await stoppedAfter(11)).toEqual({});
  });
});
