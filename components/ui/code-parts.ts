export interface TextPart {
  text: string;
  isCode: boolean;
}

/** Splits a text at its backticks. A backtick without a partner stays in the text. */
export function codeParts(text: string): TextPart[] {
  // The pattern captures the code, so every second part is code.
  return text
    .split(/`([^`]+)`/)
    .map((part, index) => ({ text: part, isCode: index % 2 === 1 }))
    .filter((part) => part.text !== "");
}
