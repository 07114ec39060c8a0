import { FALL_HINTS } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { fallCauses } from "./fall-causes.ts";

const causes = (
  harness: string,
  hint: (typeof FALL_HINTS)[number] | null = null,
  model: string | null = null,
) => fallCauses({ harness, hint, model });

describe("the usual causes of an unexplained fall", () => {
  it("are those of the harness family, whatever the instance", () => {
    expect(causes("claude-code@laptop")[0]).toContain("old tool results");
    expect(causes("Claude-Code")).toEqual(causes("claude-code@laptop"));
    expect(causes("codex@ci")).not.toEqual(causes("claude-code@ci"));
  });

  it("of an unknown harness are general, and a name from Object's prototype is unknown", () => {
    expect(causes("constructor")).toEqual(causes("my own harness"));
    expect(causes("my own harness")[0]).toContain("without sending an event");
  });

  it.each([
    ["truncation_suspected", "Ollama dropped"],
    ["model_changed", "The model changed"],
    ["window_moved", "another window"],
  ] as const)("begin with what %s suggests", (hint, words) => {
    expect(causes("codex", hint)[0]).toContain(words);
  });

  it("are one to four different sentences for every hint and family", () => {
    for (const hint of [null, ...FALL_HINTS]) {
      for (const family of ["claude-code", "phantom", "ollama", "x", ""]) {
        const found = causes(family, hint, "ollama/llama3");
        expect(found.length).toBeGreaterThan(0);
        expect(found.length).toBeLessThanOrEqual(4);
        expect(new Set(found).size).toBe(found.length);
        for (const cause of found) expect(cause).toMatch(/^[A-Z].*\.$/i);
      }
    }
  });
});
