import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentId, eventKey, harnessId, sessionId } from "./identity.ts";

describe("the key of an event", () => {
  it("is the first eight bytes of the sha256 of its id, as a signed number", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (id) => {
        expect(eventKey(id)).toBe(createHash("sha256").update(id).digest().readBigInt64BE(0).toString());
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("an id that follows from names", () => {
  it("is a UUID of version 8", () => {
    expect(sessionId(1, "phantom@vm-3", "s1")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
  it("is the same for the same names, and another's for any other", () => {
    const ids = [
      harnessId(1, "a"),
      harnessId(2, "a"),
      sessionId(1, "a", "b"),
      sessionId(1, "ab", ""),
      agentId(1, "a", "b", "c"),
      agentId(1, "a", "bc", ""),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(agentId(1, "a", "b", "c")).toBe(ids[4]);
  });
});
