/** Words in a row that are compared. A shorter sentence says too little to be looked for. */
export const SHINGLE = 3;
const RULE =
  /\b(must|never|always|don['’]?t|do not|only|make sure|remember|prefer|avoid|instead of|no more than|at most|every time)\b/i;

export interface Sentence {
  text: string;
  words: readonly string[];
}

/** Lines and sentences of at least three words. */
export function sentencesOf(text: string): Sentence[] {
  return text
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => ({ text: sentence.trim(), words: wordsOf(sentence) }))
    .filter(({ words }) => words.length >= SHINGLE);
}

export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_'’]+/gu) ?? [];

/** Whether a sentence asks for something for good, in English, as far as its words tell. */
export const isRule = (sentence: string): boolean => RULE.test(sentence);
