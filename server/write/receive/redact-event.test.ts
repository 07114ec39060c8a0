import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactEvent } from "./redact-event.ts";

describe("redactEvent", () => {
  it("keeps names, numbers and times, and replaces other texts by their length", () => {
    const event = {
      type: "turn",
      id: "msg_01ABC",
      at: "2026-11-24T12:00:00Z",
      harness: "claude-code@laptop",
      session: "my secret project",
      model: "claude-opus-4-6",
      usage: { input_tokens: "1200", basis: "exclusive" },
      tools: ["a password", "b", "c", "d", "e"],
    };
    expect(JSON.parse(redactEvent(event))).toEqual({
      type: "turn",
      id: "(text of 9 characters)",
      at: "2026-11-24T12:00:00Z",
      harness: "claude-code@laptop",
      session: "(text of 17 characters)",
      model: "claude-opus-4-6",
      usage: { input_tokens: "1200", basis: "exclusive" },
      tools: ["(text of 10 characters)", "(text of 1 characters)", "(text of 1 characters)", "(2 more)"],
    });
  });

  it("is short for huge and deep values, and never fails", () => {
    const deep = { a: { b: { c: { d: { e: "secret" } } } } };
    expect(redactEvent(deep)).toContain("(object of 1 fields)");
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        expect(redactEvent(value).length).toBeLessThanOrEqual(1_501);
      }),
    );
    expect(redactEvent(undefined)).toBe("nothing");
  });

  it("holds no word of a text, wherever it stands", () => {
    const secret = "hunter-two-is-the-password";
    const holder = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.constant(secret),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom("id", "session", "title", "usage", "x", `What is ${secret}?`, `/home/${secret}`),
          tie("value"),
          { maxKeys: 3 },
        ),
      ),
    })).value;
    fc.assert(
      fc.property(holder, (value) => {
        expect(redactEvent(value)).not.toContain("hunter");
      }),
    );
  });
});
