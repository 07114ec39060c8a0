import { describe, expect, it } from "vitest";
import { keyOf } from "./pressed-keys.ts";
import { frameOf, type ScreenText, scrolled } from "./scroll.ts";
import { columns, cutColumns, fitEnds } from "./terminal.ts";

const text = (rows: number, summary = 6): ScreenText => ({
  summary: Array.from({ length: summary }, (_, at) => `summary ${at}`),
  head: "agent  load",
  rows: Array.from({ length: rows }, (_, at) => `row ${at}`),
});
const size = (height: number, width = 80) => ({ height, width });

describe("frameOf", () => {
  it("shows everything on a high screen", () => {
    const { lines } = frameOf(text(31), size(50), 0);
    expect(lines.slice(0, 9)).toEqual([...text(0).summary, "", "agent  load", "row 0"]);
    expect(lines.at(-1)).toBe("row 30");
  });

  it("keeps the head, the first rows and the beginning of the summary on a low screen", () => {
    const { lines, top, shown } = frameOf(text(44, 12), size(24), 0);
    expect(lines).toHaveLength(23);
    expect(lines.slice(0, 10)).toEqual([...text(0, 8).summary, "agent  load", "row 0"]);
    expect([top, shown, lines.at(-1)]).toEqual([0, 14, "row 13"]);
  });

  it.each([1, 2, 3, 5, 24, 200])("never has more lines than fit into %i", (height) => {
    for (const rows of [0, 1, 44])
      for (const top of [-5, 0, 20, 1e15]) {
        const { lines } = frameOf(text(rows), size(height), top);
        expect(lines.length).toBeLessThanOrEqual(Math.max(1, height - 1));
        if (rows > 0) expect(lines.at(-1)).toMatch(/^row /);
        if (height > 2) expect(lines).toContain("agent  load");
      }
  });

  it("moves back what was scrolled beyond the last row, also after rows are gone or the screen has grown", () => {
    expect(frameOf(text(44), size(24), 1e15)).toMatchObject({ top: 29, shown: 15 });
    expect(frameOf(text(10), size(24), 29)).toMatchObject({ top: 0, shown: 10 });
    expect(frameOf(text(44), size(60), 29)).toMatchObject({ top: 0, shown: 44 });
  });

  it("cuts long lines at the width, whatever their colors and characters", () => {
    const red = `\u001b[31m${"█".repeat(50)}\u001b[39m and ${"界".repeat(50)}`;
    const [line] = frameOf({ summary: [red], head: "h", rows: [] }, size(24, 60), 0).lines;
    expect(line).toBe(`\u001b[31m${"█".repeat(50)}\u001b[39m and ${"界".repeat(2)}…`);
  });
});

describe("keys", () => {
  const frame = frameOf(text(44), size(24), 10);

  it.each([
    [{ name: "j" }, 11],
    [{ name: "down" }, 11],
    [{ name: "k" }, 9],
    [{ name: "up" }, 9],
    [{ name: "pagedown" }, 24],
    [{ name: "pageup" }, -4],
    [{ name: "g" }, 0],
    [{ name: "g", shift: true }, Number.MAX_SAFE_INTEGER],
  ])("%o goes to row %i", (pressed, top) => {
    const key = keyOf(pressed);
    expect(key === undefined || key === "stop" || key === "suspend" ? key : scrolled(frame, key)).toBe(top);
  });

  it("stop, and others mean nothing", () => {
    expect([keyOf({ name: "q" }), keyOf({ name: "c", ctrl: true })]).toEqual(["stop", "stop"]);
    expect([keyOf({ name: "x" }), keyOf({}), keyOf({ name: "constructor" })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("columns", () => {
  it("counts emoji that terminals draw wide", () => {
    expect(columns("✅⚡🚢")).toBe(6);
    expect(cutColumns("✅✅✅", 5)).toBe("✅✅…");
  });

  it("keeps both ends of a text", () => {
    expect(fitEnds("Migrate the user table of tenant 12", 18)).toBe("Migrate t…enant 12");
    expect(fitEnds("Migrate", 18)).toBe("Migrate           ");
    expect(columns(fitEnds("界".repeat(20), 18))).toBe(18);
  });
});
