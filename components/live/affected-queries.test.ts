import type { ChangedMessage } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { refetchUrgency } from "./affected-queries.ts";

const some: ChangedMessage[] = [{ type: "changed", sessions: ["a", "b"] }];
const all: ChangedMessage[] = [{ type: "changed", sessions: null }];

test.each([
  ["status", {}, undefined, some, "soon"],
  ["alerts.deliveries.list", {}, 2, some, "soon"],
  ["alerts.deliveries.list", {}, 3, some, "slow"],
  ["fleet", {}, undefined, all, null],
  ["series", {}, undefined, some, "slow"],
  ["sessions.list", {}, 1, some, "fast"],
  ["sessions.list", {}, 3, some, "slow"],
  ["sessions.get", { id: "a" }, undefined, some, "fast"],
  ["sessions.get", { id: "c" }, undefined, some, null],
  ["sessions.get", { id: "c" }, undefined, all, "fast"],
  ["sessions.turns", { id: "b" }, 9, some, "slow"],
  ["windows.list", undefined, undefined, some, "slow"],
  ["windows.unknown", undefined, undefined, some, "slow"],
  ["keys.list", undefined, undefined, all, null],
] as const)("%s %o with %s pages", (path, input, pages, messages, urgency) => {
  expect(refetchUrgency({ key: [path.split("."), { input }], pages }, messages)).toBe(urgency);
});

test("a query key that is not from tRPC is not refetched", () => {
  expect(refetchUrgency({ key: ["mine"], pages: undefined }, all)).toBeNull();
});
