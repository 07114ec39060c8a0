import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { hexSample, SCRIPT_SAMPLES } from "../testing/script-samples.ts";
import { calibrate, newCalibration, predict } from "./calibrate.ts";
import { countBorders, estimateTokens, MIXED, tokenizerScale } from "./estimate.ts";

const here = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
const bytes = Uint8Array.from(
  { length: 9_000 },
  (_, index) => (index * 7_919 + (index >> 3) * 104_729) & 255,
);

const PROSE = `A ship that is loaded past the line painted on her side will float in the harbour and founder in
the first storm. The harness of an agent has the same trouble: nothing looks wrong while the window fills, and then
one large tool result arrives and the answer that mattered is no longer there to be read. `;

const TEXTS: [name: string, text: string, within: number][] = [
  ["code", here("./calibrate.ts") + here("./estimate.ts"), 0.15],
  ["json", here("../../../../package-lock.json").slice(0, 60_000), 0.2],
  [
    "json rows",
    JSON.stringify(
      Array.from({ length: 300 }, (_, id) => ({
        id: id * 7_919,
        mail: `u${id}@example.org`,
        on: id % 3 === 0,
      })),
    ),
    0.2,
  ],
  ["prose", PROSE.repeat(20), 0.2],
  ["base64", Buffer.from(bytes).toString("base64"), 0.3],
  [
    "chinese",
    "上下文窗口是有限的资源。当代理读取太多文件时，模型的质量会下降，因此需要压缩旧的工具输出。".repeat(60),
    0.2,
  ],
  [
    "russian",
    "Контекстное окно ограничено: когда агент читает слишком много файлов, качество падает. ".repeat(60),
    0.3,
  ],
];

/** What providers count, by script. */
const SCRIPTS: [name: string, text: string][] = [
  ...Object.entries(SCRIPT_SAMPLES),
  ["hex", hexSample(2_000)],
  ["lines of hashes", Array.from({ length: 60 }, (_, at) => hexSample(16 + at).slice(-32)).join("\n")],
  ["a hex dump", hexSample(1_600).replace(/(..)/g, "$1 ")],
];

describe("estimates by script", () => {
  const measured = SCRIPTS.filter(([name]) => !["french", "spanish", "greek", "hebrew"].includes(name));

  it.each(measured)("are within 10 %% for %s", (_, text) => {
    expect(Math.abs(estimateTokens(text) / countTokens(text) - 1)).toBeLessThan(0.1);
  });

  it.each(SCRIPTS)("are within 20 %% for %s", (_, text) => {
    expect(Math.abs(estimateTokens(text) / countTokens(text) - 1)).toBeLessThan(0.2);
  });

  it.each(SCRIPTS)("are within 5 %% after calibration for %s", (_, text) => {
    const piece = Math.ceil(text.length / 3);
    const pieces = [0, 1, 2].map((at) => text.slice(at * piece, (at + 1) * piece));
    let calibration = newCalibration();
    let [estimate, actual] = [0, 0];
    for (let turn = 0; turn < 12; turn++) {
      const next = pieces[turn % 3]!;
      estimate += estimateTokens(next);
      actual += countTokens(next);
      if (turn >= 6) expect(Math.abs(predict(calibration, estimate).tokens / actual - 1)).toBeLessThan(0.05);
      calibration = calibrate(calibration, estimate, actual);
    }
  });

  it("leave a word with a number as it is", () => {
    expect(countBorders("file12 u7919 x1")[MIXED]).toBe(0);
    expect(countBorders("a1b2c3 4f")[MIXED]).toBe(4);
  });
});

/** What `estimateTokens` sums up, by patterns. Accents are none of the letters here. */
function bordersByPatterns(text: string): number {
  const all = (pattern: RegExp, from = text) => [...from.matchAll(pattern)].map(([found]) => found);
  const sum = (found: readonly string[], of: (one: string) => number) =>
    found.reduce((total, one) => total + of(one), 0);
  const lower = all(/[a-z]+/g);
  const upper = all(/[A-Z]+/g);
  const marks = all(/[^a-zA-Z0-9\s]+/g);
  const changes = (word: string) => all(/[a-zA-Z](?=\d)|\d(?=[a-zA-Z])/g, word).length;
  return (
    (all(/(?<![a-zA-Z])[a-z]+/g).length + upper.length) * 1.25 +
    sum(lower, (one) => Math.max(0, one.length - 7)) * 0.015 +
    sum(upper, (one) => one.length - 1) * 0.04 +
    sum(all(/\d+/g), (one) => Math.ceil(one.length / 3)) * 1.47 +
    marks.length * 0.36 +
    sum(marks, (one) => one.length - 1) * 0.1 +
    all(/\n+/g).length * 0.63 +
    all(/[ \t\r]{2,}/g).length * 1.32 +
    sum(all(/[a-zA-Z0-9]+/g), (word) => Math.max(0, changes(word) - 1)) * -0.39
  );
}

describe("estimateTokens", () => {
  it("counts borders as patterns do", () => {
    const pieces = [
      "a",
      "bcdefghij",
      "B",
      "CDE",
      "f4",
      "77",
      "1234567",
      "9z",
      " ",
      "\t",
      "\n",
      ".",
      "(){",
      '"',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((all) => all.join(""));
    fc.assert(
      fc.property(text, (one) => {
        expect(estimateTokens(one)).toBeCloseTo(bordersByPatterns(one), 6);
      }),
    );
  });

  it.each(TEXTS)("follows o200k on %s", (_, text, within) => {
    const exact = countTokens(text);
    const error = Math.abs(estimateTokens(text) / exact - 1);
    expect(error).toBeLessThan(within);
  });

  it("beats chars/4 on the worst kind of text [P5]", () => {
    const worst = (estimate: (text: string) => number) =>
      Math.max(...TEXTS.map(([, text]) => Math.abs(estimate(text) / countTokens(text) - 1)));
    expect(worst(estimateTokens)).toBeLessThan(worst((text) => text.length / 4) / 2);
  });

  it("estimates a long text from samples about as well as from the whole", () => {
    const long = here("../../../../package-lock.json").slice(0, 200_000);
    const parts = [0, 1, 2, 3].map((part) => long.slice(part * 50_000, (part + 1) * 50_000));
    const whole = parts.reduce((sum, part) => sum + estimateTokens(part), 0);
    expect(Math.abs(estimateTokens(long) / whole - 1)).toBeLessThan(0.05);
  });

  it("estimates an empty text as zero", () => {
    expect(estimateTokens("")).toBe(0);
  });
});

describe("tokenizerScale", () => {
  it.each([
    ["claude-opus-5", 1.45],
    ["anthropic/claude-opus-4-7", 1.45],
    ["claude-sonnet-4-5", 1.12],
    ["claude-haiku-4.5", 1.12],
    ["gpt-5.1", 1],
    [undefined, 1],
  ])("%s", (model, scale) => {
    expect(tokenizerScale(model)).toBe(scale);
  });
});
