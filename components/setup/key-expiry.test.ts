import type { KeyView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { chosenExpiry, DAY, expiryStep, expiryText, relationText } from "./key-expiry.ts";

const NOW = Date.parse("2027-03-03T12:00:00Z");
const key = (more: Partial<KeyView> = {}): KeyView => ({
  id: "a",
  name: "ci",
  prefix: "plim_a",
  scopes: ["ingest"],
  harness: null,
  created_at: new Date(NOW).toISOString(),
  last_used_at: null,
  revoked_at: null,
  expires_at: null,
  replaced_by: null,
  person: null,
  own: false,
  ...more,
});
const at = (ms: number) => new Date(NOW + ms).toISOString();

it("the list of keys follows the seconds only while a key is about to expire", () => {
  expect(expiryStep([], NOW)).toBe(30_000);
  expect(expiryStep([key(), key({ expires_at: at(DAY) }), key({ expires_at: at(-1) })], NOW)).toBe(30_000);
  expect(expiryStep([key(), key({ expires_at: at(90_000) })], NOW)).toBe(1_000);
});

describe("the expiry of a key", () => {
  it.each([
    [null, key()],
    ["expires in 30 days", key({ expires_at: at(30 * DAY - 5_000) })],
    ["expires in 12 days", key({ expires_at: at(12.4 * DAY) })],
    ["expires in 47 hours", key({ expires_at: at(47 * 3_600_000) })],
    ["expires in 1 hour", key({ expires_at: at(3_600_000) })],
    ["expires in 1 minute", key({ expires_at: at(60_000) })],
    ["expires in less than a minute", key({ expires_at: at(1) })],
    ["expired just now", key({ expires_at: at(0) })],
    ["expired 3 d ago", key({ expires_at: at(-3 * DAY) })],
    ["ends in 24 hours", key({ expires_at: at(DAY - 1), replaced_by: "b" })],
    ["expired 2 h ago", key({ expires_at: at(-7_200_000), replaced_by: "b" })],
    ["revoked", key({ revoked_at: at(0), expires_at: at(DAY) })],
  ])("is told as %s", (text, given) => {
    expect(expiryText(given, NOW)).toBe(text);
  });
});

describe("the relation of a key", () => {
  it("names the other one by its prefix", () => {
    const [old, successor] = [key({ replaced_by: "b" }), key({ id: "b", prefix: "plim_b" })];
    expect(relationText(old, [old, successor])).toBe("replaced by plim_b…");
    expect(relationText(successor, [old, successor])).toBe("replaces plim_a…");
    expect(relationText(old, [old])).toBeNull();
  });
});

describe("the expiry that a form asks for", () => {
  it.each([
    ["never", "", undefined],
    ["30", "", at(30 * DAY)],
    ["365", "2000-01-01", at(365 * DAY)],
    ["date", "", null],
    ["date", "2027-03-03", null],
    ["date", "2027-13-03", null],
  ] as const)("%s %s", (lifetime, date, expected) => {
    expect(chosenExpiry(lifetime, date, NOW)).toBe(expected);
  });

  it("on a date begins with that day where the viewer is", () => {
    expect(chosenExpiry("date", "2027-03-05", NOW)).toBe(new Date(2027, 2, 5).toISOString());
  });
});
