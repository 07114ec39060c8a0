/** Words in a row that are compared. A shorter sentence says too little to be looked for. */
export const SHINGLE = 3;
const RULE =
  /\b(must|never|always|don['’]?t|do not|only|make sure|remember|prefer|avoid|instead of|no more than|at most|every time)\b/i;

/** Lines and sentences of at least three words. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsOf(sentence).length >= SHINGLE);
}

export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_'’]+/gu) ?? [];

/** Whether a sentence asks for something for good, in English, as far as its words tell. */
export const isRule = (sentence: string): boolean => RULE.test(sentence);
