import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { createKeys, type Keys } from "./keys.ts";
import { createMachineLogins, type MachineLogins } from "./machine-logins.ts";
import { createThrottle } from "./throttle.ts";

const MINUTE = 60_000;
const log = pino({ level: "silent" });
const PROJECT = { id: 1, name: "default" };

let database: TestDatabase;
let keys: Keys;
let time: number;
let logins: MachineLogins;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.close());
beforeEach(async () => {
  time = Date.parse("2026-11-27T10:00:00Z");
  await database.prisma.machineLogin.deleteMany();
  const now = () => time;
  keys = createKeys({ prisma: database.prisma, log, now });
  logins = createMachineLogins({
    prisma: database.prisma,
    keys,
    throttle: createThrottle("codes of machines", log, now),
    now,
  });
});

const decide = (code: string, approve: boolean, client = "10.0.0.1") =>
  logins.decide(code, client, { approve, actor: LOCAL, project: PROJECT });

describe("a machine that asks for a key", () => {
  it("gets one for itself and one for its harnesses, once a person agreed", async () => {
    const { deviceCode, userCode } = await logins.ask("laptop", "10.0.0.9");
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(await logins.poll(deviceCode)).toEqual({ status: "pending", interval: 5 });
    expect(await logins.look(userCode.toLowerCase().replace("-", " "), "10.0.0.1")).toEqual({
      user_code: userCode,
      machine: "laptop",
      address: "10.0.0.9",
      asked_at: "2026-11-27T10:00:00.000Z",
      expires_at: "2026-11-27T10:10:00.000Z",
    });
    await decide(userCode, true);
    const answer = await logins.poll(deviceCode);
    if (answer.status !== "approved") throw new Error(answer.status);
    expect(answer.project).toBe("default");
    expect(await keys.verify(answer.key.secret)).toMatchObject({
      keyName: "laptop",
      scopes: new Set(["ingest", "read", "policy:read", "policy:ack"]),
    });
    expect(await keys.verify(answer.ingest_key.secret)).toMatchObject({
      keyName: "laptop (harnesses)",
      scopes: new Set(["ingest"]),
    });
    expect(await logins.poll(deviceCode)).toEqual({ status: "expired" });
    await expect(logins.look(userCode, "10.0.0.1")).rejects.toThrow(/No machine waits/);
    const [entry] = await database.prisma.auditEntry.findMany({ where: { action: "machine_approved" } });
    expect(entry).toMatchObject({ target: "laptop", detail: "from 10.0.0.9", actor: "local" });
  });

  it("gets none when a person refuses, and hears it once", async () => {
    const { deviceCode, userCode } = await logins.ask("laptop", "10.0.0.9");
    await decide(userCode, false);
    expect(await logins.poll(deviceCode)).toEqual({ status: "denied" });
    expect(await logins.poll(deviceCode)).toEqual({ status: "expired" });
    expect(await database.prisma.auditEntry.count({ where: { action: "machine_denied" } })).toBe(1);
  });

  it("gets one pair, however many ask with its code at once", async () => {
    const { deviceCode, userCode } = await logins.ask("raced", "10.0.0.9");
    await decide(userCode, true);
    const answers = await Promise.all(Array.from({ length: 20 }, () => logins.poll(deviceCode)));
    expect(answers.filter(({ status }) => status === "approved")).toHaveLength(1);
    const made = await database.prisma.apiKey.count({ where: { name: { startsWith: "raced" } } });
    expect(made).toBe(2);
  });

  it("is decided once, however many decide at once", async () => {
    const { deviceCode, userCode } = await logins.ask("torn", "10.0.0.9");
    const decisions = await Promise.allSettled([decide(userCode, false), decide(userCode, true)]);
    expect(decisions.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const expected = decisions[0]!.status === "fulfilled" ? "denied" : "approved";
    expect(await logins.poll(deviceCode)).toMatchObject({ status: expected });
    // Keys that were made for it have the name of the machine too.
    const where = { target: "torn", action: { in: ["machine_approved", "machine_denied"] } };
    expect(await database.prisma.auditEntry.count({ where })).toBe(1);
  });

  it("may ask again after the database failed, and leaves no key behind", async () => {
    const create: Keys["create"] = async (projectId, input, actor) => {
      if (failures-- > 0 && input.name.endsWith("(harnesses)")) throw new Error("the database is away");
      return keys.create(projectId, input, actor);
    };
    let failures = 2;
    logins = createMachineLogins({
      prisma: database.prisma,
      keys: { create, revoke: keys.revoke },
      throttle: createThrottle("codes", log, () => time),
      now: () => time,
    });
    const { deviceCode, userCode } = await logins.ask("unlucky", "10.0.0.9");
    await decide(userCode, true);
    await expect(logins.poll(deviceCode)).rejects.toThrow("away");
    expect(await logins.poll(deviceCode)).toMatchObject({ status: "approved" });
    const rows = await database.prisma.apiKey.findMany({ where: { name: { startsWith: "unlucky" } } });
    expect(rows.filter(({ revokedAt }) => revokedAt === null)).toHaveLength(2);
    expect(rows).toHaveLength(3);
  });

  it("has ten minutes, also between the person's yes and the key", async () => {
    const first = await logins.ask("late", "10.0.0.9");
    const second = await logins.ask("later", "10.0.0.9");
    time += 9 * MINUTE;
    await decide(second.userCode, true);
    time += MINUTE;
    expect(await logins.poll(first.deviceCode)).toEqual({ status: "expired" });
    expect(await logins.poll(second.deviceCode)).toEqual({ status: "expired" });
    await expect(decide(first.userCode, true)).rejects.toMatchObject({ code: "not_found" });
  });

  it("gets keys of the person's roles at that time, and none of a person who was removed", async () => {
    const { prisma } = database;
    const at = new Date(time);
    const person = (id: string, everywhere: string) =>
      prisma.person.create({ data: { id, issuer: "x", subject: id, name: id, createdAt: at, everywhere } });
    const [ada, bo] = [randomUUID(), randomUUID()];
    await person(ada, "admin");
    await person(bo, "admin");
    const machines = [await logins.ask("of ada", "10.0.0.9"), await logins.ask("of bo", "10.0.0.9")];
    for (const [n, { userCode }] of machines.entries()) {
      const of = { approve: true, actor: LOCAL, project: PROJECT, personId: [ada, bo][n] };
      await logins.decide(userCode, "10.0.0.1", of);
    }
    await prisma.person.update({ where: { id: ada }, data: { everywhere: null } });
    await prisma.person.delete({ where: { id: bo } });
    await expect(logins.poll(machines[0]!.deviceCode)).rejects.toMatchObject({ code: "forbidden_role" });
    expect(await logins.poll(machines[1]!.deviceCode)).toEqual({ status: "expired" });
    await prisma.person.update({ where: { id: ada }, data: { everywhere: "member" } });
    expect(await logins.poll(machines[0]!.deviceCode)).toMatchObject({ status: "approved" });
    expect(await prisma.apiKey.count({ where: { personId: ada } })).toBe(2);
  });

  it("has to slow down if it asks too often", async () => {
    const { deviceCode } = await logins.ask("eager", "10.0.0.9");
    await logins.poll(deviceCode);
    time += 1_000;
    expect(await logins.poll(deviceCode)).toEqual({ status: "slow_down", interval: 10 });
    time += 10_000;
    expect(await logins.poll(deviceCode)).toEqual({ status: "pending", interval: 10 });
  });
});

describe("limits", () => {
  it("one address may have 20 codes, all of them 2,000, and codes that ended give their places back", async () => {
    for (let at = 0; at < 20; at++) await logins.ask("m", "10.0.0.9");
    await expect(logins.ask("m", "10.0.0.9")).rejects.toThrow(/Too many machines wait/);
    const [one] = await database.prisma.machineLogin.findMany({ take: 1 });
    const row = { ...one!, approval: undefined, address: "elsewhere" };
    const bytes = (text: string) => new Uint8Array(Buffer.from(text));
    await database.prisma.machineLogin.createMany({
      data: Array.from({ length: 1_980 }, (_, n) => ({
        ...row,
        deviceHash: bytes(`d${n}`),
        codeHash: bytes(`c${n}`),
      })),
    });
    await expect(logins.ask("m", "10.0.2.1")).rejects.toThrow(/Too many machines wait/);
    time += 10 * MINUTE;
    await logins.ask("m", "10.0.0.9");
    expect(await database.prisma.machineLogin.count()).toBe(1);
  });

  it("a client that guesses codes is refused unread, also with a right one; others are not", async () => {
    const { userCode } = await logins.ask("m", "10.0.0.9");
    const guess = () =>
      logins.look("BBBB-BBBB", "10.0.0.66").catch((error: unknown) => (error as { code: string }).code);
    const codes: unknown[] = [];
    for (let at = 0; at < 31; at++) codes.push(await guess());
    expect(codes.slice(0, 30)).toEqual(Array(30).fill("not_found"));
    expect(codes[30]).toBe("quota_exceeded");
    await expect(logins.look(userCode, "10.0.0.66")).rejects.toThrow(/Too many wrong codes/);
    expect((await logins.look(userCode, "10.0.0.1")).machine).toBe("m");
  });

  it.each(["", "-", "0000-0000", "BCDF", "x".repeat(40)])("%j is no code", async (typed) => {
    await expect(logins.look(typed, "10.0.0.1")).rejects.toThrow(/No machine waits/);
  });
});
