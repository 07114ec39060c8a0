import { describe, expect, it } from "vitest";
import { describeError, PlimsollError, STATUS_OF_CODE, statusOf, toErrorBody } from "./errors.ts";

describe("PlimsollError", () => {
  it("has one body shape, without the hint", () => {
    const error = new PlimsollError("quota_exceeded", "Too many events.", {
      details: { limit: 10 },
      hint: "Wait.",
    });
    expect(toErrorBody(error)).toEqual({
      error: { code: "quota_exceeded", message: "Too many events.", details: { limit: 10 } },
    });
    expect(statusOf(error)).toBe(429);
    expect(describeError(error)).toBe("Too many events.\nWait.");
  });

  it("omits details when there are none", () => {
    expect(toErrorBody(new PlimsollError("not_found", "No such session."))).toEqual({
      error: { code: "not_found", message: "No such session." },
    });
  });

  it("hides the text of an unexpected error", () => {
    const body = toErrorBody(new Error('relation "secret" does not exist'));
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(body.error.code).toBe("internal");
    expect(statusOf("anything")).toBe(500);
  });

  it("keeps the cause", () => {
    const cause = new Error("inner");
    expect(new PlimsollError("internal", "outer", { cause }).cause).toBe(cause);
  });

  it("maps every code to an error status", () => {
    for (const status of Object.values(STATUS_OF_CODE)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
