import { describe, expect, it } from "vitest";
import { estimateTokens } from "../measure/estimate.ts";
import { digestOf, growthOf, messagesOf, withHandoff } from "./transcript.ts";

const NOTHING = { facts: [], said: [], wordsTokens: 1_000, underWay: true } as const;
const prompt = (content: string | readonly object[]) => ({
  type: "user" as const,
  message: { role: "user" as const, content },
  parent_tool_use_id: null,
});

describe("what a step adds to the context", () => {
  it("is the text of results, and not the base64 of an image", () => {
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "A".repeat(400_000) },
    };
    const { content, tokens } = growthOf([{ type: "text", text: "a result" }, image]);
    expect((content as string[]).join()).toContain("a result");
    expect((content as string[]).join().length).toBeLessThan(100);
    expect(tokens).toBeGreaterThan(0);
    expect(tokens).toBeLessThan(10_000);
  });
});

describe("a handoff", () => {
  it("keeps the images of the prompt that it continues, and does not reuse its id", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const given = { ...prompt([{ type: "text", text: "What is this?" }, image]), uuid: "u1" };
    const made = withHandoff(given, { ...NOTHING, summary: "It is a ship." });
    expect(made).not.toHaveProperty("uuid");
    expect(made.message.content).toEqual([
      { type: "text", text: expect.stringContaining("It is a ship.") },
      { type: "text", text: "What is this?" },
      image,
    ]);
    expect(given).toHaveProperty("uuid", "u1");
  });

  it("keeps short instructions if not all that the user said fits", () => {
    const said = ["Fix the build.", "log line ".repeat(5_000), "Use tabs."];
    const made = withHandoff(prompt("Go on."), { ...NOTHING, summary: "s", said, wordsTokens: 300 });
    const text = String(made.message.content);
    for (const kept of ["Fix the build.", "Use tabs.", "Go on."]) expect(text).toContain(kept);
    expect(estimateTokens(text)).toBeLessThan(600);
  });

  it("merges the summary of the sessions before instead of nesting it", () => {
    const later = messagesOf({
      type: "assistant",
      message: { content: [{ type: "text", text: "Tests pass." }] },
    } as object);
    const merged = digestOf(later, digestOf([{ role: "user", content: "Fix the build." }], undefined));
    expect(merged).toContain("Fix the build.");
    expect(merged).toContain("Tests pass.");
    expect(merged.length).toBeLessThanOrEqual(6_000);
  });
});
