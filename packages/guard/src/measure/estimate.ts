/** Returns the number of tokens of a text. Must be deterministic; called once per message text. */
export type Tokenizer = (text: string) => number;

/** Counts of a text's features. Their weighted sum estimates the tokens. */
export interface Borders {
  words: number;
  /** Letters of a word beyond the seventh: tokenizers split long words. */
  longLetters: number;
  capitals: number;
  digits: number;
  marks: number;
  /** Punctuation directly after punctuation, which often merges with it. */
  joinedMarks: number;
  newlines: number;
  /** Runs of two or more blanks. */
  indents: number;
  cjk: number;
  /** Letters of Latin words that English does not have. */
  accents: number;
  cyrillic: number;
  arabic: number;
  indic: number;
  thai: number;
  /** Of all other scripts. */
  otherLetters: number;
  /** Operators and relations, subscripts and superscripts. */
  mathematics: number;
  symbols: number;
  /** Changes between letters and digits in a word but for its first one, as in hashes. */
  mixed: number;
}

/**
 * Fitted by least squares of the relative error against o200k_base, over code, JSON, Markdown, prose, logs, base64
 * and CJK. The weights of other scripts are medians over the samples of src/testing/script-samples.ts.
 */
const WEIGHTS: Readonly<Record<keyof Borders, number>> = {
  words: 1.25,
  longLetters: 0.015,
  capitals: 0.04,
  digits: 1.47,
  marks: 0.36,
  joinedMarks: 0.1,
  newlines: 0.63,
  indents: 1.32,
  cjk: 0.68,
  accents: 0.1,
  cyrillic: 0.28,
  arabic: 0.32,
  indic: 0.36,
  thai: 0.36,
  otherLetters: 0.4,
  mathematics: 2.5,
  symbols: 0.97,
  mixed: -0.39,
};
/** Weight of `longLetters` in languages with accents, whose long words tokenizers know less. */
const LONG_ACCENTED = 0.25;
/** Accents per word from which a text is in such a language. */
const ACCENTED = 0.04;

/** Longer texts are sampled in evenly spaced pieces: reading them whole would take milliseconds. Characters. */
const MAX_WHOLE_CHARS = 65_536;
const SAMPLE_CHARS = 4_096;

const CharKind = {
  Lower: 0,
  Upper: 1,
  Digit: 2,
  Blank: 3,
  Newline: 4,
  Mark: 5,
  Cjk: 6,
  Letter: 7,
  Symbol: 8,
  Cyrillic: 9,
  Arabic: 10,
  Indic: 11,
  Thai: 12,
  Mathematics: 13,
  Accent: 14,
} as const;

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return CharKind.Lower;
  if (code >= 65 && code <= 90) return CharKind.Upper;
  if (code >= 48 && code <= 57) return CharKind.Digit;
  if (code === 10) return CharKind.Newline;
  if (code === 32 || code === 9 || code === 13) return CharKind.Blank;
  return CharKind.Mark;
});

function kindBeyondAscii(code: number): number {
  if (code < 0x2000) return kindOfLetter(code);
  if ((code >= 0x2070 && code <= 0x209f) || (code >= 0x2100 && code <= 0x22ff)) return CharKind.Mathematics;
  if (code >= 0x27c0 && code <= 0x2aff && (code < 0x2800 || code > 0x28ff)) return CharKind.Mathematics;
  if (code >= 0x3040 && code <= 0x9fff) return CharKind.Cjk;
  if (code >= 0xac00 && code <= 0xd7af) return CharKind.Cjk;
  if (code >= 0xff00 && code <= 0xffef) return CharKind.Cjk;
  if (code >= 0x3000 && code <= 0x303f) return CharKind.Cjk;
  return CharKind.Symbol;
}

function kindOfLetter(code: number): number {
  if (code < 0xc0) return CharKind.Symbol;
  if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) return CharKind.Accent;
  if (code >= 0x400 && code < 0x530) return CharKind.Cyrillic;
  if (code >= 0x600 && code < 0x780) return CharKind.Arabic;
  if (code >= 0x900 && code < 0xe00) return CharKind.Indic;
  if (code >= 0xe00 && code < 0xe80) return CharKind.Thai;
  return CharKind.Letter;
}

/**
 * Counts a text's word, case, digit and punctuation borders, where byte-pair tokenizers split before they merge.
 * A fixed number of characters per token would be wrong by up to a factor of three.
 */
export function countBorders(text: string, from = 0, to = text.length): Borders {
  let words = 0;
  let longLetters = 0;
  let capitals = 0;
  let digits = 0;
  let marks = 0;
  let joinedMarks = 0;
  let newlines = 0;
  let indents = 0;
  let cjk = 0;
  let accents = 0;
  let cyrillic = 0;
  let arabic = 0;
  let indic = 0;
  let thai = 0;
  let otherLetters = 0;
  let mathematics = 0;
  let symbols = 0;
  let mixed = 0;
  let changes = 0;
  let previous: number = CharKind.Newline;
  let run = 0;
  for (let index = from; index < to; index++) {
    const code = text.charCodeAt(index);
    let kind = code < 128 ? ASCII[code]! : kindBeyondAscii(code);
    if (kind === CharKind.Accent) {
      accents++;
      kind = CharKind.Lower;
    }
    run = kind === previous ? run + 1 : 1;
    switch (kind) {
      case CharKind.Lower:
        // A capitalised word was already counted at its capital.
        if (run === 1 && previous !== CharKind.Upper) {
          words++;
          if (previous === CharKind.Digit && ++changes > 1) mixed++;
        } else if (run > 7) longLetters++;
        break;
      case CharKind.Upper:
        if (run === 1) {
          words++;
          if (previous === CharKind.Digit && ++changes > 1) mixed++;
        } else capitals++;
        break;
      case CharKind.Digit:
        if (run % 3 === 1) digits++;
        if (run === 1 && (previous === CharKind.Lower || previous === CharKind.Upper))
          if (++changes > 1) mixed++;
        break;
      case CharKind.Blank:
        if (run === 2) indents++;
        break;
      case CharKind.Newline:
        if (run === 1) newlines++;
        break;
      case CharKind.Mark:
        if (run === 1) marks++;
        else joinedMarks++;
        break;
      case CharKind.Cjk:
        cjk++;
        break;
      case CharKind.Letter:
        otherLetters++;
        break;
      case CharKind.Cyrillic:
        cyrillic++;
        break;
      case CharKind.Arabic:
        arabic++;
        break;
      case CharKind.Indic:
        indic++;
        break;
      case CharKind.Thai:
        thai++;
        break;
      case CharKind.Mathematics:
        mathematics++;
        break;
      default:
        symbols++;
    }
    if (kind > CharKind.Digit) changes = 0;
    previous = kind;
  }
  return {
    words,
    longLetters,
    capitals,
    digits,
    marks,
    joinedMarks,
    newlines,
    indents,
    cjk,
    accents,
    cyrillic,
    arabic,
    indic,
    thai,
    otherLetters,
    mathematics,
    symbols,
    mixed,
  };
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

function weigh(borders: Borders): number {
  const accented = Math.min(1, borders.accents / (ACCENTED * Math.max(1, borders.words)));
  const long = WEIGHTS.longLetters + accented * (LONG_ACCENTED - WEIGHTS.longLetters);
  // Unrolled: a loop over the keys would take longer than reading a short text.
  return (
    borders.words * WEIGHTS.words +
    borders.longLetters * long +
    borders.capitals * WEIGHTS.capitals +
    borders.digits * WEIGHTS.digits +
    borders.marks * WEIGHTS.marks +
    borders.joinedMarks * WEIGHTS.joinedMarks +
    borders.newlines * WEIGHTS.newlines +
    borders.indents * WEIGHTS.indents +
    borders.cjk * WEIGHTS.cjk +
    borders.accents * WEIGHTS.accents +
    borders.cyrillic * WEIGHTS.cyrillic +
    borders.arabic * WEIGHTS.arabic +
    borders.indic * WEIGHTS.indic +
    borders.thai * WEIGHTS.thai +
    borders.otherLetters * WEIGHTS.otherLetters +
    borders.mathematics * WEIGHTS.mathematics +
    borders.symbols * WEIGHTS.symbols +
    borders.mixed * WEIGHTS.mixed
  );
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
