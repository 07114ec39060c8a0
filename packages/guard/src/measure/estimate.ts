/** Returns the number of tokens of a text. Must be deterministic; called once per message text. */
export type Tokenizer = (text: string) => number;

// What is counted in a text: places in WEIGHTS.
const WORDS = 0;
/** Letters of a word beyond the seventh: tokenizers split long words. */
const LONG_LETTERS = 1;
const CAPITALS = 2;
const DIGITS = 3;
const MARKS = 4;
/** Punctuation directly after punctuation, which often merges with it. */
const JOINED_MARKS = 5;
const NEWLINES = 6;
/** Runs of two or more blanks. */
const INDENTS = 7;
const CJK = 8;
/** Letters of Latin words that English does not have. */
const ACCENTS = 9;
const CYRILLIC = 10;
const ARABIC = 11;
const INDIC = 12;
const THAI = 13;
/** Of all other scripts. */
const OTHER_LETTERS = 14;
/** Operators and relations, subscripts and superscripts. */
const MATHEMATICS = 15;
const SYMBOLS = 16;
/** Changes between letters and digits in a word but for its first one, as in hashes. */
export const MIXED = 17;
const MIXED_WORDS = 18;
const MIXED_DIGITS = 19;
const NOTHING = 20;

/**
 * Fitted by least squares of the relative error against o200k_base, over code, JSON, Markdown, prose, logs, base64
 * and CJK. The weights of other scripts are medians over the samples of src/testing/script-samples.ts.
 */
const WEIGHTS = [
  ...[1.25, 0.015, 0.04, 1.47, 0.36, 0.1, 0.63, 1.32, 0.68],
  ...[0.1, 0.28, 0.32, 0.36, 0.36, 0.4, 2.5, 0.97, -0.39],
];
/** Weight of `LONG_LETTERS` in languages with accents, whose long words tokenizers know less. */
const LONG_ACCENTED = 0.25;
/** Accents per word from which a text is in such a language. */
const ACCENTED = 0.04;

/** Longer texts are sampled in evenly spaced pieces: reading them whole would take milliseconds. Characters. */
const MAX_WHOLE_CHARS = 65_536;
const SAMPLE_CHARS = 4_096;

// Kinds of characters. The others are kinds of their own: CJK and what follows it.
const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const BLANK = 3;
const NEWLINE = 4;
const MARK = 5;
const OTHER = 6;

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 10) return NEWLINE;
  if (code === 32 || code === 9 || code === 13) return BLANK;
  return MARK;
});

function kindBeyondAscii(code: number): number {
  if (code < 0x2000) return kindOfLetter(code);
  if ((code >= 0x2070 && code <= 0x209f) || (code >= 0x2100 && code <= 0x22ff)) return MATHEMATICS;
  if (code >= 0x27c0 && code <= 0x2aff && (code < 0x2800 || code > 0x28ff)) return MATHEMATICS;
  if (code >= 0x3040 && code <= 0x9fff) return CJK;
  if (code >= 0xac00 && code <= 0xd7af) return CJK;
  if (code >= 0xff00 && code <= 0xffef) return CJK;
  if (code >= 0x3000 && code <= 0x303f) return CJK;
  return SYMBOLS;
}

function kindOfLetter(code: number): number {
  if (code < 0xc0) return SYMBOLS;
  if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) return ACCENTS;
  if (code >= 0x400 && code < 0x530) return CYRILLIC;
  if (code >= 0x600 && code < 0x780) return ARABIC;
  if (code >= 0x900 && code < 0xe00) return INDIC;
  if (code >= 0xe00 && code < 0xe80) return THAI;
  return OTHER_LETTERS;
}

/** No letter of a word counts otherwise than the eighth. */
const MOST_RUN = 8;
const MOST_CHANGES = 2;

/** A state by the kind of the latest character, the length of its run, and the changes in its word. */
const stateOf = (kind: number, run: number, changes: number) => ((kind * 9 + run) * 3 + changes) << 5;

/**
 * By state and kind of the next character: the next state, and what is counted in the lowest five bits. A processor guesses too few of the
 * branches of a text, so a table takes half the time.
 */
let table: Int32Array | undefined;
const counts = new Int32Array(NOTHING + 1);

function makeTable(): Int32Array {
  const steps = new Int32Array(stateOf(OTHER + 1, 0, 0));
  for (let previous = 0; previous <= OTHER; previous++)
    for (let length = 0; length <= MOST_RUN; length++)
      for (let before = 0; before <= MOST_CHANGES; before++)
        for (let kind = 0; kind <= SYMBOLS; kind++) {
          const run = kind === previous ? length + 1 : 1;
          const isChange = kind === DIGIT ? previous < DIGIT : kind < DIGIT && previous === DIGIT;
          const changes = kind > DIGIT ? 0 : Math.min(before + Number(isChange), MOST_CHANGES);
          // Every third digit counts.
          const place = kind === DIGIT && run > 3 ? 1 : Math.min(run, MOST_RUN);
          const counted = countedAs(kind, previous, run, isChange && changes === MOST_CHANGES);
          steps[stateOf(previous, length, before) + kind] =
            (stateOf(Math.min(kind, OTHER), place, changes) << 5) | counted;
        }
  return steps;
}

function countedAs(kind: number, previous: number, run: number, isMixed: boolean): number {
  if (kind > MARK) return kind;
  if (kind === MARK) return run > 1 ? JOINED_MARKS : MARKS;
  if (kind === NEWLINE) return run > 1 ? NOTHING : NEWLINES;
  if (kind === BLANK) return run === 2 ? INDENTS : NOTHING;
  if (kind === DIGIT) return run % 3 !== 1 ? NOTHING : isMixed ? MIXED_DIGITS : DIGITS;
  if (run > 1) return kind === UPPER ? CAPITALS : run > 7 ? LONG_LETTERS : NOTHING;
  // A capitalised word was already counted at its capital.
  if (kind === LOWER && previous === UPPER) return NOTHING;
  return isMixed ? MIXED_WORDS : WORDS;
}

/**
 * Counts a text's word, case, digit and punctuation borders, where byte-pair tokenizers split before they merge.
 * A fixed number of characters per token would be wrong by up to a factor of three.
 * @returns by the places in WEIGHTS; the next call writes over it
 */
export function countBorders(text: string, from = 0, to = text.length): Int32Array {
  table ??= makeTable();
  const steps = table;
  counts.fill(0);
  let state = stateOf(NEWLINE, 0, 0);
  for (let index = from; index < to; index++) {
    const code = text.charCodeAt(index);
    let kind = code < 128 ? ASCII[code]! : kindBeyondAscii(code);
    if (kind === ACCENTS) {
      counts[ACCENTS]!++;
      kind = LOWER;
    }
    const step = steps[state + kind]!;
    counts[step & 31]!++;
    state = step >> 5;
  }
  counts[WORDS]! += counts[MIXED_WORDS]!;
  counts[DIGITS]! += counts[MIXED_DIGITS]!;
  counts[MIXED] = counts[MIXED_WORDS]! + counts[MIXED_DIGITS]!;
  return counts;
}

/**
 * Estimates the tokens of a text under o200k_base, within about 10 % for the fitted kinds of text.
 * @example
 * estimateTokens("const answer = 42;"); // about 6
 */
export function estimateTokens(text: string): number {
  const length = text.length;
  if (length <= MAX_WHOLE_CHARS) return weigh(countBorders(text));
  const pieces = MAX_WHOLE_CHARS / SAMPLE_CHARS;
  const stride = (length - SAMPLE_CHARS) / (pieces - 1);
  let sum = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const from = Math.floor(piece * stride);
    sum += weigh(countBorders(text, from, from + SAMPLE_CHARS));
  }
  return (sum * length) / MAX_WHOLE_CHARS;
}

function weigh(borders: Int32Array): number {
  const accented = Math.min(1, borders[ACCENTS]! / (ACCENTED * Math.max(1, borders[WORDS]!)));
  let sum = 0;
  for (let at = 0; at < WEIGHTS.length; at++) {
    const weight = WEIGHTS[at]!;
    sum += borders[at]! * (at === LONG_LETTERS ? weight + accented * (LONG_ACCENTED - weight) : weight);
  }
  return sum;
}

const NEWER_CLAUDE = /claude-(?:opus-(?:4-[7-9]|[5-9])|(?:sonnet|haiku|fable)-[5-9])/;

/**
 * Returns a model's tokens per o200k token, as a first guess that real counts correct. Anthropic documents about 30 %
 * more tokens for Opus 4.7 and the fifth generation.
 *
 * @example
 * estimateTokens("const answer = 42;") * tokenizerScale("claude-opus-4-7"); // about 8.7
 */
export function tokenizerScale(model: string | undefined): number {
  if (model === undefined || !/claude/i.test(model)) return 1;
  return NEWER_CLAUDE.test(model.toLowerCase()) ? 1.45 : 1.12;
}
