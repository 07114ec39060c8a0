import { describe, expect, it } from "vitest";
import { keyState } from "./key-state.ts";

const NOW = Date.parse("2027-03-03T12:00:00Z");
const DAY = 86_400_000;
const key = (left: number | null, more: { revoked_at?: string; replaced_by?: string } = {}) => ({
  expires_at: left === null ? null : new Date(NOW + left).toISOString(),
  revoked_at: null,
  replaced_by: null,
  ...more,
});

describe("the state of a key", () => {
  it.each([
    ["active", key(null)],
    ["active", key(7 * DAY + 1)],
    ["expiring", key(7 * DAY)],
    ["expiring", key(1)],
    ["expired", key(0)],
    ["expired", key(-DAY, { replaced_by: "successor" })],
    ["replaced", key(1, { replaced_by: "successor" })],
    ["revoked", key(null, { revoked_at: "2027-03-01T00:00:00Z", replaced_by: "successor" })],
    ["revoked", key(-1, { revoked_at: "2027-03-01T00:00:00Z" })],
  ] as const)("is %s: %o", (state, given) => {
    expect(keyState(given, NOW)).toBe(state);
  });
});
