import { expect, test } from "vitest";
import { sessionsHref } from "./sessions-href.ts";

const page = { range: "24h", harness: null };

test.each([
  [{}, page, "/sessions?range=24h"],
  [{ reason: "masked" }, page, "/sessions?range=24h&reason=masked"],
  [
    { sort: "load", status: "live" },
    { ...page, harness: "phantom@vm-3" },
    "/sessions?range=24h&harness=phantom%40vm-3&sort=load&status=live",
  ],
  [{ harness: "b&c" }, { ...page, harness: "a" }, "/sessions?range=24h&harness=b%26c"],
] as const)("%o on %o", (filter, params, href) => {
  expect(sessionsHref(filter, params)).toBe(href);
});
