/** Approximate width of an 11 px label, in px. */
export function textWidth(text: string): number {
  return text.length * 6;
}
