import { describe, expect, it } from "vitest";
import { testDatabase } from "../testing/database.ts";
import { startHttpStack } from "../testing/http-stack.ts";
import { createReadiness, type ReadinessSource } from "./health.ts";

const NONE = { events: 0, more: false, projects: [] };

function source(changed: Partial<ReadinessSource> = {}): ReadinessSource {
  return {
    probeWrite: async () => undefined,
    writeFailure: () => undefined,
    queueState: () => ({ fullProjects: [], blocked: false }),
    setAside: async () => NONE,
    contested: async () => [],
    stopping: () => false,
    ...changed,
  };
}

describe("readiness", () => {
  it("is given when nothing is wrong", async () => {
    expect((await createReadiness(source())()).reasons).toEqual([]);
  });

  it("names every reason", async () => {
    const readiness = createReadiness(
      source({
        probeWrite: async () => "disk_full",
        writeFailure: () => "lock_timeout",
        queueState: () => ({ fullProjects: [1], blocked: true }),
        stopping: () => true,
      }),
    );
    expect((await readiness()).reasons).toEqual([
      "The server is stopping.",
      "The event queue of project 1 is full.",
      "The disk is full, so the database cannot store anything.",
      "The database waited too long for another transaction.",
    ]);
  });

  it("is given while one of several projects is full, and names that project", async () => {
    const queueState = () => ({ fullProjects: [2], blocked: false });
    expect(await createReadiness(source({ queueState }))()).toEqual({
      reasons: [],
      faults: [],
      fullProjects: [2],
    });
    const server = await startHttpStack({ queueState });
    try {
      const { status, json } = await server.send("/readyz");
      expect({ status, json }).toEqual({ status: 200, json: { status: "ready", full_projects: [2] } });
    } finally {
      await server.stop();
    }
  });

  it("is refused if every project in use is full, and names all of them", async () => {
    const queueState = () => ({ fullProjects: [1, 2], blocked: true });
    expect(await createReadiness(source({ queueState }))()).toEqual({
      reasons: ["The event queues of all projects in use are full: 1, 2."],
      faults: [],
      fullProjects: [1, 2],
    });
  });

  it.each([
    [
      { events: 1, more: false, projects: [4] },
      "1 event of project 4 could not be projected and is set aside. Run npx plimsoll doctor.",
    ],
    [
      { events: 1_000, more: true, projects: [1, 2] },
      "At least 1,000 events of projects 1, 2 could not be projected and are set aside. Run npx plimsoll doctor.",
    ],
  ])("says that events are set aside, and is still given", async (setAside, fault) => {
    const report = await createReadiness(source({ setAside: async () => setAside }))();
    expect(report).toEqual({ reasons: [], faults: [fault], fullProjects: [] });
  });

  it("answers 200 and names the project of a stored event that is set aside", async () => {
    const database = await testDatabase();
    const id = "0199aaaa-1111-7222-8333-444455556666";
    const row = { projectId: 1, id, receivedAt: new Date(0), error: "refused", event: {} };
    await database.prisma.rejectedEvent.create({ data: row });
    const server = await startHttpStack({ database });
    try {
      const { status, json } = await server.send("/readyz");
      const reason = "1 event of project 1 could not be projected and is set aside. Run npx plimsoll doctor.";
      expect({ status, json }).toEqual({ status: 200, json: { status: "degraded", reasons: [reason] } });
    } finally {
      await server.stop();
      await database.close();
    }
  });

  it("says that servers take work from each other, and is still given", async () => {
    const contested = async () => [{ projectId: 3, work: "projection" as const, agoMs: 12_400 }];
    expect(await createReadiness(source({ contested }))()).toMatchObject({
      reasons: [],
      faults: [
        "Servers have taken the projection of project 3 from each other, the last time 12 s ago. Check whether a server is restarted again and again, or lacks processor time.",
      ],
    });
  });

  it("says that a part of the database does not answer, and repeats no reason for it", async () => {
    const setAside = () => Promise.reject(new Error("connection to the remote node failed"));
    const faults = ["Part of the database does not answer."];
    expect(await createReadiness(source({ setAside }))()).toMatchObject({ reasons: [], faults });
    const probeWrite = async () => "connection" as const;
    expect((await createReadiness(source({ setAside, probeWrite }))()).faults).toEqual([]);
  });

  it("names one reason once", async () => {
    const both = { probeWrite: async () => "read_only" as const, writeFailure: () => "read_only" as const };
    expect((await createReadiness(source(both))()).reasons).toEqual([
      "The database is read-only, so it cannot store anything.",
    ]);
  });

  it("probes the database once a second at most, and sees it come back", async () => {
    let time = 0;
    let probes = 0;
    let up = false;
    const readiness = createReadiness(
      source({
        async probeWrite() {
          probes++;
          return up ? undefined : "connection";
        },
      }),
      () => time,
    );
    await Promise.all(Array.from({ length: 20 }, () => readiness()));
    expect(probes).toBe(1);
    up = true;
    time = 999;
    expect((await readiness()).reasons).toEqual(["The database cannot be reached."]);
    time = 1_000;
    expect((await readiness()).reasons).toEqual([]);
    expect(probes).toBe(2);
  });

  it("waits 2 s for a database that never answers, and does not probe it again meanwhile", async () => {
    let time = 0;
    let probes = 0;
    let answer = (_: undefined) => {};
    const readiness = createReadiness(
      source({
        probeWrite: () => {
          probes++;
          return new Promise((resolve) => {
            answer = resolve;
          });
        },
      }),
      () => time,
    );
    expect((await readiness()).reasons).toEqual(["The database took too long to answer."]);
    time = 5_000;
    expect((await readiness()).reasons).toEqual(["The database took too long to answer."]);
    expect(probes).toBe(1);
    answer(undefined);
    await new Promise(setImmediate);
    time = 10_000;
    const next = readiness();
    answer(undefined);
    expect((await next).reasons).toEqual([]);
    expect(probes).toBe(2);
  });

  it("counts a probe that fails unexpectedly as a lost connection", async () => {
    const readiness = createReadiness(source({ probeWrite: () => Promise.reject(new Error("boom")) }));
    expect((await readiness()).reasons).toEqual(["The database cannot be reached."]);
  });

  it("is asked without a key", async () => {
    let blocked = false;
    const server = await startHttpStack({
      queueState: () => ({ fullProjects: blocked ? [1] : [], blocked }),
    });
    try {
      expect(await server.send("/healthz")).toMatchObject({
        status: 200,
        json: { status: "ok", version: "0.0.0" },
      });
      const ready = await server.send("/readyz");
      expect(ready).toMatchObject({ status: 200 });
      expect(ready.json).toEqual({ status: "ready" });
      blocked = true;
      expect(await server.send("/readyz")).toMatchObject({
        status: 503,
        headers: { "retry-after": "1" },
        json: {
          error: {
            code: "overloaded",
            details: { reasons: ["The event queue of project 1 is full."], full_projects: [1] },
          },
        },
      });
      expect((await server.send("/healthz")).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});
