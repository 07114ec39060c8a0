import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { latestLoss } from "./compaction-loss.ts";
import type { ContentItem, LineParts, PartsReset } from "./transcript-parts.ts";

const said = (text: string): ContentItem => ({ kind: "user", tokens: 10, text });
const summary = (text: string): ContentItem => ({ kind: "summary", tokens: 50, text });
const touched = (file: string): ContentItem => ({
  kind: "tool_call",
  tokens: 5,
  call: file,
  tool: "Read",
  file,
});
const at = (time: number, ...items: ContentItem[]): LineParts => ({ at: time, items });
const turn = (time: number, level: number) => ({ key: `t${time}`, at: time, level, scale: 1 });

const TURNS = [turn(10, 80_000), turn(20, 160_000), turn(40, 30_000), turn(50, 40_000)];
const LINES = [
  at(1, said("Never touch the generated files.\nAdd a button to the settings page")),
  at(
    11,
    touched("/work/src/settings/page.tsx"),
    touched("/work/src/index.ts"),
    touched("/work/src/secret.ts"),
  ),
  at(15, said("Please keep the label of the button short and clear for everyone")),
  at(16, said("Prefer tabs over spaces in every file.")),
  at(
    31,
    summary(
      "The user asked: add a button to the settings page. The label of the button short and clear for all. Changed settings/page.tsx and index.ts.",
    ),
  ),
  at(41, touched("/work/src/secret.ts")),
];
const loss = (lines = LINES, resets: PartsReset[] = [{ at: 30 }]) =>
  latestLoss({ turns: TURNS, lines, resets });

describe("what a compaction left", () => {
  it("is each sentence and file that was there, and whether the summary has it", () => {
    const { things, ...rest } = loss()!;
    expect(rest).toEqual({ at: 30, turn: 2, before: 160_000, after: 30_000 });
    expect(
      things.map(({ kind, text, turn: n, survival, again }) => [kind, text, n, survival, again]),
    ).toEqual([
      ["rule", "Never touch the generated files.", 1, "absent", undefined],
      ["prompt", "Add a button to the settings page", 1, "verbatim", undefined],
      ["file", "/work/src/settings/page.tsx", 2, "verbatim", undefined],
      ["file", "/work/src/index.ts", 2, "near", undefined],
      ["file", "/work/src/secret.ts", 2, "absent", 4],
      ["prompt", "Please keep the label of the button short and clear for everyone", 2, "near", undefined],
      ["rule", "Prefer tabs over spaces in every file.", 2, "absent", undefined],
    ]);
  });

  it("counts what is sent with the summary as left", () => {
    const again = [...LINES, at(35, said("Never touch the generated files."))];
    expect(loss(again)!.things[0]).toMatchObject({ survival: "verbatim" });
  });

  it("is of the latest compaction, from the one before on", () => {
    const more = [...LINES, at(42, said("Write a test for it now.")), at(46, summary("Nothing."))];
    const { things, turn: n } = loss(more, [{ at: 30 }, { at: 45 }])!;
    expect(n).toBe(3);
    expect(things.map(({ text }) => text)).toEqual(["/work/src/secret.ts", "Write a test for it now."]);
  });

  it.each([
    ["without a compaction", LINES, []],
    ["after a clear, which leaves no summary", LINES.filter(({ at: time }) => time !== 31), [{ at: 30 }]],
    ["after a microcompaction", LINES, [{ at: 30, cleared: 100 }]],
    [
      "without texts",
      LINES.map((line) => ({ ...line, items: line.items.map(({ text: _, ...item }) => item) })),
      [{ at: 30 }],
    ],
  ])("is unknown %s", (_, lines, resets) => {
    expect(loss(lines, resets)).toBeUndefined();
  });

  it("loses nothing to a summary that repeats everything, whatever was said", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 60, unit: "binary" }), { maxLength: 8 }), (texts) => {
        const whole = texts.join("\n");
        const { things } = latestLoss({
          turns: [turn(10, 1), turn(40, 1)],
          lines: [...texts.map((text, index) => at(index, said(text))), at(31, summary(whole))],
          resets: [{ at: 30 }],
        })!;
        expect(things.every(({ survival }) => survival === "verbatim")).toBe(true);
      }),
    );
  });
});
