import { VIEW_PARAMETERS } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { defaultHref, opensDefault, viewHref, viewQuery } from "./view-query.ts";

test("a view holds every parameter that the server takes, and no other", () => {
  const params = new URLSearchParams(VIEW_PARAMETERS.map((name) => [name, "x"]));
  params.set("view", "id");
  params.set("project", "2");
  expect([...new URLSearchParams(viewQuery(params)).keys()].sort()).toEqual([...VIEW_PARAMETERS].sort());
});

test("the order of parameters and empty ones do not matter", () => {
  expect(viewQuery(new URLSearchParams("status=live&kind=loop&q="))).toBe("kind=loop&status=live");
  expect(viewHref({ id: "v", query: "status=live&kind=loop" })).toBe(
    "/sessions?kind=loop&status=live&view=v",
  );
});

test.each([
  ["", true],
  ["range=7d", true],
  ["project=2&range=all", true],
  ["range=2026-11-20T10:00:00Z..2026-11-20T12:00:00Z", false],
  ["status=live", false],
  ["harness=a", false],
  ["view=all", false],
  ["sort=load", false],
])("the default view opens for ?%s: %s", (query, opens) => {
  expect(opensDefault(new URLSearchParams(query))).toBe(opens);
});

test("the default view keeps the range and the project of the address", () => {
  const view = { id: "v", query: "range=24h&status=live" };
  const href = defaultHref(view, new URLSearchParams("range=7d&project=2"));
  expect(Object.fromEntries(new URLSearchParams(href.split("?")[1]))).toEqual({
    range: "7d",
    status: "live",
    view: "v",
    project: "2",
  });
});
