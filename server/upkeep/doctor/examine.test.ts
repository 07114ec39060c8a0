import type { DoctorCheck } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ExaminedHistories, examinedHistories, HOUR } from "../../testing/examined-histories.ts";
import type { TestIngest } from "../../testing/ingest.ts";
import { DoctorConnection } from "./connection.ts";

/** How often each of two servers takes events while they are examined. */
const SENDS = 60;

let path: TestIngest;
let examined: ExaminedHistories["examined"];
let faults: ExaminedHistories["faults"];

beforeAll(async () => {
  ({ path, examined, faults } = await examinedHistories(60));
});
afterAll(() => path?.close());

describe("a healthy database", () => {
  it("passes every check, with late, repeated and out-of-order events", async () => {
    expect(await faults()).toBe("");
    const { checks } = await examined();
    expect(checks.every(({ complete }) => complete)).toBe(true);
    expect(of(checks, "agents match")).toMatchObject({ examined: 63, of: 63 });
    expect(of(checks, "agents match").message).toBe("63 of 63 agents computed again, no difference.");
    expect(of(checks, "sessions are")).toMatchObject({ examined: 3, of: 3 });
    expect(of(checks, "acknowledged turns").message).toMatch(/^180 turns acknowledged/);
  });

  it("has something in every table that is compared", async () => {
    for (const table of ["segments", "windows", "crossings", "boundaries", "boundary_rollups"]) {
      const [row] = await path.prisma.$queryRawUnsafe<{ count: bigint }[]>(`SELECT count(*) FROM ${table}`);
      expect([table, Number(row!.count)]).not.toEqual([table, 0]);
    }
    expect(await path.prisma.boundary.count({ where: { origin: 1 } })).toBeGreaterThan(0);
    expect(await path.prisma.crossing.count({ where: { origin: 2 } })).toBeGreaterThan(0);
  });

  it("raises no alarm while two servers write", async () => {
    const servers = await Promise.all([path.start({ segmentTurns: 2 }), path.start({ segmentTurns: 2 })]);
    let writing = true;
    const load = Promise.all(
      servers.map(async (server, sender) => {
        for (let n = 0; n < SENDS; n++) {
          const session = `busy-${n % 3}`;
          const at = HOUR + 1e6 + (n % 11) * 50_000 + sender;
          const turn = {
            harness: "h@two",
            session,
            type: "turn",
            model: "model-a",
            at,
            id: `${sender}-${n}`,
          };
          const high = { ...turn, usage: { input_tokens: 1_000 * (n % 9) }, estimated: n % 4 === 0 };
          await server.send(high, { ...high, estimated: false, usage: { input_tokens: 10 * (n % 90) } });
        }
      }),
    ).finally(() => {
      writing = false;
    });
    try {
      while (writing) expect(await faults()).toBe("");
    } finally {
      await load;
      await Promise.all(servers.map((server) => server.close()));
    }
    expect(await faults()).toBe("");
    expect(await path.prisma.rejectedEvent.findMany({ select: { error: true } })).toEqual([]);
  });
});

describe("a history cut between a crossing and its report", () => {
  it("raises no alarm", async () => {
    const server = await path.start({ segmentTurns: 2 });
    const base = { harness: "h@cut", session: "cut", model: "model-a" };
    const turns = [1_000, 9_500, 9_600, 9_700, 9_800].map((input_tokens, n) => ({
      ...base,
      id: `turn-${n}`,
      type: "turn",
      at: HOUR + n * 1_000,
      usage: { input_tokens },
    }));
    await server.send(...turns);
    await server.send({
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: HOUR + 1_001,
      threshold: "warning",
      direction: "up",
      threshold_tokens: 7_500,
      context_tokens: 9_500,
    });
    await server.close();
    expect(await faults()).toBe("");
  });
});

describe("an examination", () => {
  /** Every look at the clock costs some milliseconds. */
  const slowClock = (ms: number) => {
    let now = 0;
    return { clock: () => (now += ms), now: () => now };
  };

  it("keeps to its time and says what it covered", async () => {
    const { clock, now } = slowClock(10);
    const { ok, checks, next } = await examined({ clock, budget: 8_000 });
    expect(now()).toBeLessThan(10_000);
    expect({ ok, next }).toEqual({ ok: true, next: null });
    const agents = of(checks, "agents match");
    expect(agents.complete).toBe(false);
    expect(agents.examined).toBeLessThan(agents.of!);
    expect(agents.message).toMatch(/^\d+ of \d+ agents computed again, no difference\.$/);
  });

  it("has no fault to report if there is no time at all", async () => {
    const { checks } = await examined({ budget: 0 });
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(of(checks, "acknowledged turns").message).toBe("Not finished in the time for this check.");
    expect(of(checks, "agents match")).toMatchObject({ complete: false, examined: 0, of: null });
  });

  it("answers in parts that add up to the whole report", async () => {
    const whole = await examined();
    const checks: DoctorCheck[] = [];
    const progress = new Set<string | undefined>();
    let cursor: string | undefined;
    let parts = 0;
    do {
      const { clock } = slowClock(5);
      const part = await examined({ clock, answerWithin: 1, ...(cursor && { cursor }) });
      checks.push(...part.checks);
      progress.add(part.progress?.message);
      cursor = part.next ?? undefined;
      parts += 1;
    } while (cursor !== undefined);
    expect(parts).toBeGreaterThan(whole.checks.length);
    expect(checks).toEqual(whole.checks);
    expect([...progress].some((message) => /^[1-9]\d* of \d+ /.test(message ?? ""))).toBe(true);
  });

  it("names the project for each table of each statement", async () => {
    const texts = new Set<string>();
    const atOneMoment = DoctorConnection.prototype.atOneMoment;
    const spy = vi.spyOn(DoctorConnection.prototype, "atOneMoment").mockImplementation(function (
      this: DoctorConnection,
      deadline,
      run,
    ) {
      return atOneMoment.call(this, deadline, (sql) =>
        run({
          query: (text, ...values) => {
            texts.add(text);
            return sql.query(text, ...values);
          },
        }),
      ) as never;
    });
    await examined();
    spy.mockRestore();
    expect(texts.size).toBeGreaterThan(25);
    const tables = /\b(?:FROM|JOIN) ([a-z_]+) (?:AS )?([a-z]+)\b/g;
    for (const text of texts) {
      const uses = [...text.matchAll(tables)].filter(
        ([, table]) => table !== "unnest" && !text.includes(`WITH ${table} AS`),
      );
      for (const [use, table, alias] of uses) {
        const named =
          table === "projects"
            ? [`${alias}.id = $1`]
            : [`${alias}.project_id = $1`, `${table} WHERE project_id = $1`];
        expect(
          named.some((condition) => text.includes(condition)),
          `${use} in ${text}`,
        ).toBe(true);
      }
    }
  });

  it("rejects a cursor that no report gave", async () => {
    await expect(examined({ cursor: "nonsense" })).rejects.toThrow(
      "This cursor is not from a doctor report.",
    );
  });

  it("waits for the projector to consider a change of the policy", async () => {
    const { prisma } = path;
    const body = { settings: { thresholds: { warning: 0.2 } }, layers: [] };
    const row = { projectId: 1, generation: 1, createdAt: new Date() };
    await prisma.policyVersion.create({ data: { ...row, hash: "h", body, reason: "", actor: "server" } });
    await prisma.policyStep.create({
      data: { ...row, revision: 1, at: new Date(0), share: 1, harnesses: [] },
    });
    const { checks } = await examined();
    expect(of(checks, "agents match")).toMatchObject({ ok: true, examined: 0 });
    expect(of(checks, "agents match").message).toContain(`${await prisma.agent.count()} wait for upkeep`);
    await prisma.projector.updateMany({ data: { policyRevision: 1 } });
    expect(of((await examined()).checks, "agents match").ok).toBe(false);
    await prisma.projector.updateMany({ data: { policyRevision: 0 } });
    await prisma.policyStep.deleteMany({ where: { revision: 1 } });
    await prisma.policyVersion.deleteMany({ where: { generation: 1 } });
    expect(await faults()).toBe("");
  });

  it("does not wait for an agent that upkeep could not fold", async () => {
    const { prisma } = path;
    const agent = await prisma.agent.findFirstOrThrow();
    const where = { projectId_id: { projectId: 1, id: agent.id } };
    await prisma.refold.create({ data: { projectId: 1, agentId: agent.id, reason: "failed" } });
    await prisma.agent.update({ where, data: { currentTokens: 7 } });
    const { checks } = await examined();
    expect(of(checks, "upkeep").message).toBe("Nothing is left to do.");
    expect(of(checks, "agents match").message).toContain("1 differ");
    await prisma.agent.update({ where, data: { currentTokens: agent.currentTokens } });
    await prisma.refold.deleteMany({});
  });

  it("fails for events set aside, and tells of other work that is left as notes", async () => {
    const { prisma } = path;
    const agent = await prisma.agent.findFirstOrThrow();
    await prisma.rejectedEvent.create({
      data: { projectId: 1, id: agent.id, receivedAt: new Date(), error: "value too long", event: {} },
    });
    await prisma.journal.create({
      data: { projectId: 1, id: agent.id, events: 1_234, body: Buffer.from("{}") },
    });
    await prisma.refold.create({ data: { projectId: 1, agentId: agent.id, reason: "window_size" } });
    await prisma.rollup.updateMany({ where: { grain: 1, harness: "" }, data: { stale: true } });
    await prisma.agent.update({
      where: { projectId_id: { projectId: 1, id: agent.id } },
      data: { currentTokens: 7 },
    });
    const { checks } = await examined();
    expect(of(checks, "journal").message).toMatch(/^1,234 events wait to be projected, the oldest for \d/);
    const setAside = of(checks, "events set aside");
    expect(setAside).toMatchObject({ ok: false, note: false });
    expect(setAside.message).toMatch(/^1 event could not be projected and is kept .*: value too long\.$/);
    expect(of(checks, "upkeep").message).toMatch(
      /^Left to do: 1 agent to compute again, \d+ peaks? to read again\.$/,
    );
    // An agent that waits to be folded again may differ until then; its session may not.
    const [waiting, compared] = [of(checks, "agents match"), await prisma.agent.count()];
    expect(waiting).toMatchObject({ ok: true, complete: true, examined: compared - 1 });
    expect(waiting.message).toMatch(
      /^\d+ of \d+ agents computed again, no difference; 1 waits for upkeep\.$/,
    );
    expect(checks.filter(({ note, ok }) => note && !ok)).toEqual([]);
    await prisma.agent.update({
      where: { projectId_id: { projectId: 1, id: agent.id } },
      data: { currentTokens: agent.currentTokens },
    });
    await prisma.rollup.updateMany({ data: { stale: false } });
    for (const table of ["rejected_events", "journal", "refolds"])
      await prisma.$executeRawUnsafe(`TRUNCATE ${table}`);
  });
});

function of(checks: readonly DoctorCheck[], name: string): DoctorCheck {
  return checks.find((check) => check.name.startsWith(name))!;
}
