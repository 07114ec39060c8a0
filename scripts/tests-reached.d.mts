export function testsReached(
  changed: readonly string[],
  files: readonly string[],
): { apiTests: string[]; stories: string[] };

export const OF_NODE: readonly string[];
