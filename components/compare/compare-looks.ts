/** How each of the two sessions is drawn. The dash tells them apart without colour. */
export const COMPARE_LOOKS = [
  { name: "A", colour: "var(--water)", dash: undefined },
  { name: "B", colour: "var(--hard)", dash: "6 3" },
] as const;
