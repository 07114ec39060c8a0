import type { AlertView } from "@plimsoll/protocol/api";
import { expect, it } from "vitest";
import { desktopNotices } from "./desktop-notices.ts";

const alert = (id: string, change: object = {}) =>
  ({
    id,
    rule: { id: "r", name: "Ceiling crossed", severity: "critical" },
    subject: { harness: "phantom@a", session: "s", agent: null, model: null },
    why: "too full",
    path: `/sessions/${id}`,
    muted: null,
    acknowledged_by: null,
    ...change,
  }) as AlertView;

it("tells of alerts that begin, and of none that were open when the page was", () => {
  expect(desktopNotices(undefined, [alert("a")])).toEqual([]);
  expect(desktopNotices(new Set(["a"]), [alert("a"), alert("b")])).toEqual([
    { title: "Ceiling crossed: phantom@a · s", body: "too full", tag: "b", path: "/sessions/b" },
  ]);
  expect(desktopNotices(new Set(["a", "b"]), [alert("b")])).toEqual([]);
});

it("keeps quiet about alerts that are silenced, inhibited or acknowledged", () => {
  const open = [
    alert("a", { muted: "silenced" }),
    alert("b", { muted: "inhibited" }),
    alert("c", { acknowledged_by: "x" }),
  ];
  expect(desktopNotices(new Set(), open)).toEqual([]);
});

it("tells of many at once in one", () => {
  const open = ["a", "b", "c", "d", "e"].map((id) => alert(id, { rule: { name: `rule ${id}` } }));
  expect(desktopNotices(new Set(), open)).toEqual([
    { title: "5 alerts fire", body: "rule a, rule b, rule c and 2 more", tag: "a", path: "/alerts" },
  ]);
});
