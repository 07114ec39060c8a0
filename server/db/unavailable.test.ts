import { describe, expect, it } from "vitest";
import { testDatabase } from "../testing/database.ts";
import { isConflict, isUnavailable } from "./unavailable.ts";

const failure = (facts: object) => Object.assign(new Error("Raw query failed."), facts);

describe("isUnavailable", () => {
  it.each([
    failure({ code: "P2010", meta: { code: "57P01" } }),
    failure({ code: "P2024" }),
    failure({ cause: failure({ code: "EPIPE" }) }),
    new Error("write EPIPE"),
    new Error("connect ENOENT /somewhere/.s.PGSQL.5432", { cause: failure({ code: "ENOENT" }) }),
    new Error("Client has encountered a connection error and is not queryable"),
    failure({ code: "53300" }),
  ])("takes %s for a database that is away", (error) => {
    expect(isUnavailable(error)).toBe(true);
    expect(isConflict(error)).toBe(false);
  });

  it("takes a deadlock for one, and for a conflict", () => {
    const error = failure({ code: "P2010", meta: { code: "40P01" } });
    expect([isUnavailable(error), isConflict(error)]).toEqual([true, true]);
  });

  it.each([
    failure({ code: "P2010", meta: { code: "22P02" } }),
    new TypeError("x is undefined"),
    "text",
    null,
  ])("takes %s for what it is", (error) => {
    expect(isUnavailable(error)).toBe(false);
  });
});

describe("errors as PostgreSQL and Prisma really make them", () => {
  it("are told apart by their state", async () => {
    const { prisma, close } = await testDatabase();
    const raised = (state: string) =>
      prisma
        .$transaction((tx) =>
          tx.$executeRawUnsafe(`DO $$ BEGIN RAISE EXCEPTION 'boo' USING ERRCODE = '${state}'; END $$`),
        )
        .catch((error: unknown) => error);
    try {
      const expected: [state: string, unavailable: boolean, conflict: boolean][] = [
        ["40P01", true, true],
        ["40001", true, true],
        ["53300", true, false],
        ["53100", true, false],
        ["57P01", true, false],
        ["25006", true, false],
        ["22P02", false, false],
        ["23505", false, false],
      ];
      for (const [state, unavailable, conflict] of expected) {
        const error = await raised(state);
        expect([state, isUnavailable(error), isConflict(error)]).toEqual([state, unavailable, conflict]);
      }
    } finally {
      await close();
    }
  });
});
