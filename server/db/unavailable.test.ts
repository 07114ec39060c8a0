import { describe, expect, it } from "vitest";
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
