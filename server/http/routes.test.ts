import { describe, expect, it } from "vitest";
import { isForPeople, routeOf } from "./routes.ts";

describe("routeOf", () => {
  it.each([
    ["/api/v1/events", "events"],
    ["/api/v1/live?x=1", "live"],
    ["/api/v1/policy/acks", "policy"],
    ["/api/v1/sessions?from=a", "api"],
    ["/api/trpc/fleet,status?batch=1", "trpc"],
    ["/api", "page"],
    ["/otlp/v1/traces", "otlp"],
    ["/healthz", "health"],
    ["/readyz", "health"],
    ["/metrics", "metrics"],
    ["/openapi.json", "api"],
    ["/", "page"],
    ["/sessions/1?tab=turns", "page"],
    ["/login", "asset"],
    ["/login?next=%2Fsessions", "asset"],
    ["/_next/static/chunks/main.js", "asset"],
    ["/favicon.ico", "asset"],
    ["/icon.svg?abc", "asset"],
  ])("takes %s for %s", (url, route) => expect(routeOf(url)).toBe(route));

  it.each([
    "/_next/../sessions",
    "/_next/%2e%2e/sessions",
    "/_next/..%2fsessions",
    "/_next/\\sessions",
    "/_next//sessions",
    "/login/../sessions",
    "/loginx",
    "//_next/x",
  ])("does not take %s for something free", (url) => expect(routeOf(url)).toBe("page"));

  it("gives pages and their files to the page server", () => {
    expect((["page", "asset", "events", "api", "health"] as const).map(isForPeople)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
