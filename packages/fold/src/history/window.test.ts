import { describe, expect, test } from "vitest";
import { resolveWindow, utilizationOf } from "./window.ts";

const lookups = {
  configured: (model: string) => (model === "both" || model === "set" ? 32_000 : undefined),
  catalog: (model: string) => (model === "both" || model === "listed" ? 128_000 : undefined),
};

describe("the size of a window", () => {
  test.each([
    ["reported beats all", "both", 64_000, 64_000, "reported"],
    ["configured beats the catalog", "both", undefined, 32_000, "configured"],
    ["configured alone", "set", undefined, 32_000, "configured"],
    ["the catalog", "listed", undefined, 128_000, "catalog"],
    ["unknown has no size, never a default", "mystery", undefined, undefined, "unknown"],
  ] as const)("%s", (_, model, reported, tokens, source) => {
    expect(resolveWindow({ model, reported }, lookups)).toEqual({ tokens, source });
  });
});

describe("a reported size that a prompt refuted", () => {
  test.each([
    ["gives way to a larger configured one", "set", 16_000, 32_000, "configured"],
    ["stays above a smaller configured one", "set", 64_000, 64_000, "reported"],
    ["stays above an equal configured one", "set", 32_000, 32_000, "reported"],
    ["stays above what nobody configured", "listed", 64_000, 64_000, "reported"],
  ] as const)("%s", (_, model, reported, tokens, source) => {
    expect(resolveWindow({ model, reported, isRefuted: true }, lookups)).toEqual({ tokens, source });
  });
});

describe("utilization", () => {
  test.each([
    [50_000, 200_000, 0.25],
    [804_717, 200_000, 4.023585],
    [0, 200_000, 0],
    [undefined, 200_000, undefined],
    [50_000, undefined, undefined],
    [50_000, 0, undefined],
  ])("%s of %s", (context, window, share) => {
    expect(utilizationOf(context, window)).toBe(share);
  });
});
