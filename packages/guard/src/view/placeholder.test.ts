import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clip, placeholderFor } from "./placeholder.ts";

/** A lone surrogate does not survive UTF-8 encoding. */
const wellFormed = (text: string) => Buffer.from(text, "utf8").toString("utf8") === text;

describe("placeholderFor", () => {
  it.each([
    [
      {
        tool: "file_read",
        input: { path: "src/main.rs" },
        text: `use std::io;\n\nfn main() {\n${"  work();\n".repeat(138)}}\n`,
      },
      "[file_read: src/main.rs -- 142 lines, Rust source with main() entry point]",
    ],
    [
      {
        tool: "file_read",
        input: { path: "a.ts" },
        text: "export class Guard {}\nexport function fit() {}\n",
      },
      "[file_read: a.ts -- 2 lines, TypeScript source defining Guard, fit]",
    ],
    [
      { tool: "shell_exec", input: { command: "npm test" }, text: "exit_code: 1\nFAIL a.test.ts\n" },
      "[shell_exec: npm test -- 2 lines, exit code 1, starts with: exit_code: 1]",
    ],
    [
      { tool: "http_get", input: { url: "https://example.org/x" }, text: '{"items": [1], "next": null}' },
      "[http_get: https://example.org/x -- 28 characters, JSON object with items, next]",
    ],
    [{ tool: "list", input: undefined, text: "  \n" }, "[list: -- no output]"],
    [
      { tool: "file_read", input: { path: "notes.md" }, text: "# Notes\nbuy milk\n" },
      "[file_read: notes.md -- 2 lines, Markdown, starts with: # Notes]",
    ],
  ])("%j", (result, expected) => {
    expect(placeholderFor(result)).toBe(expected);
  });

  it("never splits a character when it shortens a line [O17]", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.integer({ min: 2, max: 80 }),
        (text, max) => {
          const short = clip(text, max);
          expect(short.length).toBeLessThanOrEqual(Math.max(max, text.length <= max ? text.length : 0));
          expect(wellFormed(short)).toBe(true);
        },
      ),
    );
    const placeholder = placeholderFor({
      tool: "file_read",
      input: {},
      text: `${"x".repeat(58)}🎉🎉🎉 and more`,
    });
    expect(wellFormed(placeholder)).toBe(true);
  });

  it("is always one short line [O1]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 3_000 }), fc.anything(), (text, input) => {
        const placeholder = placeholderFor({ tool: "t", input, text });
        expect(placeholder).not.toContain("\n");
        expect(placeholder.length).toBeLessThan(500);
      }),
    );
  });
});
